// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/nearest_word.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(EditDistance, CountsLettersThatAreLostAddedReplacedOrExchanged) {
  EXPECT_EQ(EditDistance("matmul", "matmul"), 0u);
  EXPECT_EQ(EditDistance("matmul", "matmull"), 1u);
  EXPECT_EQ(EditDistance("matmul", "atmul"), 1u);
  EXPECT_EQ(EditDistance("matmul", "natmul"), 1u);
  EXPECT_EQ(EditDistance("matmul", "mamtul"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
}

TEST(NearestWord, IsNamedWhereFewLettersAreWrong) {
  const std::vector<std::string> known = {"attention", "conv", "fft", "matmul", "reduce", "softmax"};
  EXPECT_EQ(NearestWord("matmull", known), "matmul");
  EXPECT_EQ(NearestWord("MatMul", known), "matmul");
  EXPECT_EQ(NearestWord("sofmtax", known), "softmax");
  EXPECT_EQ(NearestWord("atention", known), "attention");
  EXPECT_EQ(NearestWord("att", known), "attention") << "not written to its end";
  EXPECT_EQ(NearestWord("ftf", known), "fft");
  EXPECT_EQ(NearestWord("gemm", known), "");
  EXPECT_EQ(NearestWord("x", known), "");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(NearestWord(std::string(1000, 'm'), known), "");
}

TEST(NearestWord, IsPutAsAQuestion) {
  const std::vector<std::string> known = {"--suite", "--shard"};
  EXPECT_EQ(DidYouMean("--siute", known), "; did you mean '--suite'?");
  EXPECT_EQ(DidYouMean("--gpu", known), "");
}

}  // namespace
}  // namespace assay

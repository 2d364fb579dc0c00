// SPDX-License-Identifier: Apache-2.0
// The contract by which results are judged whose owner states none.
#include <gtest/gtest.h>

#include "harness/tools/check/check_case.h"

namespace assay {
namespace {

Contract Default(const char* id) {
  return JudgingContract("", ParseId(id).value()).value();
}

TEST(JudgingContract, FunctionsMayBeOffByFourUlpWhateverTheSuiteRequires) {
  for (const char* type : {"f64", "f32", "bf16"}) {
    const std::string id = std::string("rms_norm/") + type + "/rows=2,n=4/fill=normal/seed=0";
    EXPECT_EQ(Default(id.c_str()).math_ulp, kDefaultMathUlp) << type;
  }
}

TEST(JudgingContract, AnOperatorsOwnFieldsReplaceThoseOfTheSuite) {
  const Contract softmax = Default("softmax/f32/shape=2x4/fill=normal/seed=0");
  EXPECT_EQ(softmax.masked, MaskedRows::kNan);
  EXPECT_EQ(softmax.math_ulp, kDefaultMathUlp);
  EXPECT_EQ(Default("fft/c64/kind=c2c,n=8/fill=normal/seed=0").alg, Algorithm::kFft);
  EXPECT_EQ(Default("quantize/f32-f32-i8/rows=1,n=4/fill=normal/seed=0").math_ulp, 1);
}

TEST(JudgingContract, AStatedContractStands) {
  const CaseSpec spec = ParseId("softmax/f32/shape=2x4/fill=normal/seed=0").value();
  EXPECT_EQ(JudgingContract("acc=f32;math=7", spec)->math_ulp, 7);
  EXPECT_EQ(JudgingContract("acc=f32", spec)->math_ulp, kDefaultMathUlp);
  EXPECT_EQ(JudgingContract("acc=f32", spec)->masked, ParseDeclaration("acc=f32")->masked);
}

}  // namespace
}  // namespace assay

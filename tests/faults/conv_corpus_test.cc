// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

const std::vector<const char*> kConvFills = {"normal", "uniform", "outlier", "lognormal", "special", "subnormal"};
// Zeros times weights: only weights that are infinite or NaN show it.
const std::vector<std::string> kConvOfValues = {"fault.im2col-tail-meets-next-weights"};

TEST(CorpusConv, LegalSchedulesPass) {
  ExpectLegalSchedulesPass("conv/f32/n=1,c=5,o=4,i=9x11,k=3x3,pad=1", kConvFills, 10);
  ExpectLegalSchedulesPass("conv/f16/n=1,c=8,o=4,i=8x8,k=3x3,pad=1,bias=1", kConvFills, 11);
  ExpectLegalSchedulesPass("conv/bf16-bf16-f32/n=1,c=8,o=4,i=7x10,k=3x3", kConvFills, 11);
  ExpectLegalSchedulesPass("conv/f64/n=1,c=3,o=2,i=9x9,k=3x3,pad=1", {"normal", "cancel-1e6"}, 9);
}

TEST(CorpusConv, LegalSchedulesPassInOtherShapes) {
  ExpectLegalSchedulesPass("conv/f32/n=2,c=6,o=4,i=17,k=5,stride=2,pad=2,groups=2,bias=1", kConvFills, 8);
  ExpectLegalSchedulesPass("conv/bf16/n=1,c=4,o=6,i=5x6x7,k=2x3x3,dilation=1x2x2,pad=1", {"normal"}, 8);
  ExpectLegalSchedulesPass("conv/i8-i8-i32/n=1,c=9,o=3,i=9x7,k=3x3,pad=1", {"uniform", "special"}, 6);
}

TEST(CorpusConv, LegalSchedulesHaveNoEffect) {
  ExpectLegalSchedulesHaveNone("conv/f32/n=1,c=5,o=4,i=9x11,k=3x3,pad=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("conv/f16/n=1,c=8,o=4,i=8x8,k=3x3,pad=1,bias=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("conv/f32/n=2,c=6,o=4,i=17,k=5,stride=2,pad=2,groups=2,bias=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("conv/bf16/n=1,c=4,o=6,i=9x16,k=3x3,dilation=2,pad=1,stride=1x2/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("conv/f64/n=1,c=3,o=2,i=9x9,k=3x3,pad=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("conv/i8-i8-i32/n=1,c=9,o=3,i=9x7,k=3x3,pad=1/fill=uniform/seed=0");
}

TEST(CorpusConv, BugsChangeTheExactResult) {
  ExpectBugsHaveEffects("conv/f32/n=1,c=5,o=4,i=9x11,k=3x3,pad=1/fill=normal/seed=0", kConvOfValues, 35);
  ExpectBugsHaveEffects("conv/f16/n=1,c=8,o=4,i=8x8,k=3x3,pad=1,bias=1/fill=normal/seed=0", kConvOfValues, 38);
  ExpectBugsHaveEffects("conv/f32/n=2,c=6,o=4,i=17,k=5,stride=2,pad=2,groups=2,bias=1/fill=normal/seed=0",
                        kConvOfValues, 30);
  ExpectBugsHaveEffects("conv/bf16/n=1,c=4,o=6,i=9x16,k=3x3,dilation=2,pad=1,stride=1x2/fill=normal/seed=0",
                        kConvOfValues, 27);
  ExpectBugsHaveEffects("conv/f64/n=1,c=3,o=2,i=9x9,k=3x3,pad=1/fill=normal/seed=0", kConvOfValues, 30);
  ExpectBugsHaveEffects("conv/i8-i8-i32/n=1,c=9,o=3,i=9x7,k=3x3,pad=1/fill=uniform/seed=0", kConvOfValues, 15);
}

// The case of smoke.suite for padding and weights that are not finite.
TEST(CorpusConv, BugsOfValuesAreSeenInTheSmokeSuite) {
  constexpr const char* kCase = "conv/f32/n=1,c=4,o=8,i=6x5,k=3x3,pad=1/fill=special/seed=0";
  Corpus corpus;
  for (const std::string& fault : kConvOfValues) {
    ExpectEffect(kCase, fault);
    const auto judged = corpus.Judge(kCase, fault);
    ASSERT_EQ(judged.size(), 1u);
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << fault << ": " << judged[0].reason;
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

const std::vector<const char*> kFftFills = {"normal", "uniform", "outlier", "near_one", "special", "subnormal"};

TEST(CorpusFft, LegalSchedulesPass) {
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=64,batch=3", kFftFills, 8);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=90,dir=inv,norm=ortho", kFftFills, 6);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=37", kFftFills, 3);
  ExpectLegalSchedulesPass("fft/c128/kind=c2c,n=48,batch=2,dir=inv,norm=backward", {"normal"}, 6);
}

TEST(CorpusFft, LegalSchedulesOfRealsAndAxesPass) {
  ExpectLegalSchedulesPass("fft/f32-c64/kind=r2c,n=60,batch=2", kFftFills, 7);
  ExpectLegalSchedulesPass("fft/c64-f32/kind=c2r,n=60,batch=2,dir=inv,norm=backward", kFftFills, 7);
  ExpectLegalSchedulesPass("fft/c64-f32/kind=c2r,n=6x9,norm=ortho", {"normal"}, 5);
  ExpectLegalSchedulesPass("fft/f32-c64/kind=r2c,n=8x16,dir=inv", {"normal"}, 8);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=4x6x5", {"normal"}, 5);
}

// Rows have data of their own and twiddles in common.
TEST(CorpusFft, LegalSchedulesOfManyRowsPass) {
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=60,batch=512", {"normal"}, 2);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=128,batch=512", {"normal"}, 2);
}

// Within the bound; the first two calls, on the case's own data, are right. So long a transform has no twin.
TEST(CorpusFft, TheStatisticJudgesTheSecondInputSet) {
  Corpus corpus;
  const auto judged = corpus.Judge("fft/c64/kind=c2c,n=262144/fill=normal/seed=0", "fault.coarser-from-the-third-call");
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].verdict, Verdict::kMismatch);
  EXPECT_THAT(judged[0].reason, testing::HasSubstr("second input set"));
  EXPECT_THAT(judged[0].reason, testing::HasSubstr("standard deviations"));
}

// Every column is sixteen transforms' error at one frequency: none of them beyond 8 deviations, all together too large.
TEST(CorpusFft, AnErrorThatGrowsAlongTheFrequenciesIsSeen) {
  Corpus corpus;
  const auto judged = corpus.Judge("fft/c64/kind=c2c,n=60,batch=16/fill=normal/seed=0", "fault.twiddles-by-recurrence");
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << judged[0].reason;
  EXPECT_THAT(judged[0].reason, testing::HasSubstr("column"));
}

TEST(CorpusFft, LegalSchedulesHaveNoEffect) {
  ExpectLegalSchedulesHaveNone("fft/c64/kind=c2c,n=64,batch=3/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("fft/c64/kind=c2c,n=90,dir=inv,norm=ortho/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("fft/c128/kind=c2c,n=48,batch=2,dir=inv,norm=backward/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("fft/f32-c64/kind=r2c,n=60,batch=2/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("fft/c64-f32/kind=c2r,n=60,batch=2,dir=inv,norm=backward/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("fft/c64/kind=c2c,n=6x10,norm=ortho,dir=inv/fill=normal/seed=0");
}

TEST(CorpusFft, BugsChangeTheExactResult) {
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=64,batch=3/fill=normal/seed=0", {}, 19);
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=90,dir=inv,norm=ortho/fill=normal/seed=0", {}, 19);
  ExpectBugsHaveEffects("fft/c128/kind=c2c,n=48,batch=2,dir=inv,norm=backward/fill=normal/seed=0", {}, 20);
  ExpectBugsHaveEffects("fft/f32-c64/kind=r2c,n=60,batch=2/fill=normal/seed=0", {}, 18);
  ExpectBugsHaveEffects("fft/c64-f32/kind=c2r,n=60,batch=2,dir=inv,norm=backward/fill=normal/seed=0", {}, 18);
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=6x10,norm=ortho,dir=inv/fill=normal/seed=0", {}, 18);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string_view>

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
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=60,batch=192", {"normal"}, 2);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=128,batch=192", {"normal"}, 2);
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

// Two real rows as one complex one: what is not finite in one row reaches the other.
TEST(CorpusFft, ANanThatReachesAnotherRowIsWrong) {
  Corpus corpus;
  const auto verdict = [&](const char* id) {
    const auto judged = corpus.Judge(id, "fault.real-rows-in-pairs");
    return judged.size() == 1 ? judged[0] : Judged{};
  };
  const Judged special = verdict("fft/f32-c64/kind=r2c,n=16,batch=8/fill=special/seed=0");
  EXPECT_EQ(special.verdict, Verdict::kMismatch) << special.reason;
  // On finite numbers only the claim of batchinv=yes is broken, where a last row is alone.
  const Judged normal = verdict("fft/f32-c64/kind=r2c,n=16,batch=8/fill=normal/seed=0");
  EXPECT_THAT(normal.reason, testing::HasSubstr("metamorphic channel"));
}

// No output's error is beyond the bound of the whole transform, but each output of an impulse is a few twiddles.
TEST(CorpusFft, CoarseTwiddlesAreSeen) {
  Corpus corpus;
  for (const char* fault :
       {"fault.twiddles-of-18-bits", "fault.twiddles-by-recurrence", "fault.twiddles-of-f32-angles"}) {
    for (const char* id :
         {"fft/c64/kind=c2c,n=60,batch=3/fill=normal/seed=0", "fft/c64/kind=c2c,n=125/fill=outlier/seed=0",
          "fft/f32-c64/kind=r2c,n=64,batch=9/fill=ramp/seed=0", "fft/c64-f32/kind=c2r,n=100,batch=4/fill=pow2/seed=0",
          "fft/c64/kind=c2c,n=1000,dir=inv,norm=ortho/fill=special/seed=0",
          "fft/c64/kind=c2c,n=6x96,batch=2/fill=subnormal/seed=0"}) {
      // Beside the stage that takes reals apart the errors of angles are too small.
      const bool is_real = std::string_view(id).find("c2c") == std::string_view::npos;
      if (is_real && std::string_view(fault).find("angles") != std::string_view::npos) continue;
      const auto judged = corpus.Judge(id, fault);
      ASSERT_EQ(judged.size(), 1u) << fault << " " << id;
      EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << fault << " " << id << " " << judged[0].reason;
    }
  }
}

// A convolution spreads what its chirp is off by over all outputs, none of which has a bound of its own.
TEST(CorpusFft, CoarseChirpsAreSeen) {
  Corpus corpus;
  for (const char* fault : {"fault.bluestein-chirp-of-18-bits", "fault.bluestein-chirp-of-20-bits"}) {
    for (const char* id :
         {"fft/c64/kind=c2c,n=37/fill=normal/seed=0", "fft/c64/kind=c2c,n=60,batch=3/fill=outlier/seed=0",
          "fft/f32-c64/kind=r2c,n=101,batch=9/fill=ramp/seed=0", "fft/c64-f32/kind=c2r,n=100,batch=4/fill=pow2/seed=0",
          "fft/c64/kind=c2c,n=499,dir=inv,norm=ortho/fill=special/seed=0"}) {
      const auto judged = corpus.Judge(id, fault);
      ASSERT_EQ(judged.size(), 1u) << fault << " " << id;
      EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << fault << " " << id << " " << judged[0].reason;
    }
  }
}

// The layers of a short length are few, so that little is enough to be more than they may round.
TEST(CorpusFft, RecurrencesOfShortLinesAreSeen) {
  Corpus corpus;
  for (const char* id :
       {"fft/c64/kind=c2c,n=16,batch=8/fill=normal/seed=0",
        "fft/c64/kind=c2c,n=31,dir=inv,norm=ortho/fill=normal/seed=0",
        "fft/c64/kind=c2c,n=32,batch=2/fill=outlier/seed=0", "fft/c64/kind=c2c,n=49,batch=9/fill=ramp/seed=0"}) {
    const auto judged = corpus.Judge(id, "fault.twiddles-by-recurrence");
    ASSERT_EQ(judged.size(), 1u) << id;
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << " " << judged[0].reason;
    EXPECT_THAT(judged[0].reason, testing::HasSubstr("exact twin")) << id;
  }
}

// Sixteen transforms share their error at each frequency: none is beyond 8 deviations. Impulses show it.
TEST(CorpusFft, AnErrorThatGrowsAlongTheFrequenciesIsSeen) {
  Corpus corpus;
  const auto judged = corpus.Judge("fft/c64/kind=c2c,n=60,batch=16/fill=normal/seed=0", "fault.twiddles-by-recurrence");
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << judged[0].reason;
  EXPECT_THAT(judged[0].reason, testing::HasSubstr("exact twin"));
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
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=64,batch=3/fill=normal/seed=0", {}, 21);
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=90,dir=inv,norm=ortho/fill=normal/seed=0", {}, 21);
  ExpectBugsHaveEffects("fft/c128/kind=c2c,n=48,batch=2,dir=inv,norm=backward/fill=normal/seed=0", {}, 20);
  ExpectBugsHaveEffects("fft/f32-c64/kind=r2c,n=60,batch=2/fill=normal/seed=0", {"fault.real-rows-in-pairs"}, 21);
  ExpectBugsHaveEffects("fft/c64-f32/kind=c2r,n=60,batch=2,dir=inv,norm=backward/fill=normal/seed=0", {}, 20);
  ExpectBugsHaveEffects("fft/c64/kind=c2c,n=6x10,norm=ortho,dir=inv/fill=normal/seed=0", {}, 18);
}

}  // namespace
}  // namespace assay

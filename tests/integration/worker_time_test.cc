// SPDX-License-Identifier: Apache-2.0
// Calls of several executions on sets of operands: what goes up, where durations come from, and what comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>

#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr size_t kOutput = 2;  // operand

class TimeTest : public WorkerTest {
 protected:
  // Three sets with inputs of their own, uploaded. The test fails where that does.
  uint64_t Prepared(const std::string& implementation) {
    const auto prepared = session_.Prepare(0, problem_, implementation);
    if (!prepared || !session_.Bind(prepared->plan, std::size(sets_))) {
      ADD_FAILURE() << implementation << " cannot be prepared";
      return 0;
    }
    const uint64_t plan = prepared->plan;
    std::vector<Piece> pieces;
    for (size_t set = 0; set < std::size(sets_); ++set) {
      Stage(plan, set, 0, sets_[set].a);
      Stage(plan, set, 1, sets_[set].b);
      FillWith(PrefillElement(DType::kF32, Prefill::kSentinel), session_.Staged(plan, set, kOutput).value());
      for (size_t operand = 0; operand <= kOutput; ++operand) {
        pieces.push_back({set, operand, 0, session_.Staged(plan, set, operand)->size()});
      }
    }
    EXPECT_TRUE(session_.Upload(plan, pieces));
    return plan;
  }
  void Stage(uint64_t plan, size_t set, size_t operand, const Tensor& tensor) {
    std::memcpy(session_.Staged(plan, set, operand)->data(), tensor.data(), tensor.bytes());
  }
  Call<Batch> Run(uint64_t plan, std::vector<size_t> sets, CacheState cache = CacheState::kWarm) {
    return session_.ExecuteBatch(plan, {.sets = sets, .cache = cache});
  }
  Execution Download(uint64_t plan, size_t set, Part part = Part::kOutputs) {
    Execution execution;
    execution.prefill = Prefill::kSentinel;
    const Call<double> done = session_.Download(plan, set, part, execution);
    EXPECT_TRUE(done) << done.error().message;
    return execution;
  }
  SmallInputs sets_[3] = {MakeSmallInputs(), MakeSmallInputs(2), MakeSmallInputs(-4)};
};

TEST_F(TimeTest, OutputsBelongToTheirSets) {
  const uint64_t plan = Prepared("ok");
  ASSERT_TRUE(Run(plan, {2, 0}));
  EXPECT_THAT(Download(plan, 0).outputs[0].As<float>(), ElementsAreArray(sets_[0].y));
  EXPECT_THAT(Download(plan, 2).outputs[0].As<float>(), ElementsAreArray(sets_[2].y));
  EXPECT_EQ(Download(plan, 1).prefilled, 6);  // nobody asked for it
  ASSERT_TRUE(Run(plan, {1}));
  EXPECT_THAT(Download(plan, 1).outputs[0].As<float>(), ElementsAreArray(sets_[1].y));
}

TEST_F(TimeTest, PartsOfOperandsAreUploadedInPlace) {
  const uint64_t plan = Prepared("ok");
  // The second row of a, of 16 bytes, is that of another set.
  Stage(plan, 0, 0, sets_[1].a);
  const Piece second_row[] = {{0, 0, 16, 16}};
  ASSERT_TRUE(session_.Upload(plan, second_row));
  ASSERT_TRUE(Run(plan, {0}));
  std::vector<float> expected = sets_[0].y;
  std::copy_n(sets_[1].y.begin() + 3, 3, expected.begin() + 3);
  const Execution execution = Download(plan, 0);
  EXPECT_THAT(execution.outputs[0].As<float>(), ElementsAreArray(expected));
  EXPECT_TRUE(execution.guard_violations.empty());
}

TEST_F(TimeTest, ABatchBeginsOnTheProcessorThatIsAskedForAndSaysWhereItBegan) {
  const uint64_t plan = Prepared("ok");
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one processor to run on";
  const size_t sets[] = {0, 1};
  for (int64_t wanted = 0; wanted < CPU_SETSIZE; ++wanted) {
    if (!CPU_ISSET(static_cast<size_t>(wanted), &allowed)) continue;
    int there = 0;  // the system may move it on at once
    for (int i = 0; i < 20; ++i) {
      const Call<Batch> batch = session_.ExecuteBatch(plan, {.sets = sets, .processor = wanted});
      ASSERT_TRUE(batch) << batch.error().message;
      there += batch->processor == wanted;
    }
    EXPECT_GT(there, 15) << "processor " << wanted;
  }
  const Call<Batch> anywhere = session_.ExecuteBatch(plan, {.sets = sets});
  ASSERT_TRUE(anywhere) << anywhere.error().message;
  EXPECT_GE(anywhere->processor, 0);
}

TEST_F(TimeTest, AFreshWorkerKnowsNoPlanOfTheLastOne) {
  const uint64_t plan = Prepared("ok");
  session_.Restart();
  const Call<Batch> lost = Run(plan, {0});
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("its worker has ended; prepare it again"));
  EXPECT_TRUE(Run(Prepared("ok"), {0}));
}

TEST_F(TimeTest, DurationsAndFlagsComeFromThePlugin) {
  const Misbehave misbehave("counts_time");
  const uint64_t plan = Prepared("ok");
  const Call<Batch> batch = Run(plan, {0, 1, 2}, CacheState::kCold);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_TRUE(batch->clock_is_device);
  EXPECT_TRUE(batch->cache_was_flushed);
  EXPECT_THAT(batch->seconds, ElementsAre(1e-3, 2e-3, 3e-3));  // it counts milliseconds
  EXPECT_FALSE(Run(plan, {0})->cache_was_flushed);
}

TEST_F(TimeTest, TheHostsClockIsItsOwn) {
  const uint64_t plan = Prepared("ok");
  const Call<Batch> batch = Run(plan, {0, 1, 2});
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_GT(batch->call_s, 0);
  EXPECT_GT(batch->elapsed_s, batch->call_s);
  EXPECT_LT(batch->elapsed_s, 10);  // and not the sum of what the plugin says
}

TEST_F(TimeTest, NoExecutionIsARoundTripWithoutThePlugin) {
  const uint64_t plan = Prepared("segfault");
  const Call<Batch> batch = session_.ExecuteBatch(plan, {});
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_TRUE(batch->seconds.empty());
  EXPECT_GT(batch->elapsed_s, 0);
}

TEST_F(TimeTest, HostClockWhereThePluginHasNone) {
  const Misbehave misbehave("no_timer");
  const Call<Batch> batch = Run(Prepared("ok"), {2, 1}, CacheState::kCold);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_FALSE(batch->clock_is_device);
  EXPECT_FALSE(batch->cache_was_flushed);
  EXPECT_THAT(batch->seconds, Each(testing::AllOf(testing::Gt(0.0), testing::Lt(10.0))));
}

TEST_F(TimeTest, TransfersAreMeasured) {
  const uint64_t plan = Prepared("ok");
  Download(plan, 0);
  const TransferTimes transfers = session_.Transfers(plan);
  EXPECT_GT(transfers.upload_s, 0);
  EXPECT_GT(transfers.download_s, 0);
  EXPECT_LT(transfers.upload_s + transfers.download_s, 10);  // there was one of each
  EXPECT_GE(transfers.upload_bytes, inputs_.a.bytes() + inputs_.b.bytes());
  EXPECT_GE(transfers.download_bytes, inputs_.y.size() * sizeof(float));
}

TEST_F(TimeTest, AStaleOutputShows) {
  const uint64_t plan = Prepared("stale");
  ASSERT_TRUE(Run(plan, {0, 1, 2}));
  int64_t prefilled = 0;
  for (size_t set = 0; set < 3; ++set) prefilled += Download(plan, set).prefilled;
  EXPECT_GE(prefilled, 12);  // all but the one set that the very first execution may have written
}

TEST_F(TimeTest, FaultsInBatches) {
  uint64_t plan = Prepared("write_after");
  ASSERT_TRUE(Run(plan, {0, 1}));
  EXPECT_THAT(Download(plan, 1).guard_violations, testing::SizeIs(1));
  plan = Prepared("change_input");
  ASSERT_TRUE(Run(plan, {2, 1}));
  EXPECT_THAT(Download(plan, 2, Part::kInputs).changed_inputs, testing::SizeIs(1));
  const Call<Batch> crashed = Run(Prepared("segfault"), {0, 1});
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().kind, FailureKind::kCrash);
  EXPECT_THAT(crashed.error().message, HasSubstr("during execute"));
  ExpectStillWorks();
}

TEST_F(TimeTest, ADurationThatIsNoneIsAnErrorOfThePlugin) {
  const Misbehave misbehave("nan_time");
  const Call<Batch> batch = Run(Prepared("ok"), {0, 1});
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().kind, FailureKind::kError);
  EXPECT_THAT(batch.error().message, HasSubstr("not a duration"));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Every fault of an execution, and what the host makes of it. After each, the same session must work again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "harness/exec/observations.h"
#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(WorkerTest, CorrectResultInEveryLayout) {
  for (const LayoutVariant& variant :
       {LayoutVariant{}, LayoutVariant{1, 0}, LayoutVariant{0, 3}, LayoutVariant{3, 5}}) {
    const TwoRuns runs = RunTwice("ok", variant);
    EXPECT_THAT(runs.nan.outputs[0].As<float>(), ElementsAreArray(inputs_.y));
    EXPECT_THAT(runs.sentinel.outputs[0].As<float>(), ElementsAreArray(inputs_.y));
    EXPECT_THAT(runs.nan.guard_violations, IsEmpty());
    EXPECT_THAT(runs.nan.changed_inputs, IsEmpty());
  }
}

TEST_F(WorkerTest, SegmentationFault) {
  const WorkerFailure failure = FirstFailure("segfault");
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  EXPECT_THAT(failure.message, HasSubstr("SIGSEGV"));
  EXPECT_THAT(failure.message, HasSubstr("during execute"));
  ExpectStillWorks();
}

TEST_F(WorkerTest, AbortWithItsLastWords) {
  const WorkerFailure failure = FirstFailure("abort");
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  EXPECT_THAT(failure.message, HasSubstr("SIGABRT"));
  EXPECT_THAT(failure.message, HasSubstr("misbehaving: about to abort"));
  ExpectStillWorks();
}

TEST_F(WorkerTest, Exit) {
  const WorkerFailure failure = FirstFailure("exit");
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  EXPECT_THAT(failure.message, HasSubstr("exited with code 3"));
  ExpectStillWorks();
}

bool IsRunning(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const size_t state = text.rfind(')') + 2;
  return state < text.size() && text[state] != 'Z' && text[state] != 'X';
}

TEST_F(WorkerTest, ChildrenOfAPluginEndWithIt) {
  const WorkerFailure failure = FirstFailure("leave_child");
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  const size_t at = failure.message.find("child=");
  ASSERT_NE(at, failure.message.npos) << failure.message;
  const int child = std::atoi(failure.message.c_str() + at + 6);
  ASSERT_GT(child, 1);
  // SIGKILL has been sent when the failure is returned, but takes a moment.
  for (int wait = 0; wait < 100 && IsRunning(child); ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(IsRunning(child));
}

class ShortTimeout : public WorkerTest {
 protected:
  ShortTimeout()
      : hasty_([] {
          SessionOptions options = TestOptions();
          options.call_timeout_s = 0.7;
          return options;
        }()) {}
  Call<Execution> Run(const std::string& implementation) {
    const Call<Prepared> prepared = hasty_.Prepare(0, problem_, implementation);
    if (!prepared) return tl::unexpected(prepared.error());
    return hasty_.Execute(prepared->plan, inputs_.set(), Prefill::kNanPayload);
  }
  WorkerSession hasty_;
};

TEST_F(ShortTimeout, Hang) {
  const auto begin = std::chrono::steady_clock::now();
  const Call<Execution> execution = Run("hang");
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().kind, FailureKind::kTimeout);
  EXPECT_THAT(execution.error().message, HasSubstr("execute did not end within 0.7 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(Run("ok"));
}

TEST_F(ShortTimeout, ClosedDescriptorsAreNoEndlessWait) {
  const Call<Execution> execution = Run("close_descriptors");
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().kind, FailureKind::kCrash);
  EXPECT_THAT(execution.error().message, HasSubstr("closed its connection"));
  EXPECT_TRUE(Run("ok"));
}

TEST_F(WorkerTest, TextOnTheSocketIsNoMessage) {
  const WorkerFailure failure = FirstFailure("babble");
  EXPECT_EQ(failure.kind, FailureKind::kProtocol);
  EXPECT_THAT(failure.message, HasSubstr("wrong magic"));
  ExpectStillWorks();
}

TEST_F(WorkerTest, ALotOfTextNeitherStallsNorGrows) {
  const TwoRuns runs = RunTwice("chatter");
  EXPECT_THAT(runs.nan.outputs[0].As<float>(), ElementsAreArray(inputs_.y));
  session_.Describe();  // whatever the pipe still holds is read by a later call
  const std::string tail = session_.StderrTail();
  EXPECT_THAT(tail, HasSubstr("chatter line 19999"));
  EXPECT_LE(tail.size(), 8192u);
  EXPECT_EQ(tail.find('\033'), tail.npos);
}

TEST_F(WorkerTest, WriteBeforeTheTensor) {
  const TwoRuns runs = RunTwice("write_before");
  EXPECT_THAT(runs.nan.guard_violations, ElementsAre(HasSubstr("before y were overwritten, the nearest 1 bytes")));
  ExpectStillWorks();
}

TEST_F(WorkerTest, WriteAfterTheTensor) {
  const TwoRuns runs = RunTwice("write_after");
  EXPECT_THAT(runs.nan.guard_violations,
              ElementsAre(HasSubstr("after y were overwritten, the nearest is byte 1 past")));
  EXPECT_THAT(runs.nan.outputs[0].As<float>(), ElementsAreArray(inputs_.y));
}

TEST_F(WorkerTest, WriteBetweenTheRows) {
  const TwoRuns runs = RunTwice("write_gap", {0, 2});
  EXPECT_THAT(runs.nan.guard_violations, ElementsAre(HasSubstr("the first 12 bytes after its start")));
  EXPECT_THAT(runs.nan.outputs[0].As<float>(), ElementsAreArray(inputs_.y));
}

TEST_F(WorkerTest, UnwrittenElement) {
  const TwoRuns runs = RunTwice("unwritten");
  const ElementReport report = FindUnwrittenElements(runs.nan.outputs[0], runs.sentinel.outputs[0]);
  EXPECT_EQ(UnwrittenText("y", {2, 3}, report), "1 of 6 elements of y were not written, the first is [1,2]");
}

TEST_F(WorkerTest, UnwrittenRow) {
  const TwoRuns runs = RunTwice("unwritten_row");
  const ElementReport report = FindUnwrittenElements(runs.nan.outputs[0], runs.sentinel.outputs[0]);
  EXPECT_EQ(report.count, 3);
  EXPECT_EQ(report.first, 3);
}

TEST_F(WorkerTest, StaleOutputDoesNotPassForAResult) {
  const TwoRuns runs = RunTwice("stale");
  EXPECT_EQ(runs.nan.prefilled, 0);
  EXPECT_EQ(runs.sentinel.prefilled, 6);
}

TEST_F(WorkerTest, ChangedInput) {
  const TwoRuns runs = RunTwice("change_input");
  EXPECT_THAT(runs.nan.changed_inputs,
              ElementsAre("1 of 8 elements of a (an input) were changed on the device, the first is [0,1]"));
  EXPECT_EQ(inputs_.a.As<float>()[1], 2);
}

TEST_F(WorkerTest, NanResultIsNotTakenForThePrefill) {
  const TwoRuns runs = RunTwice("nan_result");
  EXPECT_TRUE(std::isnan(runs.nan.outputs[0].As<float>()[0]));
  EXPECT_TRUE(std::isnan(runs.sentinel.outputs[0].As<float>()[0]));
  EXPECT_EQ(FindUnwrittenElements(runs.nan.outputs[0], runs.sentinel.outputs[0]).count, 0);
}

TEST_F(WorkerTest, NondeterministicResult) {
  // Row 0 is 2^24 + 1 + 1 - 2^24: 0 from the left, 2 from the right. Row 1 stays exact.
  const float row[] = {0x1p24f, 1, 1, -0x1p24f};
  std::copy(std::begin(row), std::end(row), inputs_.a.As<float>().begin());
  std::fill(inputs_.b.As<float>().begin(), inputs_.b.As<float>().end(), 1.0f);
  const TwoRuns runs = RunTwice("nondeterministic");
  const ElementReport changed = FindChangedElements(runs.nan.outputs[0], runs.sentinel.outputs[0]);
  EXPECT_EQ(changed.count, 3);
  EXPECT_EQ(changed.first, 0);
}

TEST_F(WorkerTest, WrongNumbersArriveAsTheyAre) {
  EXPECT_NE(RunTwice("liar").nan.outputs[0].As<float>()[0], inputs_.y[0]);
  const TwoRuns dropped = RunTwice("drop_last_k");
  EXPECT_EQ(dropped.nan.outputs[0].As<float>()[0], inputs_.y[0] - 4 * inputs_.b.As<float>()[9]);
  EXPECT_EQ(dropped.nan.outputs[0].As<float>()[1], inputs_.y[1]);
}

TEST_F(WorkerTest, RoundingThatAnExecutionLeavesDoesNotReachTheNext) {
  inputs_ = MakeSmallInputs(1.0F / 3);  // whose sums are inexact
  const auto output = [this](const char* implementation) {
    const TwoRuns runs = RunTwice(implementation);
    const auto first = runs.nan.outputs[0].As<float>(), second = runs.sentinel.outputs[0].As<float>();
    EXPECT_THAT(second, ElementsAreArray(first));
    return std::vector<float>(first.begin(), first.end());
  };
  const std::vector<float> before = output("ok");
  EXPECT_EQ(output("leaves_rounding"), before);
  EXPECT_EQ(output("ok"), before);
}

TEST_F(WorkerTest, PreparationIsTimed) {
  const Call<Prepared> slow = session_.Prepare(0, problem_, "slow_prepare");
  const Call<Prepared> fast = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(slow && fast);
  EXPECT_GE(slow->prepare_s, 0.09);
  EXPECT_LT(fast->prepare_s, slow->prepare_s);
}

// Where the memory is that this process shares, as the kernel numbers it.
std::set<std::string> SharedSegments() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> segments;
  std::string line, address, mode, offset, device, number, path;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    if (fields >> address >> mode >> offset >> device >> number >> path && path == "/memfd:assay") {
      segments.insert(number);
    }
  }
  return segments;
}

// Clearing and mapping fresh pages for every plan would cost more than small executions.
TEST_F(WorkerTest, PlansOfOneSizeUseTheSameMemoryOneAfterTheOther) {
  const auto execute = [&](const char* implementation, const LayoutVariant& variant) {
    const Call<Prepared> prepared = session_.Prepare(0, problem_, implementation, variant);
    ASSERT_TRUE(prepared);
    const Call<Execution> done = session_.Execute(prepared->plan, inputs_.set(), Prefill::kSentinel);
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->guard_violations.empty() && done->changed_inputs.empty());
    if (std::string(implementation) == "ok") {
      EXPECT_THAT(done->outputs[0].As<float>(), testing::ElementsAreArray(inputs_.y));
    }
    ASSERT_TRUE(session_.Release(prepared->plan));
  };
  execute("ok", {});
  const std::set<std::string> first = SharedSegments();
  EXPECT_EQ(first.size(), 2u);
  execute("drop_last_k", {});
  execute("ok", {});
  EXPECT_EQ(SharedSegments(), first);
  const LayoutVariant larger{.element_offset = 300, .row_padding = 7};
  execute("ok", larger);
  EXPECT_EQ(SharedSegments().size(), 4u);
  execute("ok", {});
  EXPECT_EQ(SharedSegments().size(), 4u);
}

TEST_F(WorkerTest, ASmallerPlanUsesTheMemoryOfALargerOne) {
  for (const LayoutVariant& variant : {LayoutVariant{.element_offset = 300, .row_padding = 7}, LayoutVariant{}}) {
    const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok", variant);
    ASSERT_TRUE(prepared);
    const Call<Execution> done = session_.Execute(prepared->plan, inputs_.set(), Prefill::kSentinel);
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->guard_violations.empty() && done->changed_inputs.empty());
    EXPECT_THAT(done->outputs[0].As<float>(), testing::ElementsAreArray(inputs_.y));
    EXPECT_EQ(SharedSegments().size(), 2u);
    ASSERT_TRUE(session_.Release(prepared->plan));
  }
}

TEST_F(WorkerTest, APlanDoesNotOutliveItsWorker) {
  const Call<Prepared> before = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(before);
  FirstFailure("segfault");
  const Call<Execution> at_once = session_.Execute(before->plan, inputs_.set(), Prefill::kNanPayload);
  ASSERT_FALSE(at_once);
  EXPECT_THAT(at_once.error().message, HasSubstr("prepare it again"));
  ASSERT_TRUE(session_.Describe());  // a new worker, whose first plan has the old one's number
  ASSERT_TRUE(session_.Prepare(0, problem_, "ok"));
  const Call<Execution> execution = session_.Execute(before->plan, inputs_.set(), Prefill::kNanPayload);
  ASSERT_FALSE(execution);
  EXPECT_THAT(execution.error().message, HasSubstr("prepare it again"));
}

TEST_F(WorkerTest, ACrashInADestructorIsReported) {
  const Misbehave misbehave("crash_on_destroy");
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared);
  const Call<void> released = session_.Release(prepared->plan);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().kind, FailureKind::kCrash);
  EXPECT_TRUE(session_.Release(prepared->plan));  // nothing left to free
  EXPECT_TRUE(session_.Describe());
}

TEST_F(WorkerTest, FaultsOfTransfers) {
  for (const auto& [how, kind] :
       {std::pair{"out_of_memory", FailureKind::kOutOfMemory}, std::pair{"lose_device", FailureKind::kDeviceLost},
        std::pair{"write_source", FailureKind::kCrash}}) {
    WorkerSession session(TestOptions());
    const Misbehave misbehave(how);
    const Call<Prepared> prepared = session.Prepare(0, problem_, "ok");
    ASSERT_TRUE(prepared) << how;
    const Call<Execution> execution = session.Execute(prepared->plan, inputs_.set(), Prefill::kNanPayload);
    ASSERT_FALSE(execution) << how;
    EXPECT_EQ(execution.error().kind, kind) << how;
    EXPECT_TRUE(session.Describe()) << how;
  }
}

TEST_F(WorkerTest, ADownloadThatDeliversNothingDoesNotShowTheOneBefore) {
  const Misbehave misbehave("one_download");
  const TwoRuns runs = RunTwice("ok");
  EXPECT_THAT(runs.nan.guard_violations, IsEmpty());
  EXPECT_THAT(runs.sentinel.guard_violations, testing::SizeIs(6));  // before and after each operand
  EXPECT_THAT(runs.sentinel.changed_inputs, testing::SizeIs(2));
}

TEST_F(WorkerTest, WrongInputsAreRefusedBeforeTheWorkerSeesThem) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared);
  const InputSet swapped = {&inputs_.b, &inputs_.a};
  const Call<Execution> execution = session_.Execute(prepared->plan, swapped, Prefill::kNanPayload);
  ASSERT_FALSE(execution);
  EXPECT_THAT(execution.error().message, HasSubstr("input 0 is f32 4x3, expected f32 2x4"));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Frames that a plugin sends itself, and what a worker in its sandbox and its supervisor do on this machine, whatever
// its kernel lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

class HostileTest : public WorkerTest {
 protected:
  ~HostileTest() override { ::unsetenv("ASSAY_TEST_ATTEMPT"); }

  Call<Execution> Try(const char* attempt) {
    ::setenv("ASSAY_TEST_ATTEMPT", attempt, 1);
    const Call<Prepared> prepared = hostile_.Prepare(0, problem_, "attempt");
    if (!prepared) return tl::unexpected(prepared.error());
    return hostile_.Execute(prepared->plan, inputs_.set(), Prefill::kNanPayload);
  }

  // The session goes on with a fresh worker.
  void ExpectUnharmed() {
    ::setenv("ASSAY_TEST_ATTEMPT", "enter_namespace", 1);
    EXPECT_TRUE(Try("enter_namespace"));
  }

  WorkerSession hostile_{TestOptions(ASSAY_TEST_HOSTILE_PLUGIN)};
};

TEST_F(HostileTest, AnAnswerOfAnotherNumberEndsTheWorker) {
  const Call<Execution> execution = Try("forge_answer");
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().kind, FailureKind::kProtocol);
  EXPECT_THAT(execution.error().message, AnyOf(HasSubstr("execute: the answer belongs to another request"),
                                               HasSubstr("bytes followed the worker's answer")));
  ExpectUnharmed();
}

TEST_F(HostileTest, WhatIsThereBeforeARequestEndsTheWorker) {
  // Its answers are right, and the frame comes when nothing is asked.
  ASSERT_TRUE(Try("answer_late"));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const Call<BackendDescription> late = hostile_.Describe();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, FailureKind::kProtocol);
  EXPECT_THAT(late.error().message, HasSubstr("describe: the worker had sent 56 bytes before it was asked"));
  ExpectUnharmed();
}

TEST_F(HostileTest, DeepNestingInAFrameOfTheRightSizeIsRefused) {
  const Call<Execution> execution = Try("nest_deeply");
  ASSERT_FALSE(execution);
  EXPECT_EQ(execution.error().kind, FailureKind::kProtocol);
  EXPECT_THAT(execution.error().message, HasSubstr("nested deeper than 32"));
  ExpectUnharmed();
}

TEST_F(HostileTest, TheWorkerSaysWhatItGaveUp) {
  ASSERT_TRUE(hostile_.Describe());
  EXPECT_THAT(hostile_.sandbox(), AnyOf(testing::Eq(kFullSandbox), StartsWith("partial: ")));
  SessionOptions options = TestOptions();
  options.worker.sandbox.is_on = false;
  WorkerSession open(options);
  ASSERT_TRUE(open.Describe());
  EXPECT_EQ(open.sandbox(), kNoSandbox);
}

// Also on a kernel without Landlock, where only the list of system calls stands between them.
TEST_F(HostileTest, OtherProcessesAreOutOfReach) {
  for (const char* attempt :
       {"may_signal", "trace_host", "read_memory", "read_environment", "limit_host", "use_network", "use_netlink",
        "make_datagrams", "serve_socket", "change_open_file", "enter_namespace", "find_home"}) {
    hostile_.Restart();
    const Call<Execution> execution = Try(attempt);
    ASSERT_TRUE(execution) << attempt << ": " << execution.error().message;
    EXPECT_THAT(execution->outputs[0].As<float>(), testing::ElementsAreArray(inputs_.y)) << attempt;
  }
}

}  // namespace
}  // namespace assay

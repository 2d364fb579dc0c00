// SPDX-License-Identifier: Apache-2.0
// Tests the runtime's wrappers on a fake runtime that fails where it is told to.
#include "backends/gpu/runtime.h"

#include <gtest/gtest.h>

#include <new>

#include "backends/common/status.h"
#include "backends/gpu/kernels.h"
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

namespace gpu {
namespace {

class Runtime : public testing::Test {
 protected:
  void SetUp() override { fake_runtime::Reset(); }
  // Nothing may be left behind, whatever went wrong.
  void TearDown() override { EXPECT_EQ(fake_runtime::Now().alive, 0); }

  static void LaunchOne() {
    LaunchDirectConv({}, {}, nullptr);
    CheckLaunch("launch of a kernel");
  }
  template <class Body>
  static assay_status StatusThrownBy(const Body& body) {
    try {
      body();
    } catch (const plugin::Error& error) {
      return error.status();
    }
    return ASSAY_OK;
  }
  static void ExpectUsable(const Queue& queue) {
    EXPECT_FALSE(fake_runtime::Now().recording);
    const int before = fake_runtime::Now().launched;
    EXPECT_EQ(StatusThrownBy(LaunchOne), ASSAY_OK);
    EXPECT_EQ(fake_runtime::Now().launched, before + 1);
    EXPECT_EQ(StatusThrownBy([&] { queue.Wait(); }), ASSAY_OK);
  }
};

TEST_F(Runtime, AGraphRunsWhatItRecordedAsOftenAsItIsLaunched) {
  const Queue queue;
  const auto graph = Graph::Record(queue, [] { LaunchOne(), LaunchOne(); });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(fake_runtime::Now().launched, 0);
  graph->Launch(queue), graph->Launch(queue), graph->Launch(queue);
  EXPECT_EQ(fake_runtime::Now().launched, 6);
  ExpectUsable(queue);
}

TEST_F(Runtime, WhatCannotBeRecordedLeavesTheQueueUsable) {
  const Queue queue;
  for (const char* call : {"StreamBeginCapture", "Launch", "StreamEndCapture", "GraphInstantiate"}) {
    fake_runtime::Fail(call, 1);
    EXPECT_EQ(Graph::Record(queue, LaunchOne), nullptr) << call;
    ExpectUsable(queue);
  }
  EXPECT_EQ(Graph::Record(queue, [&] { queue.Wait(); }), nullptr) << "a wait is no work of a graph";
  ExpectUsable(queue);
}

TEST_F(Runtime, AnExceptionOfAnotherKindPassesAndEndsTheRecording) {
  const Queue queue;
  EXPECT_THROW(Graph::Record(queue, [] { throw std::bad_alloc(); }), std::bad_alloc);
  ExpectUsable(queue);
}

TEST_F(Runtime, ADeviceLostWhileRecordingIsReportedAsLost) {
  const Queue queue;
  fake_runtime::Fail("Launch", 700);
  EXPECT_EQ(StatusThrownBy([&] { Graph::Record(queue, LaunchOne); }), ASSAY_DEVICE_LOST);
  EXPECT_FALSE(fake_runtime::Now().recording);
  EXPECT_EQ(StatusThrownBy([&] { queue.Wait(); }), ASSAY_DEVICE_LOST) << "it is sticky";
}

TEST_F(Runtime, AFailedCallIsNotBlamedOnTheNextOne) {
  fake_runtime::Fail("Malloc", 2);
  EXPECT_EQ(StatusThrownBy([] { Memory memory(1 << 20); }), ASSAY_OUT_OF_MEMORY);
  EXPECT_EQ(StatusThrownBy(LaunchOne), ASSAY_OK);
}

TEST_F(Runtime, MessagesNameTheCallTheCodeAndTheAdvice) {
  fake_runtime::Fail("SetDevice", 209);
  try {
    SelectDevice(0);
    FAIL() << "no error";
  } catch (const plugin::Error& error) {
    EXPECT_EQ(error.status(), ASSAY_UNAVAILABLE);
    EXPECT_EQ(std::string(error.what()), "SetDevice: as the test says (209); " + AdviceFor(209));
  }
}

TEST_F(Runtime, AStopwatchThatCannotBeMadeKeepsNothing) {
  fake_runtime::Fail("EventCreate", 2, 2);
  EXPECT_EQ(StatusThrownBy([] { Stopwatch watch; }), ASSAY_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace gpu

// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/reset_hook.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "harness/core/base/stopwatch.h"
#include "tests/unit/temporary_folder.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ResetHookTest : public testing::Test {
 protected:
  ResetHookTest() { device_.backend = "lib", device_.selector = "lib:1", device_.device.name = "Board 'two' $HOME"; }
  ResetHook HookOf(const std::string& command) {
    return {command, [this] { return interrupted_.load(); },
            [this](const std::string& text) { notes_.push_back(text); }};
  }

  const TemporaryFolder folder_;
  Device device_;
  std::atomic<bool> interrupted_ = false;
  std::vector<std::string> notes_;
};

TEST_F(ResetHookTest, TheCommandIsToldWhichDeviceAndWhy) {
  const std::string file = folder_.Path("told");
  ResetHook hook = HookOf("echo \"$ASSAY_BACKEND|$ASSAY_SELECTOR|$ASSAY_DEVICE|$ASSAY_REASON\" > " + file);
  EXPECT_TRUE(hook.Reset(device_, "it fell off; `rm` $(x)", 0));
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "lib|lib:1|Board 'two' $HOME|it fell off; `rm` $(x)\n");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("lib:1 was lost; --on-device-lost ended well after ")));
}

TEST_F(ResetHookTest, AnyOtherEndIsTold) {
  for (const auto& [command, end] :
       {std::pair("exit 3", "exited with 3"), std::pair("kill -9 $$", "killed by signal 9"),
        std::pair("no-such-program-here", "exited with 127")}) {
    notes_.clear();
    EXPECT_FALSE(HookOf(command).Reset(device_, "gone", 0));
    EXPECT_THAT(notes_, ElementsAre(HasSubstr(end))) << command;
  }
}

TEST_F(ResetHookTest, AnInterruptEndsTheCommandAndWhatItStarted) {
  const std::string file = folder_.Path("begun");
  ResetHook hook = HookOf("touch " + file + "; sleep 100 & sleep 100");
  std::thread interrupt([&] {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
    interrupted_ = true;
  });
  const Stopwatch watch;
  EXPECT_FALSE(hook.Reset(device_, "gone", 0));
  EXPECT_LT(watch.Seconds(), 50);
  interrupt.join();
}

TEST_F(ResetHookTest, OneResetIsEnoughForAllThatWereLostBeforeIt) {
  ResetHook hook = HookOf("true");
  const uint64_t seen = hook.Resets(device_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(hook.Reset(device_, "gone", seen));
  EXPECT_EQ(notes_.size(), 1U);
  EXPECT_EQ(hook.Resets(device_), seen + 1);
}

// The second one in a row waits a second, the first one after a success does not.
TEST_F(ResetHookTest, LossesThatFollowEachOtherWaitLonger) {
  ResetHook hook = HookOf("true");
  const auto seconds = [&] {
    const Stopwatch watch;
    EXPECT_TRUE(hook.Reset(device_, "gone", hook.Resets(device_)));
    return watch.Seconds();
  };
  seconds();
  EXPECT_GE(seconds(), 1.0);
  hook.SetBack(device_);
  Device other = device_;
  other.selector = "lib:0";
  EXPECT_LT(seconds(), 1.0);
  EXPECT_TRUE(hook.Reset(other, "gone", 0));
}

}  // namespace
}  // namespace assay::test

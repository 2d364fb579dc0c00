// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace assay {
namespace {

void Spin() {
  static volatile int turns = 0;
  turns = turns + 1;
}

// A process that does nothing but `body`, until it is told to end.
class Child {
 public:
  explicit Child(void (*body)()) : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) body();
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  // Whether it comes to be so. A process that was just forked runs for a moment.
  bool Becomes(bool running) const {
    for (int i = 0; i < 2000 && AnyThreadRuns(pid_) != running; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return AnyThreadRuns(pid_) == running;
  }

 private:
  pid_t pid_;
};

TEST(AnyThreadRuns, TellsAProcessThatSpinsFromOneThatSleeps) {
  const Child spinning(Spin), sleeping([] { ::pause(); });
  ASSERT_TRUE(sleeping.Becomes(false));
  EXPECT_TRUE(spinning.Becomes(true));
}

TEST(AnyThreadRuns, NoProcessRunsNothing) {
  EXPECT_FALSE(ChildProcess().AnyThreadRuns());
}

}  // namespace
}  // namespace assay

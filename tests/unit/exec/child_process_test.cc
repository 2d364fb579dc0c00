// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/child_process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
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
    return Runs() == running;
  }
  bool Runs() const { return AnyThreadRuns(pid_); }

 private:
  pid_t pid_;
};

void Sleep() {
  ::pause();
}

void Start(void (*body)()) {
  std::thread([body] {
    for (;;) body();
  }).detach();
}

TEST(AnyThreadRuns, TellsAProcessThatSpinsFromOneThatSleeps) {
  const Child spinning(Spin), sleeping(Sleep);
  ASSERT_TRUE(sleeping.Becomes(false));
  EXPECT_TRUE(spinning.Becomes(true));
}

TEST(AnyThreadRuns, LooksAtEveryThread) {
  // The process's own thread sleeps in both.
  const Child one_spins([] {
    for (void (*body)() : {Sleep, Spin, Sleep}) Start(body);
    for (;;) Sleep();
  });
  const Child all_sleep([] {
    for (int i = 0; i < 3; ++i) Start(Sleep);
    for (;;) Sleep();
  });
  ASSERT_TRUE(all_sleep.Becomes(false));
  ASSERT_TRUE(one_spins.Becomes(true));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(one_spins.Runs());
    EXPECT_FALSE(all_sleep.Runs());
  }
}

TEST(AnyThreadRuns, TakesNoPartOfANameForTheState) {
  const Child sleeping([] {
    ::prctl(PR_SET_NAME, "a) R 1 (b) R 1");
    for (;;) Sleep();
  });
  EXPECT_TRUE(sleeping.Becomes(false));
}

TEST(AnyThreadRuns, NoProcessRunsNothing) {
  EXPECT_FALSE(ChildProcess().AnyThreadRuns());
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/child_process.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>

namespace assay {
namespace {

// Threads of a child that do what they are there for, in memory that it shares with the test.
std::atomic<int>* arrived = nullptr;

void Arrive() {
  thread_local bool has_arrived = false;
  if (!has_arrived) arrived->fetch_add(1);
  has_arrived = true;
}

void Spin() {
  static volatile int turns = 0;
  Arrive();
  turns = turns + 1;
}

// A process that does nothing but `body`, until it is told to end.
class Child {
 public:
  explicit Child(void (*body)()) {
    void* page = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    arrived = arrived_ = new (page) std::atomic<int>(0);
    pid_ = ::fork();
    if (pid_ == 0) {
      for (;;) body();
    }
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(arrived_, sizeof *arrived_);
  }
  // Whether it comes to be so, once so many threads are there: one that has yet to start would run later.
  bool Becomes(bool running, int threads = 1) const {
    for (int i = 0; i < 2000 && (*arrived_ < threads || AnyThreadRuns(pid_) != running); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Runs() == running;
  }
  bool Runs() const { return AnyThreadRuns(pid_); }

 private:
  pid_t pid_ = 0;
  std::atomic<int>* arrived_ = nullptr;
};

void Sleep() {
  Arrive();
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
  ASSERT_TRUE(all_sleep.Becomes(false, 4));
  ASSERT_TRUE(one_spins.Becomes(true, 4));
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

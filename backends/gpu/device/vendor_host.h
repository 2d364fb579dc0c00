// SPDX-License-Identifier: Apache-2.0
// Device code as plain C++, for tests where there is neither a GPU nor HIP-CPU: a block's threads take turns on one
// thread of the process, and blocks run one after the other. A shared variable is one of the process.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#define GPU_FN inline
#define GPU_DEVICE inline
#define GPU_CALL inline
#define GPU_KERNEL
#define GPU_SHARED static
#define GPU_CONSTANT

#include "backends/gpu/device/vendor_processor.h"

struct DeviceIndex {
  unsigned x;
};
inline DeviceIndex blockIdx{}, threadIdx{};

template <class A>
void atomicAdd(A* to, A value) {
  std::atomic_ref<A>(*to).fetch_add(value);
}

namespace gpu {

// The threads of a block. Each runs until it waits for the others or ends; then it is the next one's turn. A context
// only begins a thread, which serves all blocks: later switches by longjmp need no system call.
class TurnsOfABlock {
 public:
  template <class Run>
  void RunAll(int threads, const Run& run) {
    call_ = [](const void* of) { (*static_cast<const Run*>(of))(); };
    run_ = &run;
    while (std::ssize(turns_) < threads) turns_.push_back(std::make_unique<Turn>());
    for (const std::unique_ptr<Turn>& turn : turns_) turn->ended = false;
    for (left_ = threads; left_ > 0;) {
      for (size_t thread = 0; thread < static_cast<size_t>(threads); ++thread) Continue(thread);
    }
  }
  void Wait() {
    if (_setjmp(running_->waits) == 0) _longjmp(here_, 1);
  }

 private:
  static constexpr size_t kStackBytes = size_t{1} << 17;
  struct Turn {
    ucontext_t context{};
    jmp_buf waits{};
    std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    bool begun = false, ended = false;

    Turn() {
      getcontext(&context);
      context.uc_stack.ss_sp = stack.get(), context.uc_stack.ss_size = kStackBytes;
      makecontext(&context, &Begin, 0);
    }
  };

  [[noreturn]] static void Begin();

  void Continue(size_t thread) {
    running_ = turns_[thread].get();
    if (running_->ended) return;
    threadIdx.x = static_cast<unsigned>(thread);
    if (_setjmp(here_) == 0) {
      if (running_->begun) _longjmp(running_->waits, 1);
      setcontext(&running_->context);
    }
    left_ -= running_->ended ? 1 : 0;
  }

  jmp_buf here_{};
  std::vector<std::unique_ptr<Turn>> turns_;
  Turn* running_ = nullptr;
  int left_ = 0;
  void (*call_)(const void*) = nullptr;
  const void* run_ = nullptr;
};

inline TurnsOfABlock block_turns;

inline void TurnsOfABlock::Begin() {
  Turn& turn = *block_turns.running_;
  for (turn.begun = true;;) {
    block_turns.call_(block_turns.run_);
    turn.ended = true;
    block_turns.Wait();  // for the next block
  }
}

inline void Sync() {
  block_turns.Wait();
}

using Stream = void*;

template <class Params>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, Stream, const Params& params) {
  for (int64_t block = 0; block < blocks; ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    block_turns.RunAll(threads, [&] { kernel(params); });
  }
}

}  // namespace gpu

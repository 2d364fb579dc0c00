// SPDX-License-Identifier: Apache-2.0
// Device code as plain C++, for tests where there is neither a GPU nor HIP-CPU: a block's threads are threads, and
// blocks run one after the other. A shared variable is one of the process.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <future>
#include <thread>
#include <utility>
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
inline thread_local DeviceIndex blockIdx{}, threadIdx{};

template <class A>
void atomicAdd(A* to, A value) {
  std::atomic_ref<A>(*to).fetch_add(value);
}

namespace gpu {

inline std::barrier<>* block_barrier = nullptr;

// Called by the thread that Launch starts first, before its first wait.
inline thread_local std::function<void()> before_waiting;

inline void Sync() {
  if (before_waiting) std::exchange(before_waiting, {})();
  block_barrier->arrive_and_wait();
}

template <class Params>
void RunKernel(void (*kernel)(Params), int64_t blocks, int threads, const Params& params) {
  for (int64_t block = 0; block < blocks; ++block) {
    std::barrier<> barrier(threads);
    block_barrier = &barrier;
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        blockIdx.x = static_cast<unsigned>(block), threadIdx.x = static_cast<unsigned>(thread);
        kernel(params);
        barrier.arrive_and_drop();
      });
    }
  }
}

using Stream = void*;

// The threads of a block wait for each other, all or none. Those that do not run one after the other, which is a
// hundred times as fast: the first one of a block tells.
template <class Params>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, Stream, const Params& params) {
  for (int64_t block = 0; block < blocks; ++block) {
    std::barrier<> barrier(threads);
    block_barrier = &barrier;
    const auto run = [&, block](int thread) {
      blockIdx.x = static_cast<unsigned>(block), threadIdx.x = static_cast<unsigned>(thread);
      kernel(params);
      barrier.arrive_and_drop();
    };
    std::promise<bool> waits;
    std::vector<std::jthread> running;
    running.emplace_back([&] {
      before_waiting = [&waits] { waits.set_value(true); };
      run(0);
      if (before_waiting) waits.set_value(false);
    });
    const bool together = waits.get_future().get();
    for (int thread = 1; thread < threads; ++thread) {
      if (together) {
        running.emplace_back(run, thread);
      } else {
        run(thread);
      }
    }
  }
}

}  // namespace gpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/thread_stacks.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace opencl {
namespace {

constexpr size_t kStackBytes = size_t{128} << 20;  // frames of 15 times the line were seen, of lines of up to 2 MiB

void RaiseDefaultOfThreads() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kStackBytes &&
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

// The first thread's stack grows up to the limit as it is when it grows.
void RaiseLimitOfFirstThread() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kStackBytes) return;
  limit.rlim_cur = std::min<rlim_t>(kStackBytes, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace

void RaiseThreadStacks() {
  RaiseDefaultOfThreads();
  RaiseLimitOfFirstThread();
}

}  // namespace opencl

// SPDX-License-Identifier: Apache-2.0
// Controls of the fake runtime, and what a test can see of it. One device, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fake_runtime {

// A new device without errors, on which nothing was ever made.
void Reset();

// The n-th call of `name` ("Malloc", or "Launch" of any kernel) from now on gives `code`. Codes from 700 on stick:
// every later call gives them too.
void Fail(const std::string& name, int code, int nth = 1);

struct Seen {
  int alive = 0;        // streams, events, graphs and allocations that are not yet destroyed
  int launched = 0;     // kernels that have run, by themselves or in a graph
  int replayed = 0;     // graphs that have run
  uint64_t filled = 0;  // bytes
  bool recording = false;
};
Seen Now();

// A kernel's launch, which can fail or go into a graph as any call can.
void CountLaunch();

}  // namespace fake_runtime

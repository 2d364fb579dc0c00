// SPDX-License-Identifier: Apache-2.0
// The host's side of the next group of cases, prepared while devices are at work on the present one.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "harness/engine/cases/prepared_case.h"

namespace assay {

using PreparedCases = std::vector<Result<PreparedCase>>;

// A case that is to be prepared, as by PrepareCase.
struct PrefetchRequest {
  SharedCase bound;
  PrepareLimits limits;
};

class Prefetch {
 public:
  // `tier` as in ChooseTier. `executed`: whether any device may execute the cases; else they get no data (WithoutData).
  Prefetch(std::string tier, const GoldenStore& store, bool executed = true);

  // Leaves behind what is still being prepared, so that an interrupt does not wait for a golden value.
  ~Prefetch();

  // Precondition: what was begun before was taken.
  void Begin(std::vector<PrefetchRequest> group);

  // Whether what was begun, if anything, is ready; false when the user interrupts before.
  bool Await(const std::function<bool()>& interrupted) const;

  // In the order of the group. Precondition: it was begun.
  PreparedCases Take();

  // Whether a thread would be left behind.
  bool at_work() const { return thread_.joinable(); }

 private:
  std::string tier_;
  GoldenStore store_;
  bool executed_;
  std::future<PreparedCases> next_;
  std::thread thread_;  // makes next_; it owns what it works on
};

}  // namespace assay

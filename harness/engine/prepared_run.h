// SPDX-License-Identifier: Apache-2.0
// Everything that `assay run` is about to do, checked as a whole before anything runs.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/engine/results/expected.h"
#include "harness/plan/catalog.h"
#include "harness/plan/sweep.h"

namespace assay {

struct PreparedRun {
  Selection selection;
  Plan plan;
  std::optional<Sweep> sweep;
  std::vector<Device> devices;
  std::vector<std::string> absent;  // required backends that are not there, already complained of
  ExpectationSet expectations;

  // A shard without cases leaves its folder behind like the others, since CI collects it.
  bool HasNoCase() const { return selection.empty == EmptyReason::kShardOnly; }
};

struct Refusal {
  int code;  // of the program's exit
  std::string message;
};

// `notes` gets what the user should know beside the result or the refusal, a text each.
tl::expected<PreparedRun, Refusal> PrepareRun(const RunOptions& options, std::vector<std::string>& notes);

// Prepares a run without cases yet: fills devices, absent, expectations, and the plan's devices.
tl::expected<PreparedRun, Refusal> PrepareWithoutCases(const RunOptions& options, std::vector<std::string>& notes);

}  // namespace assay

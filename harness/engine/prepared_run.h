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

namespace assay {

// The user's wish, before anything is looked up.
struct RunRequest {
  PlanOptions selection;
  BackendOptions backend;
  std::vector<std::string> expectations;  // files; empty: the shipped ones
  std::string tier = "auto";              // auto | fast | reproducible
  std::optional<int64_t> sample;          // elements of larger outputs that are judged; none: as suites say, or all
  std::string max_memory;                 // "10Gi", for a case; "": all that there is
};

struct PreparedRun : PlannedRun {
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
tl::expected<PreparedRun, Refusal> PrepareRun(const RunRequest& request, std::vector<std::string>& notes);

// Prepares a run without cases yet: fills devices, absent, expectations, and the plan's devices.
tl::expected<PreparedRun, Refusal> PrepareWithoutCases(const RunRequest& request, std::vector<std::string>& notes);

}  // namespace assay

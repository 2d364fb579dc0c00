// SPDX-License-Identifier: Apache-2.0
// Small cases that are timed for what they tell of a device. Their results are not judged.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

struct ProbeTime {
  std::string implementation;
  double best_s = 0;  // the fastest repetition by the clock of the backend
  double wall_s = 0;  // the mean by the worker's, around everything
};

struct ProbeSettings {
  double max_seconds = 0.05;           // for each implementation
  std::vector<std::string> preferred;  // those that are tried where they are offered; empty: all
  bool others = true;                  // all are tried where none of those is offered
  std::set<std::string> left_out;
};

// The implementations that do the operations that are counted. Empty where the case is not offered. An error says that
// the worker did not survive.
Call<std::vector<ProbeTime>> TimeProbe(const Device& device, const Problem& problem, const ProbeSettings& settings);

// Precondition: the id is of a case that its operator takes.
Problem ProblemOf(const std::string& case_id);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// assay fingerprint --exhaustive: functions on all numbers of a type, with progress.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/options.h"
#include "harness/tools/fingerprint/exhaustive.h"

namespace assay::cli {

// Says that nothing was fingerprinted, and why: `wanted` are the names of --impl, `offered` those that backends have.
int ComplainOfNone(const std::vector<std::string>& wanted, const std::set<std::string>& offered);

class ExhaustiveFlow {
 public:
  ExhaustiveFlow(const RunOptions& options, std::filesystem::path folder, bool json)
      : run_(options), folder_(std::move(folder)), json_(json) {}

  // Measures each case, which is one of BindExhaustive, by every implementation of the devices, which share its exact
  // results. Returns the exit code.
  int Measure(const std::vector<SharedCase>& cases, const std::vector<Device>& devices) const;

 private:
  Status MeasureParts(const Exhaustive& exhaustive, const std::string& id,
                      std::vector<ExhaustiveSubject>& subjects) const;

  const RunOptions& run_;
  std::filesystem::path folder_;  // empty: nothing is kept
  bool json_;
};

}  // namespace assay::cli

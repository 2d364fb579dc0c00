// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: which results belong together, what changed, and what of it is a regression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record.h"
#include "harness/core/model/run_comparison.h"
#include "reports/compare/compare_policy.h"
#include "reports/compare/passports.h"

namespace assay {

struct RunToCompare {
  std::string name;             // as the user named it
  std::vector<Record> records;  // with one of verdict `missing` for each planned one that is not there
  bool offers_known = false;    // `records` miss nothing that was planned and offered
  std::string host;             // what host times depend on: CPU, threads; "" when it is not known
  std::string torn = {};        // that its file is cut off, in words; "": it is whole
  // Launch overhead that plausible times may include (--launch-us), by backend; absent: the default.
  std::map<std::string, double> launches_us = {};
  std::map<std::string, std::string> definitions = {};  // digests of what users have defined, by operator
  RunPassports passports = {};                          // none: nobody measured them
};

struct CompareSettings {
  ComparePolicy policy;
  // A backend that stands for no device: its records say why a case ran nowhere.
  std::string harness_backend;
  double minimum_effect = 0.05;  // of a SLOWER or FASTER
  bool same_rounds = false;      // both were timed in turns, in one run
};

// Results belong together by case, backend, device and implementation. Where a backend has one device in each run,
// under different names, these are taken for the same one and a note says so. Error: schema versions differ, or no
// result is in both.
Result<RunComparison> CompareRuns(const RunToCompare& base, const RunToCompare& now, const CompareSettings& settings);

}  // namespace assay

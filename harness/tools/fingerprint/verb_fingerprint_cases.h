// SPDX-License-Identifier: Apache-2.0
// The cases that assay fingerprint probes: the usual ones, those of --case, or the sums of a run.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/options.h"
#include "harness/tools/fingerprint/prediction.h"
#include "harness/tools/fingerprint/sum_probe.h"
#include "ops/bound_case.h"
#include "reports/compare/passports.h"

namespace assay::cli {

struct FingerprintOptions {
  RunOptions run;
  std::vector<std::string> cases, ops, diff;
  std::filesystem::path svg, run_folder, parts_folder;
  bool json = false, exhaustive = false;
};

struct Fingerprinted {
  SharedCase bound;
  std::optional<SumProbe> sums;           // nothing: of a function, or of an operator whose slices alone are compared
  std::optional<SumProbe> variance = {};  // of a norm whose mean `sums` probes
  std::string why_no_variance = {};
  bool is_function = false;
  std::string why_no_order = {};  // of an operator whose results show none
};

// The sums that a run has results of, each once, by the implementations that gave them.
struct SumsOfRun {
  std::vector<std::string> cases;
  std::map<std::string, std::vector<RecordedResult>> results;  // by "backend implementation problem"

  static std::string Name(const std::string& backend, const std::string& implementation, const std::string& case_id) {
    return fmt::format("{} {} {}", backend, implementation, ProblemKey(case_id));
  }
};

// Errors: the folder is no run, or no result of it is a sum whose order can be found.
Result<SumsOfRun> ListSums(const std::filesystem::path& folder);
// Errors: an option names no case that can be probed.
Result<std::vector<Fingerprinted>> ChooseCases(const FingerprintOptions& options, const SumsOfRun& of_run);

}  // namespace assay::cli

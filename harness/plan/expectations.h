// SPDX-License-Identifier: Apache-2.0
// Expectation files: which results are known not to pass, and why. One rule a line:
//   case glob | backend:implementation glob | known_failure or known_flake | reason
//   reduce/f32/*,kind=max/fill=special/* | onednn:ref-* | known_failure mismatch | starts max from -FLT_MAX, not -inf
// '#' starts a comment line. The verdicts that a rule covers may follow its kind, separated by commas: mismatch,
// below_contract, nondeterministic, crash, timeout, error; without any, the first three. No rule covers a fault of
// memory. A failing result that a known_failure rule covers counts as known_failure; one that passes is an
// unexpected_pass and fails the run, so that rules do not outlive their reason. A known_flake rule covers failing
// results and lets passing ones pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace assay {

struct Expectation {
  std::string case_glob, column_glob;
  bool flake = false;
  std::vector<std::string> verdicts;  // that it covers
  std::string reason;
  std::string where;  // file:line
};

// Errors are "file:line: what; what to write instead".
Result<std::vector<Expectation>> ParseExpectations(std::string_view text, const std::string& file);
Result<std::vector<Expectation>> LoadExpectations(const std::string& path);

// The first rule for this case and column that covers the verdict, or, where none does, the first for them; nullptr
// when there is none. `column` is "backend:implementation".
const Expectation* FindExpectation(const std::vector<Expectation>& rules, std::string_view case_id,
                                   std::string_view column, std::string_view verdict);
bool Covers(const Expectation& rule, std::string_view verdict);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Expectation files of a run, and what they make of a record (SPEC.md 5).
#pragma once

#include <string>
#include <vector>

#include "harness/model/record.h"
#include "harness/plan/expectations.h"

namespace assay {

struct ExpectationSet {
  std::vector<Expectation> rules;
  std::vector<std::string> files;  // with their content hash, for environment.json
  std::string note;                // that there are none where there should be; "": nothing to say
};

// `files` as given with --expectations ("none": no file at all); without any, those that the backends ship:
// share/assay/expectations/*.expect beside the program, or backends/*/*.expect of the source tree when it runs from its
// build folder.
Result<ExpectationSet> LoadExpectationSet(const std::vector<std::string>& files);

// Sets the outcome (and the reason, when a rule decides) of a judged record. `memory_fault`: it overwrote guards,
// changed inputs or left elements unwritten, which no rule covers.
void ApplyExpectations(const std::vector<Expectation>& rules, bool memory_fault, Record& record);

}  // namespace assay

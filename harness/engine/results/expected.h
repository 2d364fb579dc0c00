// SPDX-License-Identifier: Apache-2.0
// Expectation files of a run, and what they make of a record (backends/README.md#known-failures).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/core/model/record_list.h"
#include "harness/plan/expectations.h"

namespace assay {

struct ExpectationSet {
  std::vector<Expectation> rules;
  std::vector<std::string> files;  // with their content hash, for environment.json
  bool shipped = false;            // else the user named them, or none
  // For the backends of a glob: the classes of processors on which their rules were established.
  std::vector<std::pair<std::string, std::vector<std::string>>> established;
  std::string note;  // that there are none where there should be; "": nothing to say
};

// `files` as given with --expectations ("none": no file at all); without any, those that the backends ship:
// share/assay/expectations/*/known_issues.toml beside the program, or those in backends/ of the source tree when it
// runs from its build folder.
Result<ExpectationSet> LoadExpectationSet(const std::vector<std::string>& files);

// Sets the outcome (and the reason, when a rule decides) of a judged record. `memory_fault`: it overwrote guards,
// changed inputs or left elements unwritten, which no rule covers.
void ApplyExpectations(const std::vector<Expectation>& rules, bool memory_fault, Record& record);

// "file:line (id, of owner, until day)" of those whose day has passed.
std::vector<std::string> FindExpiredRules(const std::vector<Expectation>& rules);

// "file:line" of those that are about none of the records.
std::vector<std::string> FindUnusedRules(const std::vector<Expectation>& rules, const RecordView& records);

// One line where the rules of some of these backends, which run on this host's processor, were not established on its
// class; "" elsewhere.
std::string UnknownProcessor(const ExpectationSet& set, const std::vector<std::string>& backends,
                             const std::string& processor);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Failures that a line of an expectation file explains, gathered by that line.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/core/model/record_list.h"
#include "reports/table.h"

namespace assay {

bool IsKnownFailure(const Record& record);  // or a known flake

struct KnownCause {
  std::string reason;           // as the line has it
  std::string where;            // "backends/x/known_issues.toml:7"
  std::string waiver;           // "id, of owner, until 2027-03-31": as much of it as the rule says
  std::string read_on;          // where the proof stands, if elsewhere
  std::vector<size_t> members;  // indices of records
  std::set<std::string> implementations;
};

// In order of appearance.
std::vector<KnownCause> KnownCausesOf(const RecordView& records);

// Rows: causes with their number of results, the implementations, the rule, the reason and its line. Beyond `limit` how
// many more there are.
Table KnownTable(const RecordView& records, size_t limit = 40);

}  // namespace assay

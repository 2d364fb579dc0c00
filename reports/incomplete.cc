// SPDX-License-Identifier: Apache-2.0
#include "reports/incomplete.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/summary.h"

namespace assay {

bool IsMissing(const Record& record) {
  return record.outcome == "missing";
}

std::string IncompleteLine(const RecordView& records) {
  struct Held {
    bool some = false, missing = false;
  };
  if (std::ranges::none_of(records, IsMissing)) return "";
  std::map<std::string, Held> cases;
  for (const Record& r : records) (IsMissing(r) ? cases[r.case_id].missing : cases[r.case_id].some) = true;
  int64_t without = 0, in_part = 0;
  for (const auto& [id, held] : cases) {
    without += held.missing && !held.some;
    in_part += held.missing && held.some;
  }
  return fmt::format("incomplete: {} of {} planned cases have no record{}", without, cases.size(),
                     in_part == 0 ? "" : fmt::format(", {} {} a part of them", in_part, in_part == 1 ? "has" : "have"));
}

Table MissingTable(const RecordView& records) {
  const Columns columns(records);
  std::map<std::string, int64_t> counts;
  for (const Record& r : records) {
    if (IsMissing(r)) ++counts[columns.NameOf(r)];
  }
  Table table{{"missing", "implementation"}, {Align::kRight}, {}};
  for (const auto& [column, count] : counts) table.rows.push_back({std::to_string(count), column});
  return table;
}

}  // namespace assay

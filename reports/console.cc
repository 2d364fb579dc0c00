// SPDX-License-Identifier: Apache-2.0
#include "reports/console.h"

#include <fmt/format.h>

#include "reports/summary.h"

namespace assay {
namespace {

std::string Coloured(const ConsoleStyle& style, std::string_view code, std::string text) {
  return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string Failures(const std::vector<Record>& records, const ConsoleStyle& style) {
  const std::vector<Column> columns = ColumnsOf(records);
  std::string out;
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    if (!IsFailure(r)) continue;
    out += Coloured(style, "31", fmt::format("{:<16} {}  {}", r.outcome, columns[i].Name(), r.case_id)) + "\n";
    out += fmt::format("    {}\n    reproduce: {}\n", r.reason, r.reproduce);
  }
  return out.empty() ? out : "\nFailures\n" + out;
}

}  // namespace

std::string ConsoleReport(const std::vector<Record>& records, const ConsoleStyle& style) {
  std::string out = "Verdicts over all cases and implementations, with the largest |error| / bound of what passed\n" +
                    AsText(VerdictMatrix(records));
  const Table performance = PerformanceTable(records, style.performance_rows);
  if (!performance.rows.empty()) {
    out += "\nPerformance: the fastest implementation of each backend that passed, median; the largest cases\n" +
           AsText(performance);
  }
  const Table reasons = ReasonsTable(records);
  if (!reasons.rows.empty()) out += "\nNot run\n" + AsText(reasons);
  out += Failures(records, style);
  bool failed = false;
  for (const Record& r : records) failed = failed || IsFailure(r);
  return out + "\n" + Coloured(style, failed ? "31;1" : "32;1", OutcomeLine(records)) + "\n";
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "reports/incomplete.h"
#include "reports/summary.h"
#include "reports/sweep.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

std::string Coloured(const ConsoleStyle& style, std::string_view code, std::string text) {
  return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

struct PrintableFields {
  void operator()(const char*, std::string& text) const { text = Printable(text); }
  template <class T>
  void operator()(const char*, T&) const {}
};

// Records may come from anywhere: none of them gets at the terminal.
std::vector<Record> PrintableRecords(std::vector<Record> records) {
  for (Record& r : records) VisitFields(r, PrintableFields());
  return records;
}

// Those that ran: what is missing is counted, since one cause leaves all of it. The gravest first, an outcome that this
// version does not know before all others.
std::vector<size_t> ListedFailures(const std::vector<Record>& records) {
  std::vector<size_t> listed;
  for (size_t i = 0; i < records.size(); ++i) {
    if (IsFailure(records[i]) && !IsMissing(records[i])) listed.push_back(i);
  }
  std::ranges::stable_sort(listed, {}, [&](size_t i) {
    const size_t gravity = GravityOf(records[i].outcome);
    return gravity < VerdictStyles().size() ? gravity + 1 : 0;
  });
  return listed;
}

std::string Failures(const std::vector<Record>& records, const ConsoleStyle& style) {
  const std::vector<Column> columns = ColumnsOf(records);
  const std::vector<size_t> listed = ListedFailures(records);
  if (listed.empty()) return "";
  const size_t shown = std::min(listed.size(), style.failures);
  std::string out = "\nFailures\n";
  for (const size_t i : std::span(listed).first(shown)) {
    const Record& r = records[i];
    out += Coloured(style, "31", fmt::format("{:<16} {}  {}", r.outcome, columns[i].Name(), r.case_id)) + "\n";
    out += fmt::format("    {}\n    reproduce: {}\n", r.reason, r.reproduce);
  }
  if (shown < listed.size()) {
    out += Coloured(style, "31", fmt::format("and {} more: {}", listed.size() - shown, style.all_file)) + "\n";
  }
  return out;
}

}  // namespace

std::string ConsoleReport(const std::vector<Record>& foreign, const ConsoleStyle& style) {
  const std::vector<Record> records = PrintableRecords(foreign);
  const std::string incomplete = IncompleteLine(records);
  std::string out = incomplete.empty() ? incomplete : Coloured(style, "31;1", incomplete) + "\n\n";
  out += "Verdicts over all cases and implementations, with the largest |error| / bound of what passed\n" +
         AsText(VerdictMatrix(records));
  const Table performance = PerformanceTable(records, style.performance_rows);
  if (!performance.rows.empty()) {
    const bool measured = std::ranges::any_of(records, [](const Record& r) { return r.roofline_fraction.has_value(); });
    out += fmt::format(
               "\nPerformance: the fastest implementation of each backend that passed, median{}; the largest cases\n",
               measured ? ", share of the roofline" : "") +
           AsText(performance);
  }
  for (const std::string& line : InvalidTimes(records)) {
    out += Coloured(style, "33", "cannot be true      " + line) + "\n";
  }
  for (const SweepGroup& group : SweepsOf(records)) {
    out += fmt::format("\nSweep over {} of {}\n", group.key, group.title);
    for (const std::string& line : SweepAdvice(group)) out += "  " + line + "\n";
  }
  const Table inconclusive = InconclusiveTable(records);
  if (!inconclusive.rows.empty()) out += "\nInconclusive: a wrong result would pass\n" + AsText(inconclusive);
  const Table reasons = ReasonsTable(records);
  if (!reasons.rows.empty()) out += "\nNot run\n" + AsText(reasons);
  if (!incomplete.empty()) out += "\nMissing\n" + AsText(MissingTable(records));
  out += Failures(records, style);
  bool failed = false;
  for (const Record& r : records) failed = failed || IsFailure(r);
  return out + "\n" + Coloured(style, failed ? "31;1" : "32;1", OutcomeLine(records)) + "\n";
}

}  // namespace assay

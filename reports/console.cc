// SPDX-License-Identifier: Apache-2.0
#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/colour.h"
#include "reports/console_parts.h"
#include "reports/fault.h"
#include "reports/incomplete.h"
#include "reports/known.h"
#include "reports/run_notes.h"
#include "reports/summary.h"
#include "reports/sweep.h"
#include "reports/text.h"

namespace assay {
namespace {

struct PrintableFields {
  void operator()(const char*, std::string& text) const { text = Printable(text); }
  void operator()(const char*, std::vector<OutputRecord>& outputs) const {
    for (OutputRecord& output : outputs) VisitOutputFields(output, *this);
  }
  template <class T>
  void operator()(const char*, T&) const {}
};

struct IsPrintable {
  bool& all;
  void operator()(const char*, const std::string& text) const { all = all && Printable(text) == text; }
  void operator()(const char*, const std::vector<OutputRecord>& outputs) const {
    for (const OutputRecord& output : outputs) VisitOutputFields(output, *this);
  }
  template <class T>
  void operator()(const char*, const T&) const {}
};

bool ArePrintable(const RecordView& records) {
  bool all = true;
  for (const Record& r : records) VisitFields(r, IsPrintable{all});
  return all;
}

// Records may come from anywhere: none of them gets at the terminal.
RecordList PrintableRecords(const RecordView& records) {
  RecordList printable;
  for (Record r : records) {
    VisitFields(r, PrintableFields());
    printable.push_back(std::move(r));
  }
  return printable;
}

// The parts of the report, each under a heading; one without rows is left out.
class Page {
 public:
  explicit Page(const ConsoleStyle& style) : style_(style) {
    if (style.colour) painted_ = {style.width, PaintOutcomes};
    painted_.width = style.width;
  }

  void Add(const std::string& heading, const Table& table) {
    if (table.rows.empty()) return;
    AddHeading(heading);
    text_ += AsText(table, painted_);
  }
  void AddHeading(const std::string& heading) {
    const size_t words = std::min(heading.find(':'), heading.size());
    text_ += (text_.empty() ? "" : "\n") + InColour(style_.colour, kBold, heading.substr(0, words)) +
             Wrapped(heading.substr(words), style_.width > words ? style_.width - words : 0, 0) + "\n";
  }
  void AddLine(std::string_view code, const std::string& line) {
    text_ += InColour(style_.colour && !code.empty(), code, Wrapped(line, style_.width, 0)) + "\n";
  }
  void AddText(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  const ConsoleStyle& style_;
  TextStyle painted_;
  std::string text_;
};

void AddPerformance(const RecordView& records, size_t rows, Page& page) {
  const bool measured = std::ranges::any_of(records, [](const Record& r) { return r.roofline_fraction.has_value(); });
  page.Add(fmt::format("Performance: the fastest implementation of each backend that passed, and of a weaker contract "
                       "a faster one, median{}; the largest cases",
                       measured ? ", share of the roofline" : ""),
           PerformanceTable(records, rows));
  for (const std::string& line : InvalidTimes(records)) page.AddLine("33", "cannot be true      " + line);
  for (const SweepGroup& group : SweepsOf(records)) {
    page.AddHeading(fmt::format("Sweep over {} of {}", group.key, group.title));
    for (const std::string& line : SweepAdvice(group)) page.AddText("  " + line + "\n");
  }
}

}  // namespace

std::string ConsoleReport(const RecordView& foreign, const ConsoleStyle& style) {
  // A copy only where it has to differ: of a million records it would be large.
  const RecordList changed = ArePrintable(foreign) ? RecordList() : PrintableRecords(foreign);
  const RecordView records = changed.empty() ? foreign : RecordView(changed);
  Page page(style);
  const std::string incomplete = IncompleteLine(records);
  if (!incomplete.empty()) page.AddLine("31;1", incomplete);
  for (const std::string& note : RunNotes(records, style.environment)) page.AddLine("33", "note: " + Printable(note));
  page.Add("Verdicts: counts of results, and the largest margin of the bound of what passed", VerdictMatrix(records));
  AddPerformance(records, style.performance_rows, page);
  page.Add("Inconclusive: a wrong result would pass", InconclusiveTable(records));
  page.Add("Not run", ReasonsTable(records));
  page.Add("Known failures: explained by a line of an expectation file", KnownTable(records));
  page.Add("Missing", MissingTable(records));
  page.AddText(ConsoleFailures(records, style));
  const std::string outcomes = Wrapped(OutcomeLine(records), style.width, 0);
  page.AddText("\n" + (style.colour ? PaintOutcomes(outcomes) : outcomes) + "\n");
  if (const std::string fault = FaultLine(records, FlattenEnvironment(style.environment)); !fault.empty())
    page.AddLine("", fault);
  return page.text();
}

}  // namespace assay

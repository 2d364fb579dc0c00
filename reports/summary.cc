// SPDX-License-Identifier: Apache-2.0
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <compare>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "harness/core/base/text.h"
#include "harness/core/model/calls_tag.h"
#include "reports/pooled.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

using Counts = std::map<std::string, int64_t>;

// In the documented order, behind outcomes that this version does not know: they count like errors.
std::vector<std::pair<std::string, int64_t>> Ordered(const Counts& counts) {
  std::vector<std::pair<std::string, int64_t>> ordered;
  for (const auto& [outcome, count] : counts) {
    if (StyleOf(outcome).name.empty()) ordered.emplace_back(outcome, count);
  }
  for (const VerdictStyle& style : VerdictStyles()) {
    if (const auto it = counts.find(std::string(style.name)); it != counts.end()) ordered.emplace_back(*it);
  }
  return ordered;
}

// Some records, counted.
class Cell {
 public:
  void Add(const Record& r) {
    ++counts_[r.outcome];
    if (r.outcome == "pass") worst_margin_ = std::max(worst_margin_, r.bound_margin.value_or(0));
  }
  // "1 mismatch, 11 pass 0.22".
  std::string Text() const {
    std::string text;
    for (const auto& [outcome, count] : Ordered(counts_)) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, outcome);
      if (outcome == "pass") text += " " + MarginText(worst_margin_);
    }
    return text.empty() ? "-" : text;
  }

 private:
  Counts counts_;
  double worst_margin_ = 0;
};

// Why something did not run, without the name of its operator: operators that differ in nothing else share a row.
struct Reason {
  std::string backend, outcome, before, after;  // the name's place is between `before` and `after`
  bool names_operator = false;
  auto operator<=>(const Reason&) const = default;
};

struct ReasonCount {
  int64_t results = 0;
  std::set<std::string> operators;
};

// Finds the name as a whole word; npos if it is not there.
size_t FindName(std::string_view text, std::string_view name) {
  const auto is_part = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  size_t at = name.empty() ? text.npos : text.find(name);
  while (at != text.npos && (is_part(at - 1) || is_part(at + name.size()))) at = text.find(name, at + 1);
  return at;
}

Reason ReasonOf(const Record& r) {
  const size_t at = FindName(r.reason, r.op);
  if (at == std::string::npos) return {r.backend, r.outcome, r.reason, "", false};
  return {r.backend, r.outcome, r.reason.substr(0, at), r.reason.substr(at + r.op.size()), true};
}

std::string ReasonText(const Reason& reason, const ReasonCount& count) {
  if (!reason.names_operator) return reason.before;
  const std::string_view between = reason.before.ends_with('\'') ? "', '" : ", ";
  return fmt::format("{}{}{}", reason.before, fmt::join(count.operators, between), reason.after);
}

}  // namespace

std::string TimeText(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} µs", seconds * 1e6);
}

std::string MedianTimeText(const Record& r) {
  return (r.time_at_most_s ? "≤ " : "") + TimeText(GetBelievedSeconds(r).value_or(0));
}

std::string RateText(const Record& r) {
  // Below about four operations per byte a case moves data rather than computes.
  const bool computes = r.flops && r.bytes && *r.flops > 4 * *r.bytes;
  const auto text = [&](double giga, const char* unit) {
    const std::string least = r.time_at_most_s ? "≥ " : "";
    return least +
           (giga >= 1000 ? fmt::format("{:.3g} T{}", giga / 1000, unit) : fmt::format("{:.3g} G{}", giga, unit));
  };
  if (computes && r.gflops) return text(*r.gflops, "FLOP/s");
  return r.gbytes_per_s ? text(*r.gbytes_per_s, "B/s") : std::string();
}

std::string MarginText(double margin) {
  if (margin == 0) return "exact";
  return margin >= 0.01 ? fmt::format("{:.2f}", margin) : fmt::format("{:.0e}", margin);
}

Column Columns::Of(const Record& r) const {
  if (!devices_) {
    devices_.emplace();
    for (const Record& other : records_) {
      if (!other.device.empty()) (*devices_)[other.backend].insert(PlannedDevice(other));
    }
  }
  const bool several = !r.device.empty() && devices_->at(r.backend).size() > 1;
  return {several ? r.backend + "[" + PlannedDevice(r) + "]" : r.backend, r.implementation};
}

bool Timed(const Record& record) {
  return record.time_median_s && std::isfinite(*record.time_median_s) && *record.time_median_s > 0;
}

bool Comparable(const Record& record) {
  return (record.verdict == "pass" || IsOfWeakerContract(record)) && record.result_class != "suspect" &&
         record.timing_invalid.empty();
}

bool IsOfWeakerContract(const Record& record) {
  return record.verdict == "below_contract" && Timed(record);
}

std::vector<std::pair<std::string, int64_t>> CountOutcomes(const RecordView& records) {
  Counts counts;
  for (const Record& r : records) ++counts[r.outcome];
  return Ordered(counts);
}

bool IsFailure(const Record& record) {
  const Standing standing = StyleOf(record.outcome).standing;
  return standing == Standing::kFailure || standing == Standing::kError;
}

namespace {

// Calls of a program that the record's case stands for, by its tags "calls-12"; 0: it is of no such suite.
int64_t CallsOf(const Record& record) {
  int64_t calls = 0;
  for (const std::string_view tag : Split(record.tags, ',')) calls += CallsOfTag(tag);
  return calls;
}

// A case on a backend: it passes where some implementation does and none fails.
struct CallStatus {
  int64_t calls = 0;
  bool passes = false, fails = false;
};

using CallsByBackend = std::map<std::string, std::map<std::string, CallStatus>>;  // by backend and case

void AddCalls(const Record& r, CallsByBackend& backends) {
  const int64_t calls = CallsOf(r);
  if (calls == 0) return;
  CallStatus& called = backends[r.backend][r.case_id];
  called.calls = calls;
  called.passes = called.passes || r.outcome == "pass";
  called.fails = called.fails || (r.outcome != "pass" && r.outcome != "unsupported");
}

// "; weighted by calls, cpu 100 %, onednn 99.2 % pass", where suites say how often a program calls their cases; else
// "".
std::string CallsText(const CallsByBackend& backends) {
  std::vector<std::string> shares;
  for (const auto& [backend, cases] : backends) {
    double all = 0, passed = 0;
    for (const auto& [id, called] : cases) {
      const auto calls = static_cast<double>(called.calls);
      all += calls, passed += called.passes && !called.fails ? calls : 0;
    }
    const double most = passed == all ? 100 : 99.9;  // else a rare failure is rounded away
    shares.push_back(fmt::format("{} {:.3g} %", backend, std::min(100 * passed / all, most)));
  }
  return shares.empty() ? "" : fmt::format("; weighted by calls, {} pass", fmt::join(shares, ", "));
}

}  // namespace

std::string OutcomeLine(const RecordView& records) {
  Counts counts;
  int64_t invalid = 0, samples = 0;
  CallsByBackend calls;
  for (const Record& r : records) {  // once, as reading many records takes long
    ++counts[r.outcome];
    invalid += r.timing_invalid.empty() ? 0 : 1;
    samples += r.sample_judged ? 1 : 0;
    AddCalls(r, calls);
  }
  std::string line;
  for (const auto& [outcome, count] : Ordered(counts)) {
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, outcome);
  }
  if (invalid > 0) line += fmt::format("; {} cannot be true", Counted(invalid, "time"));
  if (const std::string pooled = PooledCountText(FindPooled(records)); !pooled.empty()) line += "; " + pooled;
  if (samples > 0) line += fmt::format("; {} of a sample of their elements", samples);
  line += CallsText(calls);
  return line.empty() ? "no records" : line;
}

Table VerdictMatrix(const RecordView& records) {
  const Columns columns(records);
  std::vector<std::string> backends;  // and devices, in order of appearance
  std::map<std::pair<std::string, std::string>, std::map<std::string, Cell>> rows;
  for (const Record& r : records) {
    const std::string backend = columns.BackendOf(r);
    if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
    rows[{r.op, r.dtype}][backend].Add(r);
  }
  Table table{{"operator", "dtype"}, {Align::kLeft, Align::kLeft}, {}, Narrow::kColumns, 2};
  table.header.insert(table.header.end(), backends.begin(), backends.end());
  for (auto& [key, cells] : rows) {
    std::vector<std::string> row{key.first, key.second};
    for (const auto& backend : backends) row.push_back(cells[backend].Text());
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table ImplementationTable(const RecordView& records) {
  const Columns columns(records);
  std::map<std::tuple<std::string, std::string, std::string>, Cell> rows;
  for (const Record& r : records) {
    if (!r.implementation.empty()) rows[{r.op, r.dtype, columns.NameOf(r)}].Add(r);
  }
  Table table{{"operator", "dtype", "implementation", "verdicts and largest margin"}, {}, {}};
  for (const auto& [key, cell] : rows) {
    table.rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), cell.Text()});
  }
  return table;
}

Table ReasonsTable(const RecordView& records, size_t limit) {
  std::map<Reason, ReasonCount> counts;
  for (const Record& r : records) {
    if (r.outcome != "unsupported" && r.outcome != "unavailable") continue;
    ReasonCount& count = counts[ReasonOf(r)];
    ++count.results;
    count.operators.insert(r.op);
  }
  std::vector<std::pair<Reason, ReasonCount>> rows(counts.begin(), counts.end());
  if (rows.size() > limit) {
    std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.second.results; });
  }
  Table table{{"results", "backend", "verdict", "reason"}, {Align::kRight}, {}};
  int64_t left_out = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [reason, count] = rows[i];
    if (i < limit) {
      table.rows.push_back({std::to_string(count.results), reason.backend, reason.outcome, ReasonText(reason, count)});
    }
    if (i >= limit) left_out += count.results;
  }
  if (left_out > 0) {
    table.rows.push_back(
        {std::to_string(left_out), "", "", fmt::format("{} more reasons, see results.jsonl", rows.size() - limit)});
  }
  return table;
}

Table InconclusiveTable(const RecordView& records, size_t limit) {
  struct Inconclusive {
    std::string id, reason;  // of the first
    int64_t results = 0;
  };
  std::vector<Inconclusive> cases;
  std::map<std::string, size_t> places;
  for (const Record& r : records) {
    if (r.outcome != "inconclusive") continue;
    const auto [at, is_new] = places.try_emplace(r.case_id, cases.size());
    if (is_new) cases.push_back({r.case_id, r.reason});
    ++cases[at->second].results;
  }
  Table table{{"results", "case", "reason"}, {Align::kRight}, {}};
  for (const Inconclusive& u : std::span(cases).first(std::min(limit, cases.size()))) {
    table.rows.push_back({std::to_string(u.results), u.id, u.reason});
  }
  if (cases.size() > limit) {
    table.rows.push_back({"", fmt::format("{} more cases, see results.jsonl", cases.size() - limit), ""});
  }
  return table;
}

}  // namespace assay

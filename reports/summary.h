// SPDX-License-Identifier: Apache-2.0
// Summaries of the records that all reports share: the verdict matrix, the performance side by side, the failures.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/model/record_list.h"
#include "reports/table.h"

namespace assay {

// "cpu:blocked"; with several devices of one backend "cuda[NVIDIA H200]:direct".
struct Column {
  std::string backend, implementation;  // "cuda[NVIDIA H200]", "direct"
  std::string Name() const { return implementation.empty() ? backend : backend + ":" + implementation; }
};

// Assigns records to columns: a backend with several devices among all records has a column for each.
class Columns {
 public:
  explicit Columns(const RecordView& records) : records_(records) {}
  Column Of(const Record& record) const;
  std::string NameOf(const Record& record) const { return Of(record).Name(); }
  std::string BackendOf(const Record& record) const { return Of(record).backend; }

 private:
  using Devices = std::map<std::string, std::set<std::string>>;  // by backend

  RecordView records_;
  mutable std::optional<Devices> devices_;  // once a column was asked for: reading many records takes long
};

// How a run went: each outcome with its count, those first that this version does not know, which count like errors,
// then the documented order, the gravest first.
std::vector<std::pair<std::string, int64_t>> CountOutcomes(const RecordView& records);
// Its outcome makes the exit code non-zero; so does one that this version does not know.
bool IsFailure(const Record& record);
std::string OutcomeLine(const RecordView& records);  // "312 pass, 4 mismatch; 2 times cannot be true"

bool Timed(const Record& record);
bool Comparable(const Record& record);  // its time may stand beside others: it held, is not suspect, and possible
// Timed, since it holds in the contract that it declares, which is weaker than the required one.
bool IsOfWeakerContract(const Record& record);

// Rows: operator and dtype. Columns: backends (and devices). Cell: "1 mismatch, 11 pass 0.22": what its implementations
// got, with the largest bound margin of those that passed.
Table VerdictMatrix(const RecordView& records);
// VerdictMatrix with a row for each implementation.
Table ImplementationTable(const RecordView& records);

// Rows: cases, the largest work first, at most `limit`. Per backend (and device) the fastest implementation that may be
// compared: median time, rate, share of the roofline and what that case is bound by. Times of suspect results and those
// that cannot be true are struck out.
Table PerformanceTable(const RecordView& records, size_t limit);

// Details of the results in PerformanceTable, in rows: cold beside warm, roofline, launch, transfers, cost and energy.
// Empty columns are left out.
Table LimitsTable(const RecordView& records, size_t limit);

// One line for each time that cannot be true, with the reason; beyond the first ones how many more there are, since one
// wrong ceiling can make all of them so.
inline constexpr size_t kMostInvalidTimes = 20;
std::vector<std::string> InvalidTimes(const RecordView& records);

// One line per distinct reason why something was unsupported or unavailable, with a count; reasons that differ in the
// name of their operator alone share a line, which names all of these. Beyond `limit` the most frequent, and how many
// more there are.
Table ReasonsTable(const RecordView& records, size_t limit = 200);

// One line per case that could not have caught a fault: how many results that concerns, and the first one's reason.
// Beyond `limit` how many more there are.
Table InconclusiveTable(const RecordView& records, size_t limit = 20);

std::string TimeText(double seconds);  // "1.24 ms"
std::string MedianTimeText(
    const Record& record);  // "1.24 ms"; "≤ 1.24 ms" where the host's clock says no more than that
std::string RooflineText(const Record& record);  // "45 % memory"; "" without a roofline
Number EnergyJoules(const Record& record);       // of the host's processors for one execution
std::string RateText(const Record& record);      // "12.3 GFLOP/s" or "≥ 1.8 TB/s", whichever the case is about
std::string MarginText(double margin);

}  // namespace assay

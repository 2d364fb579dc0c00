// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/statistics.h"
#include "harness/tools/candidate/judge_results.h"
#include "reports/compare/run_times.h"

namespace assay {
namespace {

// A candidate may hide much of its work in executions shorter than this (harness/engine/timing/README.md, "Limits").
constexpr double kShortSeconds = 500e-6;

// The group of all results; where there is one result, or one that can be compared, that.
TimeComparison OfAll(const RunComparison& comparison) {
  const auto all = std::ranges::find(comparison.groups, std::string(), &GroupComparison::op);
  if (all != comparison.groups.end()) return all->time;
  if (!comparison.groups.empty()) return comparison.groups.front().time;
  for (const ResultComparison& result : comparison.results) {
    if (result.time.verdict != TimeVerdict::kNotTimed) return result.time;
  }
  return {};
}

// Clears the doubt about a time: MakeUnsure() takes the doubts of all times into account in the end.
Record ClearDoubt(Record record) {
  record.timing_unsure.clear();
  return record;
}

// Replaces the kernel's own times by those of the host's clock around the calls.
Record ByWall(Record record) {
  record.time_median_s = record.time_wall_s;
  record.round_medians_s = record.round_walls_s;
  record.round_slices_s.clear();
  return record;
}

bool Contradict(TimeVerdict a, TimeVerdict b) {
  return (a == TimeVerdict::kFaster && b == TimeVerdict::kSlower) ||
         (a == TimeVerdict::kSlower && b == TimeVerdict::kFaster);
}

// All pairs, compared by one clock.
struct ByOneClock {
  RunTimes times;
  RunComparison comparison;

  void Add(const Record& candidate, const Record& reference) {
    ResultComparison& result = comparison.results.emplace_back();
    result.case_id = candidate.case_id, result.op = candidate.op, result.backend = "candidate";
    times.Add(comparison.results.size() - 1, ClearDoubt(reference), ClearDoubt(candidate), "");
  }
  void Decide() {
    CompareSettings settings;
    settings.same_rounds = true;
    times.Decide(settings, comparison);
  }
};

// Makes both ratios unsure where a time of either side is in doubt: work may have been left to transfers, which neither
// clock counts.
void MakeUnsure(const std::vector<SpeedPair>& pairs, CandidateSpeed& speed) {
  for (const auto& [candidate, reference] : pairs) {
    for (const Record* r : {candidate, reference}) {
      if (r == nullptr || r->timing_unsure.empty()) continue;
      for (TimeComparison* time : {&speed.all, &speed.wall}) {
        time->verdict = TimeVerdict::kUnsure, time->bounded = false;
        time->why = fmt::format("{} {}: {}", r->backend, r->case_id, r->timing_unsure);
      }
      return;
    }
  }
}

}  // namespace

const Record* FastestOf(const std::vector<const Record*>& records) {
  const Record* fastest = nullptr;
  for (const Record* r : records) {
    const bool counts = r->outcome == "pass" && r->timing_invalid.empty() && r->time_median_s.value_or(0) > 0;
    if (counts && (fastest == nullptr || *r->time_median_s < *fastest->time_median_s)) fastest = r;
  }
  return fastest;
}

CandidateSpeed CompareSpeed(const std::vector<SpeedPair>& pairs) {
  CandidateSpeed speed;
  ByOneClock told, wall;
  for (const auto& [candidate, reference] : pairs) {
    if (candidate == nullptr || reference == nullptr) continue;
    told.Add(*candidate, *reference);
    wall.Add(ByWall(*candidate), ByWall(*reference));
    speed.cases.push_back({.case_id = candidate->case_id,
                           .candidate = candidate->implementation,
                           .reference = reference->implementation,
                           .candidate_s = *candidate->time_median_s,
                           .reference_s = *reference->time_median_s,
                           .candidate_wall_s = candidate->time_wall_s.value_or(0),
                           .reference_wall_s = reference->time_wall_s.value_or(0),
                           .time = {}});
  }
  if (speed.cases.empty()) {
    speed.why = "no case has a believable time of both";
    return speed;
  }
  told.Decide(), wall.Decide();
  for (size_t i = 0; i < speed.cases.size(); ++i) speed.cases[i].time = told.comparison.results[i].time;
  speed.all = OfAll(told.comparison), speed.wall = OfAll(wall.comparison);
  speed.notes = told.comparison.notes;
  if (speed.all.verdict == TimeVerdict::kNotTimed || !(speed.all.ratio > 0)) {
    speed.why = "only suspect results were timed, and those have no speed";
    return speed;
  }
  if (Contradict(speed.all.verdict, speed.wall.verdict)) {
    speed.all.why = fmt::format("by the host's clock around the calls the candidate is {}: {:.3g} times as fast",
                                Name(speed.wall.verdict), 1 / speed.wall.ratio);
    speed.notes.push_back(
        fmt::format("{} by what was timed, but {}; see wall_ratio, or judge by larger cases (--case, --suite)",
                    Name(speed.all.verdict), speed.all.why));
    speed.all.verdict = TimeVerdict::kUnsure;
  }
  MakeUnsure(pairs, speed);
  if (std::ranges::all_of(speed.cases, [](const SpeedRatios& s) { return s.reference_s < kShortSeconds; })) {
    speed.notes.push_back(
        "executions of the reference take less than 0.5 ms, of which a candidate may hide 0.1 ms: see wall_ratio, or "
        "judge by larger cases (--case, --suite)");
  }
  return speed;
}

}  // namespace assay

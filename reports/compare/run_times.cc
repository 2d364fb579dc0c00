// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/run_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "harness/core/base/statistics.h"

namespace assay {
namespace {

// A record of before there were rounds has one.
std::vector<double> RoundsOf(const Record& r) {
  if (!r.time_median_s || !(*r.time_median_s > 0)) return {};
  const auto rounds = ParseRounds(r.round_medians_s);
  return rounds.empty() ? std::vector<double>{*r.time_median_s} : rounds;
}

bool HasTime(const Record& r) {
  return r.verdict == "pass" && r.result_class != "suspect" && r.timing_invalid.empty() && r.timing_unsure.empty() &&
         !RoundsOf(r).empty();
}

bool IsInvalid(const Record* r) {
  return r != nullptr && !r->timing_invalid.empty();
}

std::string ClaimText(const Record* r) {
  if (r == nullptr || !r->time_median_s) return "none";
  return IsInvalid(r) ? "INVALID" : "valid";
}

std::string MedianText(const std::vector<double>& seconds) {
  return fmt::format("{:.4g} s", Quantile(seconds, 0.5));
}

bool IsSlower(const TimeComparison& time, const Number& limit_percent) {
  return time.verdict == TimeVerdict::kSlower && limit_percent && (time.ratio - 1) * 100 >= *limit_percent;
}

Change TimeChange(const TimedPair& pair, const TimeComparison& time, const Number& limit_percent) {
  const bool slower = time.verdict == TimeVerdict::kSlower;
  Change change;
  change.aspect = Aspect::kPerformance;
  change.trend = slower ? Trend::kWorse : Trend::kBetter;
  change.field = "time_median_s";
  change.base = MedianText(pair.base), change.now = MedianText(pair.now);
  change.amount = time.ratio;
  change.detail = Name(time.verdict);
  change.regression = IsSlower(time, limit_percent);
  return change;
}

// "10 (--rounds 10)".
std::string RoundsText(size_t rounds) {
  return fmt::format("{0} (--rounds {0})", rounds);
}

// Notes which conclusions the number of rounds does not allow.
void NoteRounds(size_t tested, size_t fewest, size_t most, TimedHow how, RunComparison& comparison) {
  const auto needed = [how](size_t results) {
    return RoundsText(RoundsNeeded(results, how)) + (how == TimedHow::kApart ? " of each run" : "");
  };
  if (most < RoundsNeeded(1, how)) {
    comparison.never_slower = fmt::format("with {} nothing that is slower can be told from chance; it takes {}",
                                          Counted(most, "round"), needed(1));
    comparison.notes.push_back("times: " + comparison.never_slower);
  } else if (fewest < RoundsNeeded(tested, how)) {
    comparison.notes.push_back(
        fmt::format("times: with {} one slow result among {} cannot be told from chance; it takes {}",
                    Counted(fewest, "round"), tested, needed(tested)));
  }
}

void NoteTimes(const std::vector<TimeComparison>& times, TimedHow how, RunComparison& comparison) {
  std::vector<std::string>& notes = comparison.notes;
  size_t tested = 0, decided = 0, fewest = SIZE_MAX, most = 0;
  for (const TimeComparison& time : times) {
    decided += time.verdict == TimeVerdict::kSlower || time.verdict == TimeVerdict::kFaster;
    if (!time.p_slower) continue;
    ++tested;
    fewest = std::min({fewest, time.base_rounds, time.new_rounds});
    most = std::max(most, std::min(time.base_rounds, time.new_rounds));
  }
  if (!times.empty() && tested == 0) {
    notes.push_back(fmt::format("times: none can be compared: {}", times[0].why));
  } else if (tested > 0) {
    NoteRounds(tested, fewest, most, how, comparison);
  }
  if (decided > 0 && how == TimedHow::kApart) {
    notes.push_back(
        "times: the runs were timed one after the other, so a machine that changed in between counts as a change; "
        "--plugin base=A.so --plugin new=B.so --rounds N and --builds base,new leave it out");
  }
}

// Holm's rule decides one group at a time: the first of them needs the smallest p.
void NoteGroups(const std::vector<TimeComparison>& groups, RunComparison& comparison) {
  const size_t needed = RoundsNeeded(groups.size(), TimedHow::kInTurns);
  size_t most = 0;
  for (const TimeComparison& group : groups) most = std::max(most, group.base_rounds);
  if (most == 0 || most >= needed) return;
  comparison.notes.push_back(fmt::format("times: with {} none of {} can be told to be slower as a whole; it takes {}",
                                         Counted(most, "round"), Counted(groups.size(), "group"), RoundsText(needed)));
}

}  // namespace

std::vector<double> RunTimes::ListCountedRounds(const Record& record) {
  return HasTime(record) ? RoundsOf(record) : std::vector<double>();
}

void RunTimes::Add(size_t result, const Record& base, const Record& now, std::string not_comparable) {
  if (!HasTime(base) || !HasTime(now)) return;
  results_.push_back(result);
  pairs_.push_back({RoundsOf(base), RoundsOf(now), SliceDifferences(base.round_slices_s, now.round_slices_s),
                    std::move(not_comparable)});
}

bool RunTimes::MarkInvalid(const Record* base, const Record& now, ResultComparison& result) {
  if (!IsInvalid(base) && !IsInvalid(&now)) return false;
  result.time = {};
  result.time.verdict = TimeVerdict::kInvalid;
  for (const auto& [name, record] : {std::pair("base", base), std::pair("new", &now)}) {
    if (!IsInvalid(record)) continue;
    result.time.why += fmt::format("{}{}: {}", result.time.why.empty() ? "" : "; ", name, record->timing_invalid);
  }
  Change& change = result.changes.emplace_back();
  change.aspect = Aspect::kInvalidTime;
  change.trend = IsInvalid(base) == IsInvalid(&now) ? Trend::kNeutral
                 : IsInvalid(&now)                  ? Trend::kWorse
                                                    : Trend::kBetter;
  change.field = "timing_invalid";
  change.base = ClaimText(base), change.now = ClaimText(&now);
  change.detail = result.time.why;
  return true;
}

bool RunTimes::MarkUnsure(const Record& base, const Record& now, ResultComparison& result) {
  for (const auto& [name, record] : {std::pair("base", &base), std::pair("new", &now)}) {
    if (record->timing_unsure.empty()) continue;
    result.time = {};
    result.time.verdict = TimeVerdict::kUnsure;
    result.time.why = fmt::format("{}: {}", name, record->timing_unsure);
    return true;
  }
  return false;
}

void RunTimes::Decide(const CompareSettings& settings, RunComparison& comparison) const {
  const TimedHow how = settings.same_rounds ? TimedHow::kInTurns : TimedHow::kApart;
  const std::vector<TimeComparison> times = CompareTimes(pairs_, how, settings.minimum_effect);
  for (size_t i = 0; i < times.size(); ++i) {
    ResultComparison& result = comparison.results[results_[i]];
    result.time = times[i];
    if (times[i].verdict != TimeVerdict::kSlower && times[i].verdict != TimeVerdict::kFaster) continue;
    const RegressionLimits limits =
        settings.policy.For(result.op, result.backend, result.implementation, result.case_id);
    result.changes.push_back(TimeChange(pairs_[i], times[i], limits.slower_percent));
  }
  if (times.empty() && settings.policy.LimitsSpeed()) {
    comparison.notes.push_back("times: no result that passes is timed in both runs, and the limit of speed holds none");
  }
  NoteTimes(times, how, comparison);
  if (how == TimedHow::kInTurns) DecideGroups(settings, comparison);
}

void RunTimes::DecideGroups(const CompareSettings& settings, RunComparison& comparison) const {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<size_t>> members;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (!pairs_[i].not_comparable.empty()) continue;
    const ResultComparison& result = comparison.results[results_[i]];
    for (const std::string& op : {std::string(), result.op}) members[{result.backend, result.device, op}].push_back(i);
  }
  // One result is decided by itself, and the only operator of a backend is all that it has.
  std::erase_if(members, [&](const auto& group) {
    const auto& [backend, device, op] = group.first;
    const auto after = members.upper_bound(group.first);
    const bool one_op = op.empty() && after->second.size() == group.second.size();
    return group.second.size() < 2 || one_op;
  });
  std::vector<std::vector<size_t>> groups;
  for (const auto& [key, pairs] : members) groups.push_back(pairs);
  const std::vector<TimeComparison> times = CompareGroups(pairs_, groups, settings.minimum_effect);
  NoteGroups(times, comparison);
  for (const auto& [key, pairs] : members) {
    const auto& [backend, device, op] = key;
    GroupComparison& group = comparison.groups.emplace_back();
    group.backend = backend, group.device = device, group.op = op, group.results = pairs.size();
    group.time = times[comparison.groups.size() - 1];
    const RegressionLimits limits = settings.policy.For(op, backend, "", "");
    group.regression = !op.empty() && IsSlower(group.time, limits.slower_percent);
  }
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "harness/core/base/statistics.h"
#include "reports/compare/change_point.h"
#include "reports/compare/compare_policy.h"
#include "reports/compare/compare_records.h"
#include "reports/compare/run_history.h"
#include "reports/compare/run_times.h"

namespace assay {
namespace {

struct Member {
  size_t run = 0;
  const Record* record = nullptr;
};
using Series = std::vector<Member>;  // one result, in the order of runs
using Key = std::tuple<std::string, std::string, std::string, std::string, size_t>;

// Backends that never had two devices in a run: their only device may have had several names.
std::set<std::string> ListSingleDevices(const std::vector<RunOfHistory>& runs) {
  std::map<std::string, bool> single;
  for (const RunOfHistory& r : runs) {
    std::map<std::string, std::set<std::string>> devices;
    for (const Record& record : r.run.records) devices[record.backend].insert(PlannedDevice(record));
    for (const auto& [backend, names] : devices) {
      single.try_emplace(backend, true).first->second &= names.size() == 1;
    }
  }
  std::set<std::string> names;
  for (const auto& [backend, is_single] : single) {
    if (is_single) names.insert(backend);
  }
  return names;
}

// Several records of one key in a run are told apart by their order.
std::map<Key, Series> GatherSeries(const std::vector<RunOfHistory>& runs) {
  const std::set<std::string> single = ListSingleDevices(runs);
  std::map<Key, Series> all;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::map<Key, size_t> met;
    for (const Record& r : runs[i].run.records) {
      if (!HasResult(r) || r.implementation.empty()) continue;
      Key key{r.case_id, r.backend, single.contains(r.backend) ? "" : PlannedDevice(r), r.implementation, 0};
      std::get<4>(key) = met[key]++;
      all[key].push_back({i, &r});
    }
  }
  return all;
}

HistoryChange MakeChange(const Member& before, const Member& now, Change change) {
  const Record& r = *now.record;
  const std::string device = PlannedDevice(r);
  return {now.run,           before.run, r.case_id,        r.op,
          r.backend,         device,     r.implementation, r.backend + ":" + r.implementation,
          std::move(change), r.reproduce};
}

// The worst bound margin of all outputs; null where there is none.
Number WorstMargin(const Record& r) {
  if (r.outputs.empty()) return r.bound_margin;
  Number worst;
  for (const OutputRecord& output : r.outputs) {
    if (output.bound_margin && !(worst && *worst >= *output.bound_margin)) worst = output.bound_margin;
  }
  return worst;
}

// Follows one margin from run to run.
class MarginWatch {
 public:
  explicit MarginWatch(RunHistory& history) : history_(history) {}

  void Take(const Member& now) {
    const Number margin = WorstMargin(*now.record);
    if (!margin || std::isnan(*margin)) return;
    // Below the floor, ratios say nothing.
    const double value = std::max(*margin, RegressionLimits().margin_floor);
    if (values_ == 0 || last_.record->input_hash != now.record->input_hash) {
      Restart(value);
    } else if (const double growth = GrowthOf(value); growth != 1 && IsKnown(now)) {
      Report(now, *margin, growth);
      Restart(value);
    } else {
      low_ = std::min(low_, value), high_ = std::max(high_, value), ++values_;
    }
    last_ = now, last_margin_ = *margin;
  }

 private:
  void Restart(double value) { low_ = high_ = value, values_ = 1; }

  // One value of a result that changes by itself does not tell by how much.
  bool IsKnown(const Member& now) const {
    return values_ > 1 || (last_.record->deterministic.value_or(true) && now.record->deterministic.value_or(true));
  }

  // How far the value lies beyond the range, 1 where that is not more than the range is wide.
  double GrowthOf(double value) const {
    const double least = std::max(kReportedMarginGrowth, high_ / low_);
    if (value / high_ >= least) return value / high_;
    return low_ / value >= least ? value / low_ : 1;
  }

  void Report(const Member& now, double margin, double growth) {
    Change change{
        Aspect::kMargin, growth > 1 ? Trend::kWorse : Trend::kBetter, "bound_margin", "", "", growth, "", false, false};
    change.base = fmt::format("{:.3g}", last_margin_), change.now = fmt::format("{:.3g}", margin);
    if (values_ > 1) change.detail = fmt::format("it was {:.3g} to {:.3g} in {} runs", low_, high_, values_);
    history_.changes.push_back(MakeChange(last_, now, std::move(change)));
  }

  RunHistory& history_;
  Member last_;
  double last_margin_ = 0, low_ = 0, high_ = 0;
  size_t values_ = 0;
};

// Times of one result that can be compared with its newest.
struct TimedSeries {
  Series members;
  std::vector<double> medians;
};

// Whether both were timed by one clock, on one host and device, and believed by one launch time.
bool AreTimedAlike(const RunOfHistory& a, const Record& first, const RunOfHistory& b, const Record& second) {
  if (first.timing_clock != second.timing_clock || PlannedDevice(first) != PlannedDevice(second)) return false;
  if (a.run.launches_us != b.run.launches_us) return false;
  return first.timing_clock == "device" || (a.run.host == b.run.host && !a.run.host.empty());
}

TimedSeries GatherTimes(const std::vector<RunOfHistory>& runs, const Series& series, size_t& left_out) {
  TimedSeries timed;
  const Member* newest = nullptr;
  for (size_t i = series.size(); i-- > 0;) {
    const Member& member = series[i];
    const std::vector<double> rounds = RunTimes::ListCountedRounds(*member.record);
    if (rounds.empty()) continue;
    if (newest == nullptr) newest = &member;
    if (!AreTimedAlike(runs[member.run], *member.record, runs[newest->run], *newest->record)) {
      ++left_out;
      continue;
    }
    timed.members.insert(timed.members.begin(), member);
    timed.medians.insert(timed.medians.begin(), Quantile(rounds, 0.5));
  }
  return timed;
}

std::string DescribeTimes(const std::vector<TimedSeries>& timed, size_t changes) {
  if (timed.empty()) return "times: no result that passes is timed in two runs that can be compared";
  size_t longest = 0;
  for (const TimedSeries& series : timed) longest = std::max(longest, series.members.size());
  const size_t one = CountRunsNeeded(1), all = CountRunsNeeded(timed.size());
  if (longest < one) {
    return fmt::format("times: not enough runs to tell: {} timed, and it takes {}", longest, one);
  }
  std::string text = fmt::format("times: {} in {}", Counted(static_cast<int64_t>(changes), "change"),
                                 Counted(static_cast<int64_t>(timed.size()), "timed result"));
  if (longest < all) {
    text +=
        fmt::format("; {} runs are not enough to tell a change of one result among them, which takes {}", longest, all);
  }
  return text;
}

void AddTimes(const std::vector<RunOfHistory>& runs, const std::map<Key, Series>& all, double minimum_effect,
              RunHistory& history) {
  std::vector<TimedSeries> timed;
  std::vector<std::vector<double>> medians;
  size_t left_out = 0;
  for (const auto& [key, series] : all) {
    TimedSeries one = GatherTimes(runs, series, left_out);
    if (one.members.size() < 2) continue;
    medians.push_back(one.medians);
    timed.push_back(std::move(one));
  }
  const std::vector<ChangePoint> found = FindChangePoints(medians, minimum_effect);
  for (const ChangePoint& point : found) {
    const TimedSeries& series = timed[point.series];
    const auto middle = series.medians.begin() + static_cast<std::ptrdiff_t>(point.first);
    const bool slower = point.time.verdict == TimeVerdict::kSlower;
    Change change{Aspect::kPerformance,
                  slower ? Trend::kWorse : Trend::kBetter,
                  "time_median_s",
                  "",
                  "",
                  point.time.ratio,
                  "",
                  false,
                  false};
    // The runs between this change and its neighbours, or the ends, are in the test; these are those beside it.
    change.base = fmt::format("{:.4g} s", *(middle - 1)), change.now = fmt::format("{:.4g} s", *middle);
    change.detail = fmt::format("{}: {} runs before, {} from there on", Name(point.time.verdict),
                                point.time.base_rounds, point.time.new_rounds);
    history.changes.push_back(
        MakeChange(series.members[point.first - 1], series.members[point.first], std::move(change)));
  }
  history.times = DescribeTimes(timed, found.size());
  if (left_out > 0) {
    history.notes.push_back(
        fmt::format("times: {} of another host, device, clock or --launch-us than the newest are left out",
                    Counted(static_cast<int64_t>(left_out), "time")));
  }
}

}  // namespace

void AddMarginsAndTimes(const std::vector<RunOfHistory>& runs, double minimum_effect, RunHistory& history) {
  const std::map<Key, Series> all = GatherSeries(runs);
  history.results = all.size();
  for (const auto& [key, series] : all) {
    MarginWatch watch(history);
    for (const Member& member : series) watch.Take(member);
  }
  AddTimes(runs, all, minimum_effect, history);
}

}  // namespace assay

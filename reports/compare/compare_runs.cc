// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/compare/compare_records.h"
#include "reports/compare/match_records.h"
#include "reports/compare/run_times.h"

namespace assay {
namespace {

bool HasFailed(const Record& r) {
  return HasResult(r) && r.outcome != "pass" && r.outcome != "inconclusive" && r.outcome != "unexpected_pass" &&
         r.outcome != "known_failure" && r.outcome != "known_flake";
}

Change MakeChange(Aspect aspect, Trend trend, std::string base, std::string now, std::string detail) {
  return {aspect, trend, "outcome", std::move(base), std::move(now), std::nullopt, std::move(detail), false, false};
}

class RunComparer {
 public:
  RunComparer(const RunToCompare& base, const RunToCompare& now, const CompareSettings& settings)
      : base_(base), now_(now), settings_(settings) {}

  Result<RunComparison> Run() {
    out_.base = base_.name, out_.now = now_.name;
    if (auto same = CheckSchemas(); !same) return tl::unexpected(same.error());
    std::vector<std::string> renamed;
    const std::vector<MatchedPlace> places = MatchRecords(base_.records, now_.records, renamed);
    for (const std::string& text : renamed) {
      out_.notes.push_back("the device has another name, and is taken for the same one: " + text);
    }
    NoteVersions("library", &Record::library_version);
    NoteVersions("driver", &Record::driver);
    NoteVersions("assay", &Record::tool_version);
    for (const Record& r : now_.records) {
      cases_now_.insert(r.case_id);
      if (r.backend == settings_.harness_backend) ran_nowhere_.emplace(r.case_id, &r);
    }
    for (const MatchedPlace& place : places) devices_[place.backend].insert(place.device);
    FindRedefined();
    for (const MatchedPlace& place : places) ComparePlace(place);
    if (!any_in_common_) return NothingInCommon();
    NoteRepeated();
    NoteReordered();
    times_.Decide(settings_, out_);
    return std::move(out_);
  }

 private:
  Status CheckSchemas() const {
    std::set<int64_t> versions;
    for (const auto* run : {&base_, &now_}) {
      for (const Record& r : run->records) versions.insert(r.schema_version);
    }
    if (versions.size() < 2) return {};
    return UsageError(
        fmt::format("the records of {} and {} have schema versions {} and {}: run the older one again with "
                    "this assay",
                    base_.name, now_.name, *versions.begin(), *versions.rbegin()));
  }

  static std::string Some(const std::vector<Record>& records, std::string Record::*field) {
    std::set<std::string> names;
    for (const Record& r : records) names.insert(r.*field);
    names.erase("");  // unsupported results have no implementation
    return names.empty() ? "none" : fmt::format("{} in all, such as {}", names.size(), *names.begin());
  }

  tl::unexpected<Error> NothingInCommon() const {
    const auto holds = [](const RunToCompare& run) {
      return fmt::format("{}: cases {}; backends {}; implementations {}", run.name, Some(run.records, &Record::case_id),
                         Some(run.records, &Record::backend), Some(run.records, &Record::implementation));
    };
    return UsageError(fmt::format(
        "the runs have no result in common, which is one case, backend, device and implementation in both.\n  {}\n  "
        "{}\nCompare runs of the same suite and plugins; a plugin gets the name of another with --plugin NAME=PATH",
        holds(base_), holds(now_)));
  }

  void NoteVersions(const char* what, std::string Record::*field) {
    std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> versions;
    for (const Record& r : base_.records) {
      if (!(r.*field).empty()) versions[r.backend].first.insert(r.*field);
    }
    for (const Record& r : now_.records) {
      if (!(r.*field).empty()) versions[r.backend].second.insert(r.*field);
    }
    std::set<std::string> said;
    for (const auto& [backend, both] : versions) {
      const auto& [before, after] = both;
      if (before.empty() || after.empty() || before == after) continue;
      const bool own = field == &Record::tool_version;
      const std::string text = fmt::format("{}{}: {} -> {}", own ? "" : backend + " ", what, fmt::join(before, ", "),
                                           fmt::join(after, ", "));
      if (said.insert(text).second) out_.notes.push_back(text);
    }
  }

  // A record that says what became of a result that is not there, a failure first; null when none does.
  const Record* StatusOf(const MatchedPlace& place) const {
    const auto& others = place.now.others;
    const auto failure = std::ranges::find_if(others, [](const Record* r) { return HasFailed(*r); });
    if (failure != others.end()) return *failure;
    if (!others.empty()) return others[0];
    const auto it = ran_nowhere_.find(place.case_id);
    return it == ran_nowhere_.end() ? nullptr : it->second;
  }

  void ComparePlace(const MatchedPlace& place) {
    static const std::vector<const Record*> kNone;
    for (const auto& [name, before] : place.base.by_implementation) {
      const auto it = place.now.by_implementation.find(name);
      CompareAll(place, before, it == place.now.by_implementation.end() ? kNone : it->second);
    }
    for (const auto& [name, after] : place.now.by_implementation) {
      if (!place.base.by_implementation.contains(name)) CompareAll(place, kNone, after);
    }
    CompareOthers(place);
  }

  void CompareAll(const MatchedPlace& place, const std::vector<const Record*>& base,
                  const std::vector<const Record*>& now) {
    CountRepeated(place, base, now);
    for (const auto& [before, after] : PairRecords(base, now)) {
      if (after == nullptr) {
        CompareGone(place, *before, StatusOf(place));
      } else if (before == nullptr) {
        CompareAppeared(place, *after);
      } else {
        CompareBoth(place, *before, *after);
      }
    }
  }

  // Records without an implementation. Those that stand for results of the other run were compared with them.
  void CompareOthers(const MatchedPlace& place) {
    CountRepeated(place, place.base.others, place.now.others);
    for (const auto& [before, after] : PairRecords(place.base.others, place.now.others)) {
      if (before != nullptr && after != nullptr) {
        CompareBoth(place, *before, *after);
      } else if (after != nullptr && place.base.by_implementation.empty() && HasFailed(*after)) {
        CompareAppeared(place, *after);
      } else if (before != nullptr && HasResult(*before) && place.now.by_implementation.empty() &&
                 place.backend != settings_.harness_backend) {
        CompareGone(place, *before, place.now.others.empty() ? StatusOf(place) : nullptr);
      }
    }
  }

  void CountRepeated(const MatchedPlace& place, const std::vector<const Record*>& base,
                     const std::vector<const Record*>& now) {
    if (base.size() < 2 && now.size() < 2) return;
    if (repeated_++ == 0) first_repeated_ = fmt::format("{} on {}", place.case_id, place.backend);
  }

  void NoteRepeated() {
    if (repeated_ == 0) return;
    out_.notes.push_back(
        fmt::format("several records have the same case, backend, device and implementation ({} such, the first {}): "
                    "those of equal inputs are compared with each other, the others in their order",
                    repeated_, first_repeated_));
  }

  ResultComparison& NewResult(const MatchedPlace& place, const Record& r) {
    ResultComparison& result = out_.results.emplace_back();
    result.case_id = r.case_id, result.op = r.op, result.dtype = r.dtype;
    result.backend = r.backend, result.device = place.device, result.implementation = r.implementation;
    result.column = devices_[r.backend].size() > 1 ? fmt::format("{}[{}]", r.backend, place.device) : r.backend;
    if (!r.implementation.empty()) result.column += ":" + r.implementation;
    result.reproduce = r.reproduce;
    return result;
  }

  RegressionLimits LimitsFor(const Record& r) const {
    return settings_.policy.For(r.op, r.backend, r.implementation, r.case_id);
  }

  // Their results are of two formulas, so that none says anything of the other.
  void FindRedefined() {
    for (const auto& [op, digest] : base_.definitions) {
      const auto now = now_.definitions.find(op);
      if (now == now_.definitions.end() || now->second == digest) continue;
      redefined_.insert(op);
      out_.notes.push_back(fmt::format(
          "the definition of {} differs between the runs (digests {} and {}), so its results are not compared; run "
          "both with one file of --operators",
          op, digest, now->second));
    }
  }

  void CompareBoth(const MatchedPlace& place, const Record& before, const Record& after) {
    any_in_common_ = true;
    ResultComparison& result = NewResult(place, after);
    const RegressionLimits limits = LimitsFor(after);
    if (redefined_.contains(after.op) && HasResult(before)) {
      result.changes.push_back(MakeChange(Aspect::kLost, Trend::kWorse, before.outcome, "not comparable",
                                          "the definition of its operator differs between the runs"));
      result.changes.back().incomplete = limits.lost_results;
    } else if (HasResult(before) && HasResult(after)) {
      result.in_both = true;
      result.changes = CompareRecords(before, after, limits);
      ExplainBits(before, after, limits, result.changes);
      if (!RunTimes::MarkInvalid(&before, after, result) && !RunTimes::MarkUnsure(before, after, result)) {
        times_.Add(out_.results.size() - 1, before, after, WhyTimesDiffer(place, before, after));
      }
    } else if (HasResult(before)) {
      result.changes.push_back(Gone(before, after, limits));
    } else if (HasResult(after)) {
      result.changes.push_back(Appeared(&before, after, limits));
    } else {
      result.in_both = true;  // neither ran
    }
  }

  void ExplainBits(const Record& before, const Record& after, const RegressionLimits& limits,
                   std::vector<Change>& changes) {
    const auto bits = std::ranges::find(changes, "output_hash", &Change::field);
    if (bits == changes.end()) return;
    ++other_bits_;
    const SumPassport *base = base_.passports.Find(before), *now = now_.passports.Find(after);
    if (base == nullptr || now == nullptr) return;
    const BitsExplanation explained = ExplainOtherBits(*base, *now);
    bits->detail = explained.text;
    bits->reordered = explained.is_reordered;
    reordered_ += explained.is_reordered;
    if (explained.is_reordered && !limits.bits_reordered) bits->regression = false;
  }

  void NoteReordered() {
    if (reordered_ == 0) return;
    out_.notes.push_back(fmt::format("of {} results with other bits {} have the same arithmetic in another order",
                                     other_bits_, reordered_));
  }

  // A time that was believed because a launch might take long is not known to be one that the other run would believe.
  std::string ExplainLaunches(const std::string& backend) const {
    const auto text = [&](const RunToCompare& run) {
      const auto it = run.launches_us.find(backend);
      return it == run.launches_us.end() ? std::string("none") : fmt::format("{:g}", it->second);
    };
    const std::string before = text(base_), after = text(now_);
    if (before == after) return "";
    return fmt::format("times were believed by different --launch-us: {} and {}", before, after);
  }

  // Why times say nothing of the code; "" when they do.
  std::string WhyTimesDiffer(const MatchedPlace& place, const Record& before, const Record& after) const {
    if (before.timing_clock != after.timing_clock) {
      return "one was timed by the device's clock, the other by the host's";
    }
    if (place.device_renamed) return "the device has another name";
    if (std::string why = ExplainLaunches(place.backend); !why.empty()) return why;
    if (after.timing_clock == "device" || base_.host == now_.host) return "";
    return base_.host.empty() || now_.host.empty()
               ? "the host of one run is not known: it has no environment.json that says it"
               : "the hosts differ in processor, cores or variables";
  }

  // `status` says what became of it, where a record does; else it is null.
  void CompareGone(const MatchedPlace& place, const Record& before, const Record* status) {
    if (!HasResult(before)) return;
    ResultComparison& result = NewResult(place, before);
    const RegressionLimits limits = LimitsFor(before);
    if (status != nullptr) {
      any_in_common_ = true;
      result.changes.push_back(Gone(before, *status, limits));
      return;
    }
    const bool others = !place.now.by_implementation.empty();
    if (others && now_.offers_known) {
      Change change = MakeChange(Aspect::kSupport, Trend::kWorse, before.outcome, "not offered",
                                 "the backend does not offer this implementation any more, or --impl left it out");
      change.regression = limits.support_lost;
      result.changes.push_back(std::move(change));
      return;
    }
    const char* why = others ? "the new run does not say whether its backend still offers this implementation"
                      : cases_now_.contains(place.case_id) ? "the backend was not run on this case"
                                                           : "the case was not run";
    Change change = MakeChange(Aspect::kLost, Trend::kWorse, before.outcome, "no record", why);
    change.incomplete = limits.lost_results;
    result.changes.push_back(std::move(change));
  }

  static Change Gone(const Record& before, const Record& status, const RegressionLimits& limits) {
    if (status.verdict == "missing") {
      Change change = MakeChange(Aspect::kLost, Trend::kWorse, before.outcome, "missing", status.reason);
      change.incomplete = limits.lost_results;
      return change;
    }
    const bool support = !HasResult(status);
    Change change = MakeChange(support ? Aspect::kSupport : Aspect::kVerdict, Trend::kWorse, before.outcome,
                               status.outcome, status.reason);
    change.regression = support ? limits.support_lost : limits.verdict_worse;
    return change;
  }

  void CompareAppeared(const MatchedPlace& place, const Record& after) {
    if (!HasResult(after)) return;
    ResultComparison& result = NewResult(place, after);
    const auto& others = place.base.others;  // why there was no implementation
    const Record* before = others.empty() || after.implementation.empty() ? nullptr : others[0];
    result.changes.push_back(Appeared(before, after, LimitsFor(after)));
    RunTimes::MarkInvalid(nullptr, after, result);
  }

  // `before` says why the base has no result; null when the base does not have the case or the backend.
  static Change Appeared(const Record* before, const Record& after, const RegressionLimits& limits) {
    const bool was_unsupported = before != nullptr && !HasResult(*before) && before->verdict != "missing";
    const bool failed = HasFailed(after);
    Change change =
        MakeChange(was_unsupported ? Aspect::kSupport : Aspect::kNew, failed ? Trend::kWorse : Trend::kBetter,
                   before == nullptr ? "" : before->outcome, after.outcome, failed ? after.reason : "");
    // A case that was unsupported and now gives wrong results got worse.
    change.regression = failed && (was_unsupported ? limits.verdict_worse : limits.new_failure);
    return change;
  }

  const RunToCompare& base_;
  const RunToCompare& now_;
  const CompareSettings& settings_;
  std::set<std::string> cases_now_;
  std::map<std::string, std::set<std::string>> devices_;  // by backend
  std::map<std::string, const Record*> ran_nowhere_;
  std::set<std::string> redefined_;  // operators
  bool any_in_common_ = false;
  size_t other_bits_ = 0, reordered_ = 0;  // results
  size_t repeated_ = 0;                    // keys that several records of a run have
  std::string first_repeated_;
  RunTimes times_;
  RunComparison out_;
};

}  // namespace

Result<RunComparison> CompareRuns(const RunToCompare& base, const RunToCompare& now, const CompareSettings& settings) {
  return RunComparer(base, now, settings).Run();
}

}  // namespace assay

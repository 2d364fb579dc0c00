// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace assay {
namespace {

using CaseOnBackend = std::pair<std::string, std::string>;

// Changes that say when a result changed. A case that was not run, or is new, says nothing. Margins and times are told
// by all runs together.
bool IsOfHistory(const Change& change, bool is_known_case) {
  switch (change.aspect) {
    case Aspect::kLost:
      return change.now == "missing";
    case Aspect::kNew:
      return is_known_case || change.trend == Trend::kWorse;
    case Aspect::kMargin:
    case Aspect::kPerformance:
    case Aspect::kInvalidTime:
      return false;
    default:
      return true;
  }
}

// The last records of each case on each backend, from whichever run had them last.
class LastRecords {
 public:
  void Take(size_t run, const RunToCompare& from) {
    std::set<CaseOnBackend> met;
    for (const Record& r : from.records) {
      if (r.verdict == "missing") continue;
      const CaseOnBackend place{r.case_id, r.backend};
      Entry& entry = last_[place];
      if (met.insert(place).second) entry = {run, {}};
      entry.records.push_back(&r);
    }
    for (const auto& [op, digest] : from.definitions) definitions_[op] = digest;
  }

  RunToCompare MakeBase() const {
    RunToCompare base{.name = "the runs before", .records = {}, .definitions = definitions_};
    for (const auto& [place, entry] : last_) {
      for (const Record* r : entry.records) base.records.push_back(*r);
    }
    return base;
  }

  // The run that had the case on the backend last.
  std::optional<size_t> FindRun(const CaseOnBackend& place) const {
    const auto it = last_.find(place);
    return it == last_.end() ? std::nullopt : std::optional(it->second.run);
  }

 private:
  struct Entry {
    size_t run = 0;
    std::vector<const Record*> records;
  };
  std::map<CaseOnBackend, Entry> last_;
  std::map<std::string, std::string> definitions_;
};

Status CheckSchemas(const std::vector<RunOfHistory>& runs) {
  const int64_t newest = runs.back().run.records.front().schema_version;
  for (const RunOfHistory& r : runs) {
    for (const Record& record : r.run.records) {
      if (record.schema_version == newest) continue;
      return UsageError(
          fmt::format("{} has records of schema version {}, the newest run has {}; leave it out, or run it again",
                      r.run.name, record.schema_version, newest));
    }
  }
  return {};
}

void AddChanges(const RunComparison& comparison, size_t run, const LastRecords& before, RunHistory& history) {
  for (const ResultComparison& r : comparison.results) {
    const std::optional<size_t> last = before.FindRun({r.case_id, r.backend});
    for (const Change& change : r.changes) {
      if (!IsOfHistory(change, last.has_value())) continue;
      history.changes.push_back({run, last.value_or(run - 1), r.case_id, r.op, r.backend, r.device, r.implementation,
                                 r.column, change, r.reproduce});
    }
  }
}

void CountChanged(RunHistory& history) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> changed;
  for (const HistoryChange& c : history.changes) changed.emplace(c.case_id, c.backend, c.device, c.implementation);
  history.changed = changed.size();
}

}  // namespace

bool RunHistory::IsNewestWorse() const {
  return std::ranges::any_of(
      changes, [&](const HistoryChange& c) { return c.run + 1 == runs.size() && c.change.trend == Trend::kWorse; });
}

void SortByStart(std::vector<RunOfHistory>& runs, std::string& note) {
  const auto without = std::ranges::find(runs, "", &RunOfHistory::started);
  if (without != runs.end()) {
    note = fmt::format(
        "{} does not say when it began (environment.json), so the runs are in the order in which they "
        "were given",
        without->run.name);
    return;
  }
  std::ranges::stable_sort(runs, {}, &RunOfHistory::started);
}

Result<RunHistory> FindHistory(const std::vector<RunOfHistory>& runs, const CompareSettings& settings) {
  if (auto same = CheckSchemas(runs); !same) return tl::unexpected(same.error());
  RunHistory history;
  LastRecords last;
  std::string nothing;
  size_t compared = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    history.runs.push_back(runs[i].run.name);
    history.started.push_back(runs[i].started);
    if (i > 0) {
      if (auto comparison = CompareRuns(last.MakeBase(), runs[i].run, settings)) {
        AddChanges(*comparison, i, last, history);
        ++compared;
      } else {
        nothing = comparison.error().message;
        history.notes.push_back(fmt::format("{} has no result in common with the runs before it", runs[i].run.name));
      }
    }
    last.Take(i, runs[i].run);
  }
  if (compared == 0) return UsageError(nothing);
  AddMarginsAndTimes(runs, settings.minimum_effect, history);
  std::ranges::stable_sort(history.changes, {}, [](const HistoryChange& c) { return std::pair(c.run, c.before); });
  for (const HistoryChange& c : history.changes) {
    const auto [it, is_new] = history.differences.try_emplace({c.run, c.before});
    if (is_new) it->second = ListDifferences(runs[c.before].properties, runs[c.run].properties);
  }
  CountChanged(history);
  return history;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Many runs, the oldest first: in which of them each result changed. Verdict, class, contract, support and output bits
// are compared with the last run before that has the case on that backend, as CompareRuns does. A margin changed where
// it leaves the range of the runs since its last change by more than that range is wide. Times change where
// change_point.h finds it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/run_comparison.h"
#include "reports/compare/compare_runs.h"

namespace assay {

// Tells in what two runs differ that their results may depend on: versions, drivers, processor, options.
//
// Properties that results may depend on, by name: "cpu", "onednn driver", "variable OMP_NUM_THREADS", "options".
using RunProperties = std::map<std::string, std::string>;

// From the text of environment.json; none where it holds no object.
RunProperties ReadRunProperties(const std::string& environment_json);

// "cpu: A -> B" for each that differs, "not set" where one run lacks it.
std::vector<std::string> ListDifferences(const RunProperties& before, const RunProperties& now);

struct RunOfHistory {
  RunToCompare run;
  RunProperties properties;
  std::string started;  // as environment.json says; "" if it does not
};

struct HistoryChange {
  size_t run = 0, before = 0;  // the run with which it came, and the last one before that has the result
  std::string case_id, op, backend, device, implementation, column;
  Change change;
  std::string reproduce;
};

struct RunHistory {
  std::vector<std::string> runs, started;                                     // the oldest first
  std::vector<HistoryChange> changes;                                         // in the order of runs
  std::map<std::pair<size_t, size_t>, std::vector<std::string>> differences;  // of the two runs of each change
  size_t results = 0, changed = 0;  // cases on a backend's device with an implementation, in any run
  std::string times;                // what can be told of times, in a sentence
  std::vector<std::string> notes;

  bool IsNewestWorse() const;
};

// Sorts the runs by their start if each has one, and says in `note` if not.
void SortByStart(std::vector<RunOfHistory>& runs, std::string& note);

// Error: schema versions differ, or no result is in two of the runs. Precondition: at least two runs.
Result<RunHistory> FindHistory(const std::vector<RunOfHistory>& runs, const CompareSettings& settings);

struct HistoryStyle {
  bool colour = false;
  size_t rows = 50;  // of each run
  size_t width = 0;  // of the terminal; 0: lines may have any length
};
std::string HistoryConsole(const RunHistory& history, const HistoryStyle& style);
std::string HistoryJson(const RunHistory& history, int exit_code);
// A page with a part for each backend.
std::string HistoryPage(const RunHistory& history);

// The margins and times of each result through many runs.
//
// Adds changes of bound margins and of times, what can be told of times, and the number of results.
void AddMarginsAndTimes(const std::vector<RunOfHistory>& runs, double minimum_effect, RunHistory& history);

}  // namespace assay

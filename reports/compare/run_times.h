// SPDX-License-Identifier: Apache-2.0
// The times of two runs: gathered while results are matched, decided together. Those that were timed in turns are also
// decided as groups: the results of an operator, and all of a backend where it has several operators.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/core/model/run_comparison.h"
#include "reports/compare/compare_runs.h"
#include "reports/compare/compare_times.h"

namespace assay {

class RunTimes {
 public:
  // Where both have a time that counts: a wrong or suspect result has no speed.
  void Add(size_t result, const Record& base, const Record& now, std::string not_comparable);

  // The seconds of each round, if the record's times count; else none.
  static std::vector<double> ListCountedRounds(const Record& record);

  // Says so where a time of either cannot be true; neither is then a time or the base of a ratio.
  static bool MarkInvalid(const Record* base, const Record& now, ResultComparison& result);
  // Says so where a time of either is in doubt since its host was busy: neither is worse for it.
  static bool MarkUnsure(const Record& base, const Record& now, ResultComparison& result);

  // Fills in the times of the results, their changes, and what a reader must know.
  void Decide(const CompareSettings& settings, RunComparison& comparison) const;

 private:
  void DecideGroups(const CompareSettings& settings, RunComparison& comparison) const;

  std::vector<size_t> results_;  // that the pairs belong to
  std::vector<TimedPair> pairs_;
};

}  // namespace assay

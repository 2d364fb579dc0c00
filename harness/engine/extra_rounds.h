// SPDX-License-Identifier: Apache-2.0
// Rounds of timing after the first, which came with the judgement. Each is a pass over all cases in random order, in
// fresh workers, so that rounds see different memory layouts and moments.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/engine/interleaving.h"
#include "harness/engine/result_store.h"
#include "harness/plan/suite.h"

namespace assay {

class ExtraRounds {
 public:
  // All outlive this.
  ExtraRounds(const std::vector<PlannedCase>& cases, const std::vector<Device>& devices, const LoopSettings& settings,
              ResultStore& results)
      : cases_(cases), devices_(devices), settings_(settings), results_(results), interleaving_(devices, settings) {}

  // A result that was timed once; one that did not pass has no extra rounds.
  void Add(const RecordPlace& place, const Attempt& attempt);

  // `progress` is told how many cases of all rounds are done, and which is next. `random` is of orders alone.
  using Progress = std::function<void(size_t done, const std::string& current)>;
  void TimeAll(std::mt19937_64& random, const Progress& progress);

  // How a device was lost, the first of them; "": none was.
  const std::string& lost() const { return lost_; }

 private:
  struct TimedResult {
    RecordPlace place;
    Attempt attempt;  // without its output
  };
  void TimeCase(const PlannedCase& planned, std::vector<TimedResult*> results, std::mt19937_64& random);
  void TimeLast(const PlannedCase& planned, const PreparedCase& data, TrialRunner& runner,
                std::vector<TimedResult*>& results, size_t begin);
  void NoteNoMore(const PlannedCase& planned, const std::string& why);
  void NoteLost(const PlannedCase& planned, size_t device, const std::string& why);

  const std::vector<PlannedCase>& cases_;
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
  ResultStore& results_;
  Interleaving interleaving_;
  std::vector<TimedResult> timed_;
  std::set<size_t> lost_devices_;
  std::string lost_;
};

}  // namespace assay

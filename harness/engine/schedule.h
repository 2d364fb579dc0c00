// SPDX-License-Identifier: Apache-2.0
// How cases are run, and which of them come next, how often. The first pass judges a few cases together before each is
// timed: devices then wait for each other once a step and not once a case, so that one that compiles for long keeps no
// core idle. Then come further rounds of timing, and further passes over all results, one case at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/engine/device/device.h"
#include "harness/engine/device/health.h"
#include "harness/engine/expected_cost.h"
#include "harness/engine/result_store.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/trial/retries.h"
#include "harness/plan/suite.h"

namespace assay {

// How often the cases are judged.
struct Repetition {
  int64_t passes = 1;  // over all cases, with the first one, which always comes to its end
  double seconds = 0;  // of the run, after which no case of a further pass begins; 0: no such end
};

// How cases are run, whichever they are.
struct RunPolicy {
  RunnerSettings runner;
  std::string tier;
  PrepareLimits limits;  // limits.sample: of every case; 0: as its suite says
  int rounds = 1;        // of timing
  RetrySettings retries;
  Repetition repetition;
  bool all_in_turns = false;            // all results of a case are timed in turns, not only those of one name
  std::shared_ptr<ResumedRun> resumed;  // whose records are taken; null: the run begins
  size_t set_aside_after = 0;           // see DeviceHealth
  size_t most_failures = 0;             // beside those of a run that is continued, where this one stops; 0: none
  size_t devices_at_once = 1;           // most that are judged at a time, and workers that judge
  std::vector<Expectation> expectations;
  size_t most_passes = std::numeric_limits<size_t>::max();  // see ResultStore
  GoldenStore store{std::filesystem::path()};
  RunObserver* observer = nullptr;  // outlives the run
};

// The run's limits, with the sample that the case's suite asks for where the run asks for none.
PrepareLimits LimitsOf(const RunPolicy& policy, const PlannedCase& planned);

// Gives a run its cases while it lasts, when what comes next depends on what others came to. All calls come from the
// thread of the run, and no device is at work in them.
class CaseSource {
 public:
  virtual ~CaseSource() = default;

  // The next cases; none: the run ends. The results of those of the call before are not known yet, as devices
  // run them while these are prepared; all others are.
  virtual std::vector<PlannedCase> Next() = 0;

  // The results of some of them, as they will stand in the file, by case. `ids`: the cases that have come to their end;
  // one without a record is one that no implementation took which the user asked for. `health`: of the run's devices.
  virtual void Judged(std::span<const std::string> ids, std::span<const Record> records, const PoolHealth& health) = 0;

  virtual size_t total() const = 0;            // cases that it will give; 0: not known
  virtual std::string StatusText() const = 0;  // for those who watch
};

// Most cases that are taken together. They are no larger than kLargeCaseBytes unless alone, as all are in memory at
// once.
inline constexpr size_t kMostCasesInStep = 8;

// Cases that are taken together, in one pass over all cases, or in one round of timing.
struct Step {
  size_t begin = 0, end = 0;  // of the run's cases; at least one
  double bytes = 0;           // of memory that they need together where each is run (BytesNeeded)
  size_t done = 0;            // cases of the round or pass that are behind it
  int64_t round = 1, pass = 1;
  std::vector<RecordPlace> due = {};  // results that a further round times, or a further pass judges, in plan order

  bool IsFirst() const { return round == 1 && pass == 1; }  // what devices are due, Schedule::IsDone says
};

// Groups all cases, in order. Those of a step together take no more memory than `most_bytes`, so that none is too
// large for its neighbours' sake. `tier` as in ChooseTier.
std::vector<Step> GroupCases(std::span<const PlannedCase> cases, const std::string& tier = "auto",
                             double most_bytes = std::numeric_limits<double>::infinity());

class Schedule {
 public:
  // `source`: null, or where there are more cases. `random` is of orders alone. All but the cases outlives this.
  Schedule(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
           const RunPolicy& policy, std::mt19937_64& random);

  // All cases until now, by their places.
  const std::vector<PlannedCase>& cases() const { return cases_; }

  // Whether the resumed run already has all results of this case on this device.
  bool IsDone(size_t index, const Device& device) const;
  // Returns the results that the resumed run has of this case and device, if some are missing; null: it has none.
  const ResumedRun::Begun* FindBegun(size_t index, const Device& device) const;

  // Takes the next step that can be prepared while the present one runs; nullopt if what comes next follows from that
  // one's results. May append cases: hold no reference to one across the call.
  std::optional<Step> NextAhead();
  // Takes the next step once the present one has ended; nullopt at the end of the run.
  std::optional<Step> Next(const ResultStore& results);

  // Has the next round time this result, too.
  void TimeAgain(const RecordPlace& place);

  // Whether the host has room for the next step while the present one is still loaded. If not, the next one is loaded
  // after the present one is freed: no case counts as too large because of its neighbours.
  bool FitTogether(const Step& present, const Step& next) const;

  // Ends a step of the first pass: frees its cases, of which there may be a million, unless later rounds or passes need
  // them, and tells the source what they came to.
  void End(const Step& step, ResultStore& results, const PoolHealth& health);

  // Tells the observer that `ended` cases of the step are behind the run, and that this one comes next.
  void TellProgress(const Step& step, size_t ended, size_t failed, const PlannedCase& current) const;

 private:
  bool IsDone(size_t index) const;  // on each device
  void AddFirst();                  // steps of the cases that are new
  // Adds a step for each case with such a result, in random order: what ends the process then takes it from nobody.
  void AddLater(const std::vector<RecordPlace>& due);

  std::vector<PlannedCase> cases_;  // grows where there is a source
  CaseSource* source_;
  const ExpectedCost cost_;
  size_t grouped_ = 0;            // so many of the cases
  std::deque<Step> steps_;        // not yet begun
  int64_t round_ = 1, pass_ = 1;  // of the last steps added
  std::vector<RecordPlace> due_;  // in the next round
  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
  std::mt19937_64& random_;
};

}  // namespace assay

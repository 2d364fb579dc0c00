// SPDX-License-Identifier: Apache-2.0
// How cases are run, and which of them come next. In the first pass a few together are judged before each is timed:
// devices then wait for each other once a group and not once a case, so that one that compiles for long keeps no core
// idle. Later rounds and passes (LaterPasses) take one case at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
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
  CaseLimits limits;  // limits.sample: of every case; 0: as its suite says
  int rounds = 1;     // of timing
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
CaseLimits LimitsOf(const RunPolicy& policy, const PlannedCase& planned);

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

// At least one. Together no larger than kLargeCaseBytes unless alone, as all of a group is in memory at once.
inline constexpr size_t kMostCasesInGroup = 8;

struct CaseGroup {
  size_t begin = 0, end = 0;  // of the run's cases
  double bytes = 0;           // of memory that they need together where each is run (BytesNeeded)
};

// Groups all cases, in order. Those of a group together take no more memory than `most_bytes`, so that none is too
// large for its neighbours' sake. `tier` as in ChooseTier.
std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases, const std::string& tier = "auto",
                                  double most_bytes = std::numeric_limits<double>::infinity());

class Schedule {
 public:
  // `source`: null, or where there are more cases. All else outlives this.
  Schedule(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
           const RunPolicy& policy);

  // All cases until now, by their places.
  const std::vector<PlannedCase>& cases() const { return cases_; }

  // Whether the resumed run already has all results of this case on this device.
  bool IsDone(size_t index, const Device& device) const;
  // Returns the results that the resumed run has of this case and device, if some are missing; null: it has none.
  const ResumedRun::Begun* FindBegun(size_t index, const Device& device) const;

  // Takes the next group of the first pass; nullopt if there is none now. May append cases: hold no reference to one
  // across the call.
  std::optional<CaseGroup> NextGroup();

  // Whether the host has room for the next group while the present one is still loaded. If not, the next one is loaded
  // after the present one is freed: no case counts as too large because of its neighbours.
  bool FitTogether(const CaseGroup& present, const CaseGroup& next) const;

  // Ends a group: frees its cases, of which there may be a million, unless later rounds or passes need them, and tells
  // the source what they came to.
  void End(const CaseGroup& group, ResultStore& results, const PoolHealth& health);

  // Tells the observer of the run: `done` steps, each a case in a round, are behind it.
  void TellProgress(size_t done, size_t failed, const std::string& current) const;

 private:
  bool IsDone(size_t index) const;  // on each device
  void AddGroups();                 // of the cases that are new

  std::vector<PlannedCase> cases_;  // grows where there is a source
  CaseSource* source_;
  const ExpectedCost cost_;
  size_t grouped_ = 0;            // so many of the cases
  std::deque<CaseGroup> groups_;  // not yet begun
  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
};

}  // namespace assay

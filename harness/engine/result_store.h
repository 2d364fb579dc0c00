// SPDX-License-Identifier: Apache-2.0
// The records of a run, from any thread: each goes to the run folder as soon as it is final, so that a run that dies
// has lost no finished result. In the end they stand in the order of the plan, whichever came first.
#pragma once

#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/observer.h"
#include "harness/engine/results/expected.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/results/run_folder.h"
#include "harness/engine/trial/failure_folder.h"
#include "harness/engine/trial/trial_runner.h"

namespace assay {

// Where a record stands: by case, then device, then in the order in which the backend offers its implementations.
struct RecordPlace {
  size_t case_index = 0, device = 0, implementation = 0;
  auto operator<=>(const RecordPlace&) const = default;
};

struct PlacedAttempt {
  RecordPlace place;
  Attempt attempt;
};

// Case, backend, device as the plan has it, implementation.
using ResultKey = std::tuple<std::string, std::string, std::string, std::string>;

// For runs that take their cases from a CaseSource, which may last for days.
struct ResultStoreLimits {
  // Once so many results have passed or are unsupported, a case that comes to nothing else leaves no record.
  size_t most_passes = std::numeric_limits<size_t>::max();
  bool followed = false;  // somebody calls TakeNewRecords
};

class ResultStore {
 public:
  // The first three outlive this.
  ResultStore(RunFolder& folder, const std::vector<Expectation>& expectations, RunObserver& observer,
              const ResultStoreLimits& limits = {});

  // Restores what a resumed run has in its folder, at the places that an uninterrupted run would have given. Moves the
  // records out of `resumed`. A result that passed but runs again stays until the rerun ends.
  void Restore(ResumedRun& resumed, const std::vector<PlannedCase>& cases, const std::vector<Device>& devices);
  void Restore(const RecordPlace& place, const Record& record);
  void Restore(Offer offer);

  // Both from any thread. A failing result waits for EndCase.
  void Add(Offer offer);
  void Add(const RecordPlace& place, Attempt attempt);

  // Writes the failure folder of case `index` and its records. No Add may run during this or any of the calls below.
  void EndCase(size_t index, const PreparedCase& data, const TrialRunner& runner);

  // Returns all records added since the last call, in plan order, including those that the file leaves out.
  std::vector<Record> TakeNewRecords();

  // Updates a record after another round of timing or another try.
  void Change(const RecordPlace& place, Attempt& attempt, const PreparedCase& data, const TrialRunner& runner);

  // Updates how often a record's result was tried. `change` may turn it into a failure, or back.
  void Amend(const RecordPlace& place, const std::function<void(Record&)>& change);

  // Flush() writes what Change and Amend changed; FlushWhenDue() does so at most every half minute.
  void Flush();
  void FlushWhenDue();

  // Read the records so far, in plan order, or a single one.
  void ForEach(const std::function<void(const RecordPlace&, const Record&)>& look) const;
  Record At(const RecordPlace& place) const;
  // Lists the results of implementations, in plan order: neither unsupported nor unavailable, nor the harness's own.
  std::vector<RecordPlace> ListAnswered() const;

  // Sorts the file into plan order if needed and returns all that was added.
  std::pair<RecordList, std::vector<Offer>> Finish();

  size_t failed() const;
  size_t forgotten() const;         // results that leave no record
  std::string write_error() const;  // why lines are missing from the files, or ""

 private:
  void Replace(size_t index, const Record& record, const Record& changed);
  void Append(const RecordPlace& place, const Record& record);
  bool ReplaceEarlier(const RecordPlace& place, const Record& record);
  void KeepOrDropQuiet(size_t index);
  bool IsFlushDue() const;
  void WriteAgain();
  void WriteFailures(const PreparedCase& data, const TrialRunner& runner, const std::vector<Attempt*>& failing);
  void Keep(const RecordPlace& place, const Record& record);
  void PutInOrder();
  void NoteWriteError(const Status& status);

  RunFolder& folder_;
  const std::vector<Expectation>& expectations_;
  RunObserver& observer_;
  FailureFolders failures_;
  mutable std::mutex mutex_;                   // guards what follows
  RecordList records_;                         // in the order in which they came
  std::map<RecordPlace, size_t> places_;       // where among them each stands
  std::map<RecordPlace, Attempt> failing_;     // of cases that have not ended
  std::map<RecordPlace, Record> quiet_;        // likewise, once there are enough of them
  std::map<RecordPlace, Record> new_records_;  // for TakeNewRecords
  const ResultStoreLimits limits_;
  size_t passes_ = 0, forgotten_ = 0;
  std::vector<Offer> offers_;
  size_t failed_ = 0;
  bool file_is_current_ = true;
  std::map<ResultKey, RecordPlace> earlier_;  // of passes that are run again
  bool earlier_replaced_ = false;             // since the last Flush
  Stopwatch since_flush_;
  std::string write_error_;
};

}  // namespace assay

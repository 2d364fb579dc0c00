// SPDX-License-Identifier: Apache-2.0
// The flow of one case on one column (DESIGN.md 4): every implementation runs twice with different prefills, then on
// its exact twins or, where it has none, on other data; outputs are judged; what passed is timed, and what the timed
// runs produced is judged again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/base/lazy.h"
#include "harness/base/profile.h"
#include "harness/base/statistics.h"
#include "harness/cases/case_data.h"
#include "harness/judge/verdict.h"
#include "harness/model/record.h"
#include "harness/perf/machine_state.h"
#include "harness/plan/suite.h"
#include "harness/plan/sweep.h"
#include "harness/run/device.h"
#include "harness/run/relations.h"

namespace assay {

class Ceilings;

struct RunnerSettings {
  std::vector<std::string> implementations;  // --impl; empty: all
  double perf_time_s = 0;                    // 0: no timing
  bool cold = true;                          // time with cold caches too
  std::shared_ptr<Ceilings> ceilings;        // null: no roofline
  std::map<std::string, double> prices;      // per hour, by backend; "": of all others
  RelationEffort relations = RelationEffort::kQuick;
  std::optional<Sweep> sweep;        // that made the cases
  std::string command;               // start of the reproduction line: "build/release/bin/assay run"
  std::vector<std::string> carried;  // options for that line that change results: {"--tier", "fast"}
  std::string plan_hash;
  std::function<bool()> interrupted;
};

// An output of a failing attempt, for its failure folder.
struct KeptOutput {
  static constexpr int kOwn = -1, kSecondSet = -2;
  std::string label;  // "run1", "twin0", "second", "timed"
  int twin = kOwn;    // made from this twin's inputs, the case's own, or those of CaseRunner::SecondSet
  Tensor output;
};

// What one implementation did on one case: its record, and what timing needs afterwards.
struct Attempt {
  Record record;
  Verdict verdict = Verdict::kError;
  std::string implementation;
  Contract contract;
  Tensor output;                      // of the first run, to recognise equal bits in the timed loop
  double fastest_s = 0;               // of its executions
  std::string second_hash;            // of the output on the timed loop's second set, where it has held already
  std::vector<KeptOutput> kept;       // of a result that failed
  uint64_t prepared_by = 0;           // Session::workers_started() at the first preparation
  bool memory_fault = false;          // it wrote where it may not, or not all that it has to
  std::vector<TimingSummary> rounds;  // one per timing
};

class CaseRunner {
 public:
  CaseRunner(const PlannedCase& planned, const CaseData& data, const RunnerSettings& settings);

  using Offered = std::function<void(const std::vector<std::string>&)>;

  // The correctness phase on one column, at the same time as on others with other sessions: one attempt per
  // implementation, handed out when it is judged, or one that says why there is none. `offered` gets the names of the
  // implementations before the first of them runs.
  void Judge(const Device& column, const std::function<void(Attempt)>& done, const Offered& offered = nullptr);

  // The correctness phase of one implementation, by name; "": whether it answers what it offers.
  Attempt JudgeAgain(const Device& column, const std::string& implementation);

  // One round of timing for an attempt that passed; nothing else should run meanwhile. May turn it into a mismatch.
  void Time(const Device& column, Attempt& attempt);

  // The same for builds of one plugin, side by side: in short slices, in random order. Memory is that of all.
  struct Timed {
    const Device* column = nullptr;
    Attempt* attempt = nullptr;
    // Filled in meanwhile.
    uint64_t plan = 0;
    const ContractData* contract = nullptr;
    std::shared_ptr<const std::vector<Tensor>> coded;  // inputs of the twin
    std::vector<InputSet> sets;
    std::shared_ptr<Session::TimingRun> run;
    std::optional<WorkerFailure> failure;
    bool sleeps = true;  // the worker's threads, soon after each slice
  };
  void TimeInTurns(std::vector<Timed> results);
  bool TakeTurn(Timed& timed, int64_t& processor);  // see Session::Step()

  // What the attempt was judged by. Null when no contract could be read.
  const ContractData* DataOf(const Attempt& attempt) const;

  // What the output was made from. Precondition: DataOf(attempt).
  const std::vector<Tensor>& InputsOf(const Attempt& attempt, const KeptOutput& kept) const;

 private:
  Attempt JudgeImplementation(const Device& column, const ImplementationInfo& implementation);
  Call<Evidence> Execute(const Device& column, uint64_t plan, const ContractData& contract, Attempt& attempt);
  Call<double> ExecuteSecondSet(const Device& column, uint64_t plan, const ContractData& contract, Evidence& evidence,
                                std::vector<Tensor>& coded, Attempt& attempt);
  std::optional<LowerClass> LowerClassOf(const ContractData& contract, const Tensor& output,
                                         const std::vector<Tensor>& coded, const Attempt& attempt);
  Call<void> JudgeRelations(const Device& column, uint64_t plan, const ContractData& contract, Attempt& attempt,
                            Evidence& evidence);
  void NoteAgreement(Attempt& attempt, Agreement& agreement) const;
  void JudgePadded(const Device& column, const ContractData& contract, Attempt& attempt);
  Call<std::string> ProblemWhenPadded(const Device& column, const ContractData& contract, Attempt& attempt);
  const ContractData& DataFor(const Contract& contract);  // prepared when it is first asked for
  Result<const ContractData*> ContractFor(const ImplementationInfo& implementation, Contract& parsed);
  Record NewRecord(const Device& column) const;
  const CaseData* SecondSet();             // null where there is no other data
  const CaseData& KnownSecondSet() const;  // precondition: SecondSet() gave it
  SpanContext LabelOf(const Timed& timed) const;
  bool Prepare(Timed& timed);  // false: it failed, and the attempt says so
  void EndTiming(const Timed& timed, const Call<Timing>& timing, const PowerState& before);
  void SetLimits(const Device& column, Attempt& attempt) const;
  void JudgeTimed(const Timing& timing, const ContractData& contract, Attempt& attempt) const;
  std::string ProblemOfSecondSet(const ContractData& contract, const Attempt& attempt, Tensor output) const;

  const PlannedCase& planned_;
  const CaseData& data_;
  const RunnerSettings& settings_;
  Contract required_;
  std::string required_text_;
  mutable std::mutex contracts_mutex_;                   // guards the map, not what is in it
  std::map<std::string, Lazy<ContractData>> contracts_;  // by canonical text
  Lazy<Result<CaseData>> second_set_;                    // made when the first implementation without a twin needs it
  std::mutex ladder_mutex_;
  LadderGoldens ladder_;
  std::mt19937_64 random_{std::random_device{}()};  // of orders alone
};

// The record's verdict, class and reason from a failure of the worker.
Verdict VerdictOf(Outcome outcome);
void SetFailure(Attempt& attempt, const WorkerFailure& failure);

// Verdicts about a result that is there: mismatch, below_contract, nondeterministic.
bool IsFailingResult(Verdict verdict);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Everything that one implementation did on one case.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/statistics.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/pooled_test.h"
#include "harness/core/model/record.h"
#include "harness/exec/failure.h"
#include "harness/exec/session.h"
#include "harness/judge/histogram.h"
#include "harness/judge/verdict.h"

namespace assay {

// The outputs of an execution of a failing attempt, for its failure folder.
struct KeptOutputSet {
  static constexpr int kOwn = -1, kSecondSet = -2, kRandomSet = -3;
  std::string label;  // "run1", "twin0", "second", "random", "timed"
  int twin = kOwn;    // made from this twin's inputs, the case's own, or those of TrialContext::SecondSet or RandomSet
  std::vector<Tensor> outputs;
};

// Results of the correctness phase, from which the record is filled.
struct OutputFindings {
  JudgeInputs observed;
  Decision decision;
  MarginHistogram histogram = {};
  std::string agreement;  // with the backend's other implementations
  std::vector<PooledTest> pooled = {};
};
struct Findings {
  std::vector<OutputFindings> outputs;
  size_t worst = 0;    // which of them decides
  int64_t unseen = 0;  // of a sample's whole: NaN and infinities among the elements that are not judged
  double execute_s = 0, compare_s = 0;
  std::optional<double> relations_s;

  // The decision of each output, and which is the worst.
  void Decide();
};

// Side effects that no correct implementation has, added to what is known of the output that they are about, or of the
// first; an operand is named once.
void AddObservations(const Execution& execution, Findings& findings);

// Names the output that is wrong, and how.
struct OutputProblem {
  std::string what;  // "": nothing
  size_t output = 0;
};

// "output mean: " where the problem has several; "" of a single one.
std::string NamingOutput(const Problem& problem, size_t output);

struct Attempt {
  Verdict verdict = Verdict::kError;
  ResultClass result_class = ResultClass::kNone;
  std::string reason, decided_by;
  std::string implementation;
  std::string contract_text;  // as declared
  Contract contract;
  std::optional<double> prepare_s;
  PlanDescription plan;              // of the first preparation
  std::optional<Findings> findings;  // where outputs were judged; gone when the record is filled
  std::vector<Tensor> outputs;       // of the first run, to recognise equal bits in the timed loop
  std::string output_hash;           // of the same
  double fastest_s = 0;              // of its executions
  std::string second_set;            // what the timed loop's second set is: "twin", a case id, or "same"; "": none yet
  std::string layouts;               // other ones in which it was executed: see Record
  std::string second_hash;           // of the outputs on it, where they have held already
  std::vector<KeptOutputSet> kept;   // of a result that failed
  std::string error_map;             // likewise: see Record
  uint64_t prepared_by = 0;          // Session::workers_started() at the first preparation
  // It passed, or is below_contract for what it declares alone; then it is timed, as its users have chosen it.
  bool holds_as_declared = false;
  bool memory_fault = false;             // it wrote where it may not, or not all that it has to
  bool harness_failed = false;           // not the backend: see SetFault()
  bool interrupted = false;              // before its end: what stood before stands, if anything did
  std::optional<FailureKind> failed_by;  // the latest SetFailure(), but for an interrupt
  std::vector<TimingSummary> rounds;     // one per timing

  Record record;  // filled last

  bool HasLostDevice() const { return failed_by == FailureKind::kDeviceLost; }

  // Also in the record.
  void SetVerdict(Verdict of, ResultClass of_class, const std::string& why);
  void SetDecidedBy(std::string_view what);  // after the verdict; see Record
  // Sets the verdict because of one output, which the reason names if there are several.
  void SetVerdictOf(size_t output, Verdict of, ResultClass of_class, const std::string& why);
  void SetFailure(const WorkerFailure& failure);  // the worker's end, or what it refused
  void SetFault(const std::exception& fault);     // of the harness itself, while it judged or timed this
};

// Does `work`, which is about this attempt alone: where the harness fails in it, that is an error of this result, and
// of no other.
template <class Work>
void DoGuarded(Attempt& attempt, const Work& work) {
  try {
    work();
  } catch (const std::exception& fault) {
    attempt.SetFault(fault);
  }
}

// Verdicts about a result that is there: mismatch, below_contract, nondeterministic.
bool IsFailingResult(Verdict verdict);

}  // namespace assay

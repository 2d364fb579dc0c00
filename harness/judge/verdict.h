// SPDX-License-Identifier: Apache-2.0
// From what was observed to a verdict (README.md#verdicts-and-exit-codes): closed lists, their exit codes, and the
// reason in words. Results are judged against the contract that the implementation declares. What the suite requires
// decides whether changing bits are nondeterministic, and one of the two ways to below_contract: a right result whose
// declared contract promises less. The other way is a wrong result that a weaker arithmetic explains, whatever is
// required.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/verdict_kind.h"
#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "harness/judge/metrics.h"
#include "harness/judge/mutation_power.h"
#include "harness/judge/property.h"
#include "harness/judge/statistic/row_lean.h"
#include "harness/judge/twin_check.h"

namespace assay {

enum class ResultClass : uint8_t { kBitExact, kWithinClass, kWithinLowerClass, kSuspect, kNone };
inline constexpr int kResultClassCount = 5;
std::string_view Name(ResultClass result_class);  // "within_class"; "none"

struct ExitFlags {
  bool interrupted = false;
  bool stopped = false;  // at the first failures, as the user asked: what is missing is no failure of its own
  bool usage_error = false;
  bool required_backend_absent = false;
  bool strict = false;           // inconclusive and suspect fail, and times that cannot be true
  bool suspects = false;         // some result has class suspect, or is a weak pass
  bool invalid_times = false;    // some time cannot be true
  bool device_lost = false;      // after the verdicts that it gave, which stand
  bool unexpected_pass = false;  // an expectation of failure did not come true
};

// The highest in the order 130, 2, 3, 5, 1, 4, 0. Verdicts that an expectation covers are left out by the caller.
// No verdict at all counts as nothing selected: 4.
int ExitCode(std::span<const Verdict> verdicts, const ExitFlags& flags);

inline constexpr double kRequiredMutationPower = 0.99;  // harness/judge/README.md#inconclusive

// The deviations beyond which the statistic fails an element of a user's data, where these look random by themselves.
// In a run, whose data are known, it is kElementThreshold; the difference is room for data that only look so.
inline constexpr double kUserElementThreshold = 20;

// Inputs of the verdict on one output.
struct JudgeInputs {
  Shape shape;                              // of the output
  std::vector<ErrorMetrics> runs;           // of the case itself, one per execution
  std::vector<TwinResult> twins;            // none: the operator has none for this contract
  std::string second_set;                   // what is wrong on the case's other data; "": nothing, or it has none
  std::optional<ErrorMetrics> random;       // of random data, where the case's own are not that
  std::string random_id;                    // the case id of these
  int64_t guard_violations = 0;             // bytes written outside the output
  std::string guard_where;                  // "3 bytes before the output"
  std::vector<std::string> changed_inputs;  // "1 of 9 elements of a (an input) were changed..."
  int64_t unwritten = 0;                    // elements that kept the prefill in both runs
  std::string unwritten_where;              // "8 of 64 elements of y were not written, ..."
  bool bits_equal = true;                   // between runs on identical inputs
  // Tensors of a user: the statistic makes a result suspect, and fails it beyond kUserElementThreshold alone. From the
  // mutation power only MutationPower::DescribeMissedFaults counts.
  bool user_data = false;
  // Why the statistic does not apply to these data (ExplainNotRandom); "": it does. None: the statistic has no
  // objection to a user's tensor, or elements break the bound.
  std::optional<std::string> not_random;
  std::optional<RowLean> row_lean;  // of a user's tensor whose rows lean to one side
  bool sums = true;                 // whether a result has terms that are added; for advice
  bool cancels = true;              // whether terms of most results cancel mostly; for advice
  // A contract with a wider accumulator that bounds most results where the declared one leaves most open; "": none
  // does.
  std::string bounding_contract;
  std::string contract_word = "--contract";  // how their owner states a contract, for messages
  // A weaker arithmetic that explains failing values; the rules are in harness/judge/hypotheses/README.md. Set by
  // Trial::FindWeakerArithmetics in a run, by check_case.cc for a user's tensors.
  std::optional<WeakerArithmetic> weaker_arithmetic;
  std::vector<PropertyFinding> properties;  // relations to other executions
  Contract declared, required;
  std::optional<MutationPower> power;  // none: not measured
};

inline bool HasNoElements(const JudgeInputs& observed) {
  return NumElements(observed.shape) == 0;
}

struct Decision {
  Verdict verdict = Verdict::kError;
  ResultClass result_class = ResultClass::kNone;
  std::string reason;           // "" for a plain pass
  std::string_view decided_by;  // "memory", "second input set"; "": a margin, or none is above its limit
  bool memory_fault = false;
  bool holds_as_declared = false;  // nothing is wrong with it, whether or not what is declared is enough
  // At most 1 where the channel holds, infinity where an exact demand is broken; none: the channel does not apply.
  std::optional<double> exact_margin, bound_margin, stat_margin, self_margin, exceptional_margin, metamorphic_margin;
};

// Whether a weaker arithmetic could explain why the values fail: nothing but exact twins, bound and statistic did.
bool ValuesFail(const JudgeInputs& observed);

// Whether an element is beyond kUserElementThreshold.
bool IsFarOff(const ErrorMetrics& metrics);

// Describes the failing channel, an element with its value and the right one, and where all wrong elements are. `which`
// names one of several executions, for instance " in run 2". Precondition: !metrics.Holds().
std::string DescribeFailure(const ErrorMetrics& metrics, const Shape& shape, std::string_view which = "");

// How the data of an inconclusive result can be made conclusive, in a phrase. Precondition: observed.power.
std::string SuggestData(const JudgeInputs& observed);

// Precondition: at least one run.
Decision Decide(const JudgeInputs& observed);

// Index of the output that decides: the heaviest verdict, then the weakest class, then the largest margin; the first of
// equal ones. Precondition: outputs is not empty.
size_t WorstOf(std::span<const Decision> outputs);

}  // namespace assay

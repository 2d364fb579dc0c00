// SPDX-License-Identifier: Apache-2.0
// The second input set: other data, so that an old result does not pass for a new one.
#include <fmt/format.h>

#include "harness/base/profile.h"
#include "harness/run/case_runner.h"
#include "harness/run/executions.h"

namespace assay {
namespace {

// Golden values of a second input set are computed for the correctness phase up to these sizes, which take some tenths
// of a second at most; numbers of the case, no times, so that every machine judges the same cases by them.
constexpr double kMostFlopsOfSecondSet = 1e8, kMostBytesOfSecondSet = 0x1p22;

}  // namespace

// Other data for cases without a twin, so that an old result does not pass for a new one. Seconds of the execution.
Call<double> CaseRunner::ExecuteSecondSet(const Device& column, uint64_t plan, const ContractData& contract,
                                          Evidence& evidence, std::vector<Tensor>& coded, Attempt& attempt) {
  const Problem& problem = data_.problem;
  const bool cheap = problem.flops <= kMostFlopsOfSecondSet && problem.bytes <= kMostBytesOfSecondSet;
  if (!contract.twins.empty() || !cheap) return 0;
  const CaseData* second = SecondSet();
  if (second == nullptr) return 0;
  auto execution = column.session->Execute(plan, PointersTo(second->inputs), Prefill::kNanPayload);
  if (!execution) return tl::unexpected(execution.error());
  AddObservations(*execution, evidence);
  const Span span(Phase::kCompare);
  attempt.record.second_set = second->problem.spec.Id();
  evidence.second_set = ProblemOfSecondSet(contract, attempt, execution->output.Clone());
  if (evidence.second_set.empty()) {
    attempt.second_hash = HashOf(execution->output);
  } else {
    attempt.kept.push_back({"second", KeptOutput::kSecondSet, execution->output.Clone()});
  }
  second->op->Canonicalise(second->problem, second->inputs, execution->output);
  coded.push_back(std::move(execution->output));
  return execution->host_seconds;
}

const CaseData* CaseRunner::SecondSet() {
  const Result<CaseData>& second = second_set_.Get([this] { return PrepareSecondSet(data_); });
  return second ? &*second : nullptr;
}

const CaseData& CaseRunner::KnownSecondSet() const {
  return **second_set_.IfMade();
}

// "" when the output of the second set holds. Precondition: the sets differ.
std::string CaseRunner::ProblemOfSecondSet(const ContractData& contract, const Attempt& attempt, Tensor output) const {
  if (!contract.twins.empty()) {
    const std::shared_ptr<const Twin> twin = contract.twins[0].Get();
    data_.op->Canonicalise(data_.problem, twin->inputs, output);
    const TwinOutcome outcome = CheckTwin(*twin, 0, output);
    return outcome.Holds() ? "" : outcome.Reason(data_.problem.output.shape);
  }
  const CaseData& second = KnownSecondSet();
  second.op->Canonicalise(second.problem, second.inputs, output);
  const BoundModel bound = BoundOf(second, attempt.contract);
  const std::string problem = FirstProblem(Measure(second.golden, bound, attempt.contract, output));
  return problem.empty() ? "" : fmt::format("on {}: {}", second.problem.spec.Id(), problem);
}

}  // namespace assay

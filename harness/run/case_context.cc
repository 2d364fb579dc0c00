// SPDX-License-Identifier: Apache-2.0
#include "harness/run/case_context.h"

#include <fmt/format.h>

#include "harness/base/profile.h"
#include "harness/judge/judge_output.h"
#include "harness/run/executions.h"

namespace assay {

CaseContext::CaseContext(const PlannedCase& planned, const CaseData& data)
    : planned_(planned),
      data_(data),
      required_text_(RequirementOf(planned)),
      required_(ParseRequirement(required_text_).value()) {}  // checked when the suite was read

const ContractData& CaseContext::DataFor(const Contract& contract) {
  std::unique_lock lock(contracts_mutex_);
  Lazy<ContractData>& prepared = contracts_[ToText(contract)];
  lock.unlock();
  return prepared.Get([&] { return PrepareContract(data_, contract); });
}

const ContractData* CaseContext::DataOf(const Attempt& attempt) const {
  const std::lock_guard lock(contracts_mutex_);
  const auto it = contracts_.find(ToText(attempt.contract));
  return it == contracts_.end() ? nullptr : it->second.IfMade();
}

const std::vector<Tensor>& CaseContext::InputsOf(const Attempt& attempt, const KeptOutput& kept) const {
  if (kept.twin >= 0) return DataOf(attempt)->twins[static_cast<size_t>(kept.twin)].Keep().inputs;
  return kept.twin == KeptOutput::kSecondSet ? KnownSecondSet().inputs : data_.inputs;
}

const CaseData* CaseContext::SecondSet() {
  const Result<CaseData>& second = second_set_.Get([this] { return PrepareSecondSet(data_); });
  return second ? &*second : nullptr;
}

const CaseData& CaseContext::KnownSecondSet() const {
  return **second_set_.IfMade();
}

std::string CaseContext::ProblemOfSecondSet(const ContractData& by, const Contract& contract, Tensor output) const {
  if (!by.twins.empty()) {
    const TwinOutcome outcome = JudgeTwin(*data_.op, data_.problem, *by.twins[0].Get(), 0, output);
    return outcome.Holds() ? "" : outcome.Reason(data_.problem.output().shape);
  }
  const CaseData& second = KnownSecondSet();
  const BoundModel bound = BoundOf(second, contract);
  const std::string problem =
      FirstProblem(JudgeOutput({*second.op, second.problem, second.inputs, second.golden, bound, contract}, output));
  return problem.empty() ? "" : fmt::format("on {}: {}", second.problem.spec.Id(), problem);
}

std::optional<LowerClass> CaseContext::LowerClassOf(const ContractData& by, const Contract& contract,
                                                    const Tensor& output, const std::vector<Tensor>& others) {
  std::vector<JudgedOutput> twins;
  for (size_t k = 0; k < others.size(); ++k) {
    const bool is_twin = k < by.twins.size();
    twins.push_back({is_twin ? by.twins[k].Keep().inputs : KnownSecondSet().inputs, &others[k]});
  }
  const Span span(Phase::kCompare);
  const std::lock_guard lock(ladder_mutex_);
  return FindLowerClass(*data_.op, data_.problem, contract, data_.golden, {data_.inputs, &output}, twins, &ladder_);
}

}  // namespace assay

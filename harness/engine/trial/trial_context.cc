// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/trial_context.h"

#include <fmt/format.h>

#include "harness/core/base/profile.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/timing/operand_sets.h"
#include "harness/judge/judge_output.h"

namespace assay {
namespace {

// `bound_of`: of an output.
template <class BoundOfOutput>
OutputProblem FindFirstProblemIn(const PreparedCase& data, const Contract& contract, const BoundOfOutput& bound_of,
                                 std::vector<Tensor>& outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const PreparedOutput& of = data.outputs[k];
    const BoundModel& bound = bound_of(k);
    const std::string problem = DescribeFirstProblem(
        JudgeOutput({*data.op, data.problem, k, data.inputs, of.golden, bound, contract}, outputs[k]),
        data.problem.outputs[k].shape);
    if (!problem.empty()) return {problem, k};
  }
  return {};
}

}  // namespace

TrialContext::TrialContext(const PlannedCase& planned, const PreparedCase& data)
    : planned_(planned),
      data_(data),
      required_text_(RequirementOf(planned)),
      required_(ParseRequirement(required_text_).value()) {}  // checked when the suite was read

const ContractData& TrialContext::DataFor(const Contract& contract) {
  std::unique_lock lock(contracts_mutex_);
  Lazy<ContractData>& prepared = contracts_[ToText(contract)];
  lock.unlock();
  return prepared.Get([&] {
    ContractData made = PrepareContract(data_, contract);
    made.random_bounds = RandomBounds(contract);
    return made;
  });
}

std::vector<BoundModel> TrialContext::RandomBounds(const Contract& contract) {
  const auto is_integer = [](const Operand& output) { return IsInt(output.dtype); };
  if (data_.whole || HasPlainData(data_) || !IsCheapToRepeat(problem()) ||
      std::ranges::all_of(problem().outputs, is_integer))
    return {};
  const PreparedCase& random = random_set_.Get([this] { return PrepareRandomSet(data_); });
  std::vector<BoundModel> bounds;
  bool says = false;
  for (size_t k = 0; k < data_.outputs.size(); ++k) {
    bounds.push_back(BoundOf(random, contract, k));
    says = says || (bounds.back().statistic.applicable && !random.outputs[k].golden.exact);
  }
  return says ? std::move(bounds) : std::vector<BoundModel>();
}

const ContractData* TrialContext::DataOf(const Attempt& attempt) const {
  const std::lock_guard lock(contracts_mutex_);
  const auto it = contracts_.find(ToText(attempt.contract));
  return it == contracts_.end() ? nullptr : it->second.GetIfMade();
}

const std::vector<Tensor>& TrialContext::InputsOf(const Attempt& attempt, const KeptOutputSet& kept) const {
  if (kept.twin >= 0) return DataOf(attempt)->twins[static_cast<size_t>(kept.twin)].Keep().inputs;
  if (kept.twin == KeptOutputSet::kRandomSet) return RandomSet().inputs;
  return kept.twin == KeptOutputSet::kSecondSet ? KnownSecondSet().inputs : data_.inputs;
}

const PreparedCase* TrialContext::SecondSet() {
  if (data_.whole) return nullptr;
  const Result<PreparedCase>& second = second_set_.Get([this] { return PrepareSecondSet(data_); });
  return second ? &*second : nullptr;
}

const PreparedCase& TrialContext::KnownSecondSet() const {
  return **second_set_.GetIfMade();
}

const PreparedCase& TrialContext::RandomSet() const {
  return *random_set_.GetIfMade();
}

const std::vector<Effect>& TrialContext::EffectsOf(size_t output) {
  return effects_.Get([this] {
    const Span span(Phase::kBounds);
    std::vector<std::vector<Effect>> effects(data_.outputs.size());
    const Problem& problem = data_.problem;
    if (problem.flops > kMostFlopsOfEffects || problem.bytes > kMostBytesOfEffects) return effects;
    for (size_t k = 0; k < effects.size(); ++k) {
      effects[k] = MakeEffects(*data_.op, data_.problem, k, data_.inputs, data_.outputs[k].golden);
    }
    return effects;
  })[output];
}

OutputProblem TrialContext::FindFirstProblemOf(const ContractData& by, const Contract& contract,
                                               std::vector<Tensor>& outputs) const {
  return FindFirstProblemIn(
      data_, contract, [&](size_t k) -> const BoundModel& { return by.outputs[k].bound; }, outputs);
}

OutputProblem TrialContext::FindSecondSetProblem(const ContractData& by, const Contract& contract,
                                                 std::vector<Tensor> outputs) const {
  if (const CachedTwin* twin = by.FindSharedTwin()) {
    const TwinResult result = JudgeTwin(*data_.op, data_.problem, 0, *twin->Get(), 0, outputs[0]);
    return {result.Holds() ? "" : result.Reason(data_.problem.outputs[0].shape)};
  }
  const PreparedCase& second = KnownSecondSet();
  OutputProblem found = FindFirstProblemIn(
      second, contract, [&](size_t k) { return BoundOf(second, contract, k); }, outputs);
  if (!found.what.empty()) found.what = fmt::format("on {}: {}", second.problem.spec.Id(), found.what);
  return found;
}

std::optional<WeakerArithmetic> TrialContext::ExplainRandomSet(const Contract& contract, size_t number,
                                                               const Tensor& output, const Tensor& own) const {
  const Span span(Phase::kCompare);
  const PreparedCase& random = RandomSet();
  const PreparedOutput& of = random.outputs[number];
  const JudgedOutput others[] = {{data_.inputs, &own}};
  return FindWeakerArithmetic(*random.op, random.problem, number, contract, of.golden, {random.inputs, &output},
                              others);
}

std::optional<WeakerArithmetic> TrialContext::ExplainOutput(const ContractData& by, const Contract& contract,
                                                            size_t number, const Tensor& output,
                                                            const std::vector<std::vector<Tensor>>& others) {
  std::vector<JudgedOutput> other_data;
  for (size_t k = 0; k < others.size(); ++k) {
    const bool is_twin = k < by.twins.size();
    if (is_twin && by.twins[k].output() != number) continue;
    other_data.push_back({is_twin ? by.twins[k].Keep().inputs : KnownSecondSet().inputs, &others[k][number]});
  }
  const Span span(Phase::kCompare);
  const std::lock_guard lock(hypotheses_mutex_);
  const PreparedOutput& of = data_.outputs[number];
  return FindWeakerArithmetic(*data_.op, data_.problem, number, contract, of.golden, {data_.inputs, &output},
                              other_data, &hypothesis_goldens_[number]);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/shrink/failing_numbers.h"

#include <algorithm>

#include "harness/core/base/parallel.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/executions.h"
#include "harness/judge/judge_output.h"

namespace assay {

WrongResult WrongNumbers::AsResult(const Operator& op, const Problem& problem,
                                   const std::vector<Tensor>& inputs) const {
  WrongResult result{.op = op,
                     .problem = problem,
                     .inputs = inputs,
                     .got = outputs,
                     .contract = contract,
                     .golden = goldens[output],
                     .tier = goldens[output].tier,
                     .output = output};
  if (metrics.nonfinite_example) result.elements.push_back(metrics.nonfinite_example->index);
  for (const WorstElement& worst : metrics.worst) result.elements.push_back(worst.index);
  return result;
}

bool NumbersProbe::Prepare(const Operator& op, const Problem& problem) {
  const std::string id = problem.spec.Id();
  if (plan_ && id == prepared_id_) return true;
  plan_.reset();
  const auto offered = device_.session->Query(device_.device_index, problem);
  if (!offered) return false;
  const auto found = std::ranges::find(*offered, implementation_, &ImplementationInfo::name);
  if (found == offered->end()) return false;
  const auto contract = ParseDeclaration(found->contract_text);
  if (!contract || !CheckDeclared(op, problem.spec.dtypes, *contract)) return false;
  auto plan = PreparedPlan::Make(device_, problem, implementation_);
  if (!plan) return false;
  plan_ = *std::move(plan), prepared_id_ = id, contract_ = *contract;
  return true;
}

std::optional<WrongNumbers> NumbersProbe::Execute(const Operator& op, const Problem& problem,
                                                  const std::vector<Tensor>& inputs, Executions executions) {
  if (!Prepare(op, problem)) return std::nullopt;
  const OnThisThread alone(IsSmall(problem));
  const Tier tier = ChooseTier(tier_, problem);
  WrongNumbers wrong{.contract = contract_};
  std::vector<BoundModel> bounds;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    wrong.goldens.push_back(op.ComputeGolden(problem, k, inputs, tier));
  }
  for (size_t k = 0; k < wrong.goldens.size(); ++k) bounds.push_back(op.Bound(problem, k, wrong.goldens[k], contract_));
  for (int i = 0; i < repeat_; ++i) {
    auto done = plan_->Execute(inputs, kPrefills[i % 2]);
    if (!done) {
      plan_.reset();
      return std::nullopt;
    }
    ++wrong.executions;
    bool fails = false;
    for (size_t k = 0; k < done->outputs.size() && !fails; ++k) {
      const JudgedBy by{op, problem, k, inputs, wrong.goldens[k], bounds[k], contract_};
      ErrorMetrics metrics = JudgeOutput(by, done->outputs[k]);
      fails = !metrics.Holds();
      if (fails && wrong.failures == 0) wrong.output = k, wrong.metrics = std::move(metrics);
    }
    if (fails && wrong.failures++ == 0) wrong.outputs = std::move(done->outputs);
    if (fails && executions == Executions::kUntilOneFails) break;
  }
  if (wrong.failures == 0) return std::nullopt;
  return wrong;
}

}  // namespace assay

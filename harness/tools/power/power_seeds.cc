// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_seeds.h"

#include <utility>

#include "harness/engine/device/executions.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/judge/judge_output.h"

namespace assay {

ManySeeds::ManySeeds(std::vector<PreparedCase> seeds) {
  seeds_.reserve(seeds.size());  // rules refer to the problems of the seeds
  for (PreparedCase& data : seeds) {
    Seed& seed = seeds_.emplace_back(std::move(data));
    for (const PreparedOutput& one : seed.data.outputs)
      seed.peers.emplace_back(*seed.data.op, seed.data.problem, one.number, one.golden);
  }
}

const std::vector<BoundModel>& ManySeeds::BoundsOf(Seed& seed, const Contract& contract) {
  std::vector<BoundModel>& bounds = seed.bounds[ToText(contract)];
  while (bounds.size() < seed.data.outputs.size()) bounds.push_back(BoundOf(seed.data, contract, bounds.size()));
  return bounds;
}

SeedResult ManySeeds::Judge(Seed& seed, const Contract& contract, Execution execution) {
  const PreparedCase& data = seed.data;
  SeedResult result{data, seed.peers, contract, {}, SideEffect(execution)};
  const std::vector<BoundModel>& bounds = BoundsOf(seed, contract);
  for (size_t k = 0; k < data.outputs.size(); ++k) {
    const PreparedOutput& of = data.outputs[k];
    const std::string wrong = DescribeFirstProblem(
        JudgeOutput({*data.op, data.problem, k, data.inputs, of.golden, bounds[k], contract}, execution.outputs[k]),
        data.problem.outputs[k].shape);
    if (result.problem.empty()) result.problem = wrong;
    result.values.push_back(execution.outputs[k].ToDoubles());
  }
  return result;
}

Call<void> ManySeeds::Execute(const Device& device, const ImplementationInfo& schedule,
                              const std::function<void(const SeedResult&)>& done) {
  const auto contract = ParseDeclaration(schedule.contract_text);
  if (!contract) return tl::unexpected(WorkerFailure{FailureKind::kError, contract.error().message});
  auto plan = PreparedPlan::Make(device, problem(), schedule.name);
  if (!plan) return tl::unexpected(plan.error());
  for (Seed& seed : seeds_) {
    auto execution = plan->Execute(seed.data.inputs, Prefill::kNanPayload);
    if (!execution) return tl::unexpected(execution.error());
    done(Judge(seed, *contract, std::move(*execution)));
  }
  return plan->Release();
}

}  // namespace assay

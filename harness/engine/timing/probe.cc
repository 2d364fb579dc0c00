// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/core/base/profile.h"
#include "harness/core/model/contract.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/engine/perf/stopping.h"
#include "harness/engine/timing/timing_run.h"
#include "harness/engine/timing/witnesses.h"

namespace assay {
namespace {

bool IsDirect(const std::string& contract) {
  const auto parsed = ParseDeclaration(contract);
  return parsed && parsed->alg == Algorithm::kDirect;
}

bool Contains(const std::vector<std::string>& names, const ImplementationInfo& implementation) {
  return std::ranges::find(names, implementation.name) != names.end();
}

std::vector<ImplementationInfo> ChooseImplementations(std::vector<ImplementationInfo> offered,
                                                      const ProbeSettings& settings) {
  const auto preferred = [&](const ImplementationInfo& i) { return Contains(settings.preferred, i); };
  const bool any = std::ranges::any_of(offered, preferred);
  std::erase_if(offered, [&](const ImplementationInfo& i) {
    const bool wanted = settings.preferred.empty() || (any ? preferred(i) : settings.others);
    return !wanted || settings.left_out.contains(i.name) || !IsDirect(i.contract_text);
  });
  return offered;
}

}  // namespace

Problem ProblemOf(const std::string& case_id) {
  const auto spec = ParseId(case_id);
  const Operator* op = OperatorRegistry::Global().Find(spec->op);
  return *op->Bind(*Canonicalise(*spec, op->schema()));
}

Call<std::vector<ProbeTime>> TimeProbe(const Device& device, const Problem& problem, const ProbeSettings& settings) {
  std::vector<ProbeTime> times;
  const SpanContext context("", device.selector, "");
  const auto offered = device.session->Query(device.device_index, problem);
  if (!offered) {
    if (RuleOf(offered.error().kind).ends_worker) return tl::unexpected(offered.error());
    return times;
  }
  const std::vector<ImplementationInfo> chosen = ChooseImplementations(*offered, settings);
  if (chosen.empty()) return times;
  const Operator& op = *OperatorRegistry::Global().Find(problem.spec.op);
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const TimedTrial timed{.op = &op, .problem = &problem, .contents = {PointersTo(inputs)}};
  TimingRequest request;
  request.min_repetitions = 10;
  request.max_seconds = settings.max_seconds;
  request.enough = [](std::span<const double> seconds) { return MedianIsSettled(seconds, 0.05); };
  for (const ImplementationInfo& implementation : chosen) {
    const auto plan = PreparedPlan::Make(device, problem, implementation.name);
    const Call<Timing> timing =
        plan ? RunTiming(*device.session, plan->id(), timed, request) : Call<Timing>(tl::unexpected(plan.error()));
    if (timing && timing->contradiction.empty() && timing->changed_later.empty()) {
      times.push_back({implementation.name, *std::ranges::min_element(timing->seconds), timing->wall_s});
    } else if (!timing && RuleOf(timing.error().kind).ends_worker) {
      return tl::unexpected(timing.error());
    }
  }
  return times;
}

}  // namespace assay

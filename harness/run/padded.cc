// SPDX-License-Identifier: Apache-2.0
#include "harness/run/padded.h"

#include <algorithm>

#include "harness/base/profile.h"
#include "harness/judge/judge_output.h"
#include "harness/run/executions.h"
#include "harness/run/prepared_plan.h"

namespace assay {
namespace {

// Larger cases are not run once more for their layouts; on a slow implementation of one GFLOP/s it takes 0.2 s. Numbers
// of the case and no times, so that what is checked depends neither on the load nor on what a first execution compiles.
constexpr double kMostPaddedFlops = 2e8, kMostPaddedBytes = 0x1p26;
constexpr LayoutVariant kPadded{.element_offset = 1, .row_padding = 3};

std::string ProblemOf(const CaseContext& context, const ContractData& by, const Contract& contract,
                      const std::shared_ptr<const Twin>& twin, Tensor& output) {
  const CaseData& data = context.data();
  if (twin == nullptr) {
    return FirstProblem(JudgeOutput({*data.op, data.problem, data.inputs, data.golden, by.bound, contract}, output));
  }
  const int last = static_cast<int>(by.twins.size()) - 1;
  const TwinOutcome outcome = JudgeTwin(*data.op, data.problem, *twin, last, output);
  return outcome.Holds() ? std::string() : outcome.Reason(data.problem.output.shape);
}

// "" when the result holds there too.
Call<std::string> ProblemWhenPadded(CaseContext& context, const Device& device, const ContractData& by,
                                    Attempt& attempt) {
  const CaseData& data = context.data();
  const auto offered = context.offers().Of(device, data.problem, kPadded);
  if (!offered) return tl::unexpected(offered.error());
  const auto same = [&](const ImplementationInfo& info) { return info.name == attempt.implementation; };
  if (std::ranges::none_of(*offered, same)) return std::string();
  auto plan = PreparedPlan::Make(device, data.problem, attempt.implementation, kPadded);
  if (!plan) return tl::unexpected(plan.error());
  const std::shared_ptr<const Twin> twin = by.twins.empty() ? nullptr : by.twins.back().Get();
  auto execution = plan->Execute(twin != nullptr ? twin->inputs : data.inputs, kPrefills[1]);
  const Call<void> freed = plan->Release();
  if (!execution) return tl::unexpected(execution.error());
  if (!freed) return tl::unexpected(freed.error());
  if (std::string effect = SideEffect(*execution); !effect.empty()) {
    attempt.memory_fault = true;
    return effect;
  }
  return ProblemOf(context, by, attempt.contract, twin, execution->output);
}

}  // namespace

void JudgePadded(CaseContext& context, const Device& device, const ContractData& by, Attempt& attempt) {
  const Problem& problem = context.problem();
  if (problem.flops > kMostPaddedFlops || problem.bytes > kMostPaddedBytes) return;
  const Span span(Phase::kPadded);
  const std::string how = "with padded rows and an unaligned start: ";
  const auto found = ProblemWhenPadded(context, device, by, attempt);
  if (!found) {
    if (found.error().outcome == Outcome::kUnsupported) return;
    attempt.SetFailure({found.error().outcome, how + found.error().message});
  } else if (!found->empty()) {
    attempt.SetVerdict(Verdict::kMismatch, ResultClass::kNone, how + *found);
  }
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/run/other_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/base/profile.h"
#include "harness/judge/judge_output.h"
#include "harness/run/executions.h"
#include "harness/run/prepared_plan.h"

namespace assay {
namespace {

// Larger cases are not run once more for other layouts; on a slow implementation of one GFLOP/s it takes 0.2 s. Numbers
// of the case and no times, so that what is checked depends neither on the load nor on what a first execution compiles.
constexpr double kMostPaddedFlops = 2e8, kMostPaddedBytes = 0x1p26;

struct OtherLayout {
  LayoutVariant variant;
  std::string_view how;
};
constexpr OtherLayout kOtherLayouts[] = {
    {{.element_offset = 1, .row_padding = 3}, "with padded rows and an unaligned start"},
    {{.permuted = true}, "with the axes in another order (channels last, matrices transposed)"},
};

// Whether an operand lies otherwise in it than in row-major order.
bool IsOther(const LayoutVariant& variant, const Problem& problem) {
  if (!variant.permuted) return true;
  const auto is_other = [](const Operand& operand) {
    return PermutedStrides(operand.shape) != RowMajorStrides(operand.shape);
  };
  return std::ranges::any_of(problem.inputs, is_other) || is_other(problem.output);
}

// Of the twins the one whose sums climb, or the last that tells terms apart.
size_t CodedTwin(const ContractData& by) {
  return std::min<size_t>(by.twins.size(), 2) - 1;
}

std::string ProblemOf(const CaseContext& context, const ContractData& by, const Contract& contract,
                      const std::shared_ptr<const Twin>& twin, Tensor& output) {
  const CaseData& data = context.data();
  if (twin == nullptr) {
    return FirstProblem(JudgeOutput({*data.op, data.problem, data.inputs, data.golden, by.bound, contract}, output));
  }
  const int variant = static_cast<int>(CodedTwin(by));
  const TwinOutcome outcome = JudgeTwin(*data.op, data.problem, *twin, variant, output);
  return outcome.Holds() ? std::string() : outcome.Reason(data.problem.output.shape);
}

// "" when the result holds there too.
Call<std::string> ProblemIn(const LayoutVariant& layout, CaseContext& context, const Device& device,
                            const ContractData& by, Attempt& attempt) {
  const CaseData& data = context.data();
  const auto offered = context.offers().Of(device, data.problem, layout);
  if (!offered) return tl::unexpected(offered.error());
  const auto same = [&](const ImplementationInfo& info) { return info.name == attempt.implementation; };
  if (std::ranges::none_of(*offered, same)) return std::string();
  auto plan = PreparedPlan::Make(device, data.problem, attempt.implementation, layout);
  if (!plan) return tl::unexpected(plan.error());
  const std::shared_ptr<const Twin> twin = by.twins.empty() ? nullptr : by.twins[CodedTwin(by)].Get();
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

void JudgeOtherLayouts(CaseContext& context, const Device& device, const ContractData& by, Attempt& attempt) {
  const Problem& problem = context.problem();
  if (problem.flops > kMostPaddedFlops || problem.bytes > kMostPaddedBytes) return;
  const Span span(Phase::kPadded);
  for (const auto& [variant, how] : kOtherLayouts) {
    if (!IsOther(variant, problem)) continue;
    const auto found = ProblemIn(variant, context, device, by, attempt);
    if (!found) {
      if (found.error().outcome == Outcome::kUnsupported) continue;
      return attempt.SetFailure({found.error().outcome, fmt::format("{}: {}", how, found.error().message)});
    }
    if (found->empty()) continue;
    return attempt.SetVerdict(Verdict::kMismatch, ResultClass::kNone, fmt::format("{}: {}", how, *found));
  }
}

}  // namespace assay

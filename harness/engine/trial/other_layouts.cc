// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/other_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/core/base/profile.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/judge/judge_output.h"

namespace assay {
namespace {

// Larger cases are not run once more for other layouts; on a slow implementation of one GFLOP/s it takes 0.2 s. Numbers
// of the case and no times, so that what is checked depends neither on the load nor on what a first execution compiles.
constexpr double kMostPaddedFlops = 2e8, kMostPaddedBytes = 0x1p26;

struct OtherLayout {
  LayoutVariant variant;
  std::string_view name, how;
};
constexpr OtherLayout kOtherLayouts[] = {
    {{.element_offset = 1, .row_padding = 3}, "padded", "with padded rows and an unaligned start"},
    {{.permuted = true}, "permuted", "with the axes in another order (channels last, matrices transposed)"},
};

// Whether an operand lies otherwise in it than in row-major order.
bool IsOther(const LayoutVariant& variant, const Problem& problem) {
  if (!variant.permuted) return true;
  const auto is_other = [](const Operand& operand) {
    return PermutedStrides(operand.shape) != RowMajorStrides(operand.shape);
  };
  return std::ranges::any_of(problem.inputs, is_other) || std::ranges::any_of(problem.outputs, is_other);
}

// Data that is executed with other layouts: a twin, or null for the case's own data.
using Probe = const CachedTwin*;

// Picks for each output the twin whose sums climb, or else the last one that tells terms apart, or else the case's own
// data. Twins that are mostly zeros do not show what is read.
std::vector<Probe> ProbesOf(const ContractData& by) {
  constexpr size_t kCoded = 2;
  std::vector<Probe> of_outputs(by.outputs.size()), probes;
  std::vector<size_t> seen(by.outputs.size());
  for (const CachedTwin& twin : by.twins) {
    if (!twin.IsSparse() && seen[twin.output()]++ < kCoded) of_outputs[twin.output()] = &twin;
  }
  for (const Probe probe : of_outputs) {
    if (std::ranges::find(probes, probe) == probes.end()) probes.push_back(probe);
  }
  return probes;
}

// Which of the twins it is.
int NumberOf(Probe probe, const ContractData& by) {
  const auto place = std::ranges::find_if(by.twins, [&](const CachedTwin& twin) { return &twin == probe; });
  return probe == nullptr ? KeptOutputSet::kOwn : static_cast<int>(place - by.twins.begin());
}

OutputProblem ProblemOf(const TrialContext& context, const ContractData& by, const Contract& contract, Probe probe,
                        std::vector<Tensor>& outputs) {
  const PreparedCase& data = context.data();
  if (probe != nullptr) {
    const size_t k = probe->output();
    const TwinResult result = JudgeTwin(*data.op, data.problem, k, *probe->Get(), NumberOf(probe, by), outputs[k]);
    return {result.Holds() ? std::string() : result.Reason(data.problem.outputs[k].shape), k};
  }
  return context.FindFirstProblemOf(by, contract, outputs);
}

void NoteLayout(Attempt& attempt, std::string_view what) {
  attempt.layouts += (attempt.layouts.empty() ? "" : ";") + std::string(what);
}

// Here a plugin may refuse; what it offers has to come.
Call<bool> IsOfferedIn(const LayoutVariant& layout, TrialContext& context, const Device& device,
                       const Attempt& attempt) {
  const auto offered = context.offers().Find(device, context.data().problem, layout);
  if (!offered && offered.error().kind != FailureKind::kUnsupported) return tl::unexpected(offered.error());
  return offered && std::ranges::find(*offered, attempt.implementation, &ImplementationInfo::name) != offered->end();
}

// "" when the results hold there too.
Call<OutputProblem> ProblemIn(const OtherLayout& other, TrialContext& context, const Device& device,
                              const ContractData& by, Attempt& attempt) {
  const PreparedCase& data = context.data();
  auto plan = PreparedPlan::Make(device, data.problem, attempt.implementation, other.variant);
  if (!plan) return tl::unexpected(plan.error());
  OutputProblem found;
  for (const Probe probe : ProbesOf(by)) {
    const std::shared_ptr<const Twin> twin = probe == nullptr ? nullptr : probe->Get();
    auto execution = plan->Execute(twin != nullptr ? twin->inputs : data.inputs, Prefill::kPositive);
    if (!execution) return tl::unexpected(execution.error());
    if (std::string effect = SideEffect(*execution); !effect.empty()) {
      attempt.memory_fault = true;
      found = {effect, execution->damaged_output};
    } else {
      found = ProblemOf(context, by, attempt.contract, probe, execution->outputs);
      if (!found.what.empty()) {
        found.what = NamingOutput(data.problem, found.output) + found.what;
        attempt.kept.push_back({std::string(other.name), NumberOf(probe, by), std::move(execution->outputs)});
      }
    }
    if (!found.what.empty()) break;
  }
  if (const Call<void> freed = plan->Release(); !freed) return tl::unexpected(freed.error());
  return found;
}

}  // namespace

void JudgeOtherLayouts(TrialContext& context, const Device& device, const ContractData& by, Attempt& attempt) {
  if (context.data().whole) return NoteLayout(attempt, "skipped: a sample is judged");
  const Problem& problem = context.problem();
  if (problem.flops > kMostPaddedFlops) return NoteLayout(attempt, "skipped: more than 2e8 operations");
  if (problem.bytes > kMostPaddedBytes) return NoteLayout(attempt, "skipped: more than 64 MiB");
  const Span span(Phase::kPadded);
  for (const OtherLayout& other : kOtherLayouts) {
    if (!IsOther(other.variant, problem)) continue;
    const std::string_view how = other.how;
    const auto fail = [&](const WorkerFailure& failure) {
      attempt.SetFailure({failure.kind, fmt::format("{}: {}", how, failure.message)});
    };
    const Call<bool> offered = IsOfferedIn(other.variant, context, device, attempt);
    if (!offered) return fail(offered.error());
    if (!*offered) {
      NoteLayout(attempt, fmt::format("{}=not offered", other.name));
      continue;
    }
    const auto found = ProblemIn(other, context, device, by, attempt);
    if (!found) return fail(found.error());
    NoteLayout(attempt, other.name);
    if (found->what.empty()) continue;
    attempt.SetVerdictOf(found->output, Verdict::kMismatch, ResultClass::kNone,
                         fmt::format("{}: {}", how, found->what));
    return attempt.SetDecidedBy(attempt.memory_fault ? "memory" : "other layout");
  }
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/tools/explore/threshold_search.h"
#include "ops/slices.h"
#include "ops/subproblem.h"

namespace assay {

std::optional<SliceBits> SliceBits::Make(const SharedCase& bound) {
  const std::vector<SliceableAxis> axes = ListSliceableAxes(*bound->op, bound->problem);
  const auto is_it = [](const SliceableAxis& axis) { return axis.extent == kSlices; };
  if (std::ranges::count_if(axes, is_it) != 1) return std::nullopt;
  auto data = PrepareInputs(*bound);
  if (!data) return std::nullopt;
  SliceBits bits;
  bits.inputs_ = std::move(data->inputs);
  bits.axis_ = static_cast<size_t>(std::ranges::find_if(axes, is_it) - axes.begin());
  return bits;
}

std::string SliceBits::HashOn(const Device& device, const std::string& implementation, const BoundCase& bound) const {
  const std::vector<SliceableAxis> axes = ListSliceableAxes(*bound.op, bound.problem);
  if (axis_ >= axes.size() || axes[axis_].extent < kSlices) return "";
  const SliceCut& cut = axes[axis_].cut;
  std::vector<int64_t> indices(static_cast<size_t>(axes[axis_].extent)), first(kSlices);
  std::iota(first.begin(), first.end(), 0);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i) % kSlices;
  std::vector<Tensor> inputs = ClonesOf(inputs_);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (cut.inputs[k] >= 0) inputs[k] = TakeAlong(inputs_[k], cut.inputs[k], indices);
    if (inputs[k].shape() != bound.problem.inputs[k].shape) return "";
  }
  const auto plan = PreparedPlan::Make(device, bound.problem, implementation);
  if (!plan) return "";
  const auto execution = plan->Execute(inputs, Prefill::kNanPayload);
  if (!execution) return "";
  std::vector<Tensor> slices;
  for (size_t k = 0; k < execution->outputs.size(); ++k) {
    slices.push_back(TakeAlong(execution->outputs[k], cut.outputs[k], first));
  }
  return HashOf(slices);
}

}  // namespace assay

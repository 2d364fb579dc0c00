// SPDX-License-Identifier: Apache-2.0
// reduce by CUB: over everything (`cub-device`) and over rows of equal length (`cub-segmented`).
#include <fmt/format.h>

#include <limits>

#include "backends/common/reduce_spec.h"
#include "backends/common/status.h"
#include "backends/cuda/cub_kernels.h"
#include "backends/cuda/library.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace cuda_backend {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

// The sums that CUB leaves, then division, root and rounding as they are everywhere here.
std::unique_ptr<plugin::Plan> CreateCub(gpu::Device& device, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  const gpu::Tag type = gpu::TagOf(s.in);
  CubReduction r;
  r.type = type, r.outputs = s.outputs, r.count = s.count;
  r.fold = static_cast<gpu::Fold>(s.kind);
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  r.sums = plan->Workspace(static_cast<uint64_t>(s.outputs * gpu::AccumulatorBytes(type)), "CUB");
  r.temporary_bytes = CubTemporaryBytes(r);
  r.temporary = plan->Workspace(r.temporary_bytes, "CUB");
  gpu::ReduceParams last;
  last.y_type = gpu::TagOf(s.out), last.fold = r.fold, last.atomic = 1, last.sums = r.sums;
  last.outputs = s.outputs, last.count = s.count, last.kept_axes = static_cast<int32_t>(s.kept.size());
  for (size_t i = 0; i < s.kept.size(); ++i) {
    last.kept_size[i] = s.kept[i].size, last.kept_in[i] = 0, last.kept_out[i] = s.kept[i].out_stride;
  }
  plan->SetAlgorithm(s.outputs == 1 ? "cub::DeviceReduce" : "cub::DeviceSegmentedReduce");
  plan->Add("", [r](const gpu::Bound& at) mutable {
    r.x = at.Input(0);
    if (const std::string error = LaunchCub(r, at.stream()); !error.empty()) ThrowFailure("CUB", error);
  });
  plan->Add("FinishReduce", [type, last](const gpu::Bound& at) mutable {
    last.y = at.Output();
    gpu::LaunchFinishReduce(type, last, at.stream());
  });
  return plan;
}

// Rows one after the other, whose elements lie one after the other.
bool AreDenseRows(const ReduceSpec& s) {
  if (s.reduced.size() != 1 || s.reduced[0].in_stride != 1) return false;
  int64_t expected = s.count;
  for (size_t i = s.kept.size(); i-- > 0; expected *= s.kept[i].size) {
    if (s.kept[i].size > 1 && s.kept[i].in_stride != expected) return false;
  }
  return true;
}

std::string CubWhyNot(const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (s.kind != ReduceKind::kSum && s.kind != ReduceKind::kMean && s.kind != ReduceKind::kL2) {
    return "CUB is offered for sum, mean and l2";
  }
  if (s.count == 0 || s.outputs == 0) return "reduce of an empty extent has no defined value for every kind";
  if (s.kept.size() > gpu::kMostAxes) return fmt::format("more than {} kept axes", gpu::kMostAxes);
  if (std::string reason = gpu::FloatTypesWhyNot(op); !reason.empty()) return reason;
  if (s.count > std::numeric_limits<int>::max() || s.outputs > std::numeric_limits<int>::max()) {
    return "CUB is offered for lengths that fit into an int";
  }
  return AreDenseRows(s) ? "" : "CUB needs dense rows";
}

std::string CubDeviceWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  return plugin::ParseReduce(op).outputs == 1 ? CubWhyNot(op) : "cub-device is for a single output";
}

std::string CubSegmentedWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  return plugin::ParseReduce(op).outputs > 1 ? CubWhyNot(op) : "cub-segmented is for several outputs";
}

// In which order CUB adds is its own affair: nothing is claimed of it.
std::string CubContract(const gpu::Traits&, const plugin::OpDesc& op) {
  return plugin::ParseReduce(op).IsF64() ? "f64" : "f32acc";
}

constexpr gpu::Row kCubRows[] = {
    {{"reduce", plugin::kRealTypes, "cub-device", plugin::kDense}, CubContract, CubDeviceWhyNot, CreateCub},
    {{"reduce", plugin::kRealTypes, "cub-segmented", plugin::kDense}, CubContract, CubSegmentedWhyNot, CreateCub},
};

}  // namespace

std::span<const gpu::Row> CubRows() {
  return kCubRows;
}

}  // namespace cuda_backend

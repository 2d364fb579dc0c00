// SPDX-License-Identifier: Apache-2.0
// reduce over any axes: `sequential`, a thread per output; `tree`, a block per output; `split`, several blocks per
// output whose parts are added in order, and `atomic`, whose parts are added as they come.
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/reduce_spec.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

constexpr int64_t kReducePart = 16384;  // elements that are worth a block
constexpr int64_t kMostReduceParts = 1024;

// Depends on the length alone, so that a row's bits do not depend on the rows beside it.
int64_t ReducePartsOf(int64_t count) {
  return std::clamp<int64_t>(CeilDiv(count, kReducePart), 2, kMostReduceParts);
}

ReduceParams ReduceParamsOf(const ReduceSpec& s) {
  ReduceParams p;
  p.y_type = TagOf(s.out), p.fold = static_cast<Fold>(s.kind), p.skip_nan = s.ignore_nan;
  p.outputs = s.outputs, p.count = s.count, p.parts = 1, p.part = s.count;
  p.kept_axes = static_cast<int32_t>(s.kept.size()), p.reduced_axes = static_cast<int32_t>(s.reduced.size());
  for (size_t i = 0; i < s.kept.size(); ++i) {
    p.kept_size[i] = s.kept[i].size, p.kept_in[i] = s.kept[i].in_stride, p.kept_out[i] = s.kept[i].out_stride;
  }
  for (size_t i = 0; i < s.reduced.size(); ++i) {
    p.reduced_size[i] = s.reduced[i].size, p.reduced_in[i] = s.reduced[i].in_stride;
  }
  return p;
}

template <bool kTree>
std::unique_ptr<plugin::Plan> CreateReduce(Device& device, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  const std::string kernel = fmt::format("{}{}", kTree ? "Tree" : "Sequential", s.IsArg() ? "Arg" : "Reduce");
  plan->Add(kernel, [type = TagOf(s.in), p = ReduceParamsOf(s)](const Bound& at) mutable {
    p.x = at.Input(0), p.y = at.Output();
    (kTree ? LaunchTreeReduce : LaunchSequentialReduce)(type, p, at.stream());
  });
  return plan;
}

template <bool kAtomic>
std::unique_ptr<plugin::Plan> CreateInParts(Device& device, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  const Tag type = TagOf(s.in);
  ReduceParams p = ReduceParamsOf(s);
  // Whole packs of 16 elements, so that every part but the last is loaded alike.
  p.parts = ReducePartsOf(s.count), p.part = CeilDiv(CeilDiv(s.count, p.parts), 16) * 16;
  p.parts = std::max<int64_t>(CeilDiv(s.count, p.part), 2), p.atomic = kAtomic;
  auto plan = std::make_unique<KernelPlan>(device, op);
  const auto bytes = static_cast<uint64_t>(s.outputs * (kAtomic ? 1 : p.parts) * AccumulatorBytes(type));
  p.sums = plan->Workspace(bytes);
  if (kAtomic) plan->Add("", [&device, bytes, sums = p.sums](const Bound&) { device.queue().Fill(sums, 0, bytes); });
  plan->Add("TreeReduce", [type, p](const Bound& at) mutable {
    p.x = at.Input(0);
    LaunchTreeReduce(type, p, at.stream());
  });
  plan->Add("FinishReduce", [type, p](const Bound& at) mutable {
    p.y = at.Output();
    LaunchFinishReduce(type, p, at.stream());
  });
  return plan;
}

// Checks the conditions of every kernel except that its grid can be launched.
std::string ReduceWhyNot(const ReduceSpec& s, const plugin::OpDesc& op) {
  if (std::string reason = plugin::ReduceShapeWhyNot(s, kMostAxes); !reason.empty()) return reason;
  if (s.IsIntegerSum() && s.count > plugin::kMostI8Terms) {
    return fmt::format("a sum of {} i8 can overflow the 32-bit accumulator", s.count);
  }
  const bool float_in = plugin::IsFloat(s.in);
  if (!s.IsIntegerSum() && !(s.IsArg() ? float_in && s.out == plugin::kI64 : FloatTypesWhyNot(op).empty())) {
    return fmt::format("reduce computes f64, or f32, f16 and bf16 (argmax and argmin to i64) and i8-i32 sums, not {}",
                       op.DTypesText());
  }
  if (std::string reason = plugin::NanPolicyWhyNot(s); !reason.empty()) return reason;
  return "";
}

std::string SequentialWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (std::string reason = ReduceWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(CeilDiv(s.outputs, kReduceThreads)), kReduceThreads);
}

std::string TreeWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (std::string reason = ReduceWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(s.outputs), kReduceThreads);
}

std::string PartsWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (s.IsArg() || s.kind == ReduceKind::kLogSumExp) return "its parts are no sums, products or extremes: use tree";
  if (s.count < 2 * 16) return fmt::format("{} elements are no two parts", s.count);
  if (std::string reason = ReduceWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(s.outputs) * static_cast<double>(ReducePartsOf(s.count)),
                      kReduceThreads);
}

std::string AtomicWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceKind kind = plugin::ParseReduce(op).kind;
  if (kind != ReduceKind::kSum && kind != ReduceKind::kMean && kind != ReduceKind::kL2) {
    return "atomics add: they make sum, mean and l2";
  }
  return PartsWhyNot(traits, op);
}

std::string ReduceContract(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  const double math = s.kind == ReduceKind::kLogSumExp ? traits.exp_ulp : 0;
  return ContractText(TagOf(s.in), math) + (s.ignore_nan ? ";nan=ignore" : "");
}

std::string AtomicContract(const Traits& traits, const plugin::OpDesc& op) {
  const Tag type = TagOf(plugin::ParseReduce(op).in);
  if (type == Tag::kI8) return "acc=i32;det=yes;batchinv=yes";
  if (type == Tag::kF64) return "f64";
  return traits.atomics_flush ? "f32acc;ftz=out" : "f32acc";
}

constexpr Row kReduceRows[] = {
    {{"reduce", plugin::kRealTypesAndI8, "sequential"}, ReduceContract, SequentialWhyNot, CreateReduce<false>},
    {{"reduce", plugin::kRealTypesAndI8, "tree"}, ReduceContract, TreeWhyNot, CreateReduce<true>},
    {{"reduce", plugin::kRealTypesAndI8, "split"}, ReduceContract, PartsWhyNot, CreateInParts<false>},
    {{"reduce", plugin::kRealTypesAndI8, "atomic"}, AtomicContract, AtomicWhyNot, CreateInParts<true>},
};

}  // namespace

std::span<const Row> ReduceRows() {
  return kReduceRows;
}

}  // namespace gpu

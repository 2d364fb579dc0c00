// SPDX-License-Identifier: Apache-2.0
// reduce over any axes: `sequential`, one work-item per output in row-major order, and `tree`, a group per output.
#include <fmt/format.h>

#include "backends/common/reduce_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

constexpr size_t kMostAxes = 8;
constexpr int64_t kGroup = 64;

// Must match the layout in kernels/reduce_axes.cl.
struct ReduceParams {
  int64_t kind, skips_nan, outputs, count, kept_axes, reduced_axes;
  int64_t kept_size[kMostAxes], kept_in[kMostAxes], kept_out[kMostAxes];
  int64_t reduced_size[kMostAxes], reduced_in[kMostAxes];
};

ReduceParams ParamsOf(const ReduceSpec& s) {
  ReduceParams p{.kind = static_cast<int64_t>(s.kind),
                 .skips_nan = s.ignore_nan,
                 .outputs = s.outputs,
                 .count = s.count,
                 .kept_axes = std::ssize(s.kept),
                 .reduced_axes = std::ssize(s.reduced)};
  for (size_t i = 0; i < s.kept.size(); ++i) {
    p.kept_size[i] = s.kept[i].size, p.kept_in[i] = s.kept[i].in_stride, p.kept_out[i] = s.kept[i].out_stride;
  }
  for (size_t i = 0; i < s.reduced.size(); ++i) {
    p.reduced_size[i] = s.reduced[i].size, p.reduced_in[i] = s.reduced[i].in_stride;
  }
  return p;
}

// One program for all kinds of two types: a driver takes longer to compile it than most reductions take.
ProgramSpec ReduceProgram(const ReduceSpec& s, Accumulator acc) {
  ProgramSpec program{{"reduce_axes.cl", s.IsArg() ? "reduce_arg.cl" : "reduce.cl"}, acc, {}};
  program.options.Type("X", s.in).Type("Y", s.out).Define("GROUP", kGroup);
  return program;
}

template <bool kTree>
std::unique_ptr<plugin::Plan> CreateReduce(Device& device, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  const int64_t groups = kTree ? s.outputs : (s.outputs + kGroup - 1) / kGroup;
  const bool of_exponentials = s.kind == ReduceKind::kLogSumExp;
  const char* kernel = kTree ? (of_exponentials ? "tree_of_exponentials" : "tree")
                             : (of_exponentials ? "sequential_of_exponentials" : "sequential");
  plan->Launch(ReduceProgram(s, AccumulatorOf(op)), kernel, {plan->Input(0), plan->Output()}, ParamsOf(s),
               kTree ? RowOfGroups(groups, kGroup) : Grid{{static_cast<size_t>(groups), 1, 1}, {kGroup, 1, 1}});
  return plan;
}

std::string ReduceWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (std::string reason = plugin::ReduceShapeWhyNot(s, kMostAxes); !reason.empty()) return reason;
  if (s.IsIntegerSum() && s.count > plugin::kMostI8Terms) {
    return fmt::format("a sum of {} i8 can overflow the int accumulator", s.count);
  }
  if (!s.IsIntegerSum() && (!plugin::IsFloat(s.in) || !(s.IsArg() ? s.out == plugin::kI64 : plugin::IsFloat(s.out)))) {
    return fmt::format("reduce computes f64, f32, f16, bf16 (argmax and argmin to i64) and i8-i32 sums, not {}",
                       op.DTypesText());
  }
  if (std::string reason = plugin::NanPolicyWhyNot(s); !reason.empty()) return reason;
  return OperandsWhyNot(traits, op);
}

std::string ReduceContract(const Traits& traits, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  const Math math = s.kind == ReduceKind::kMean        ? Math::kDivide
                    : s.kind == ReduceKind::kL2        ? Math::kSqrt
                    : s.kind == ReduceKind::kLogSumExp ? Math::kExpLog
                                                       : Math::kNone;
  return ContractText(traits, AccumulatorOf(op), math) + (s.ignore_nan ? ";nan=ignore" : "");
}

constexpr Row kReduceRows[] = {
    {{"reduce", plugin::kRealTypesAndI8, "sequential"}, ReduceContract, ReduceWhyNot, CreateReduce<false>, true},
    {{"reduce", plugin::kRealTypesAndI8, "tree"}, ReduceContract, ReduceWhyNot, CreateReduce<true>, true},
};

}  // namespace

std::span<const Row> ReduceRows() {
  return kReduceRows;
}

}  // namespace opencl

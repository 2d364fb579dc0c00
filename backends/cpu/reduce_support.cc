// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/reduce_support.h"

#include <fmt/format.h>

namespace cpu {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

bool IsNanAware(ReduceKind kind) {
  return kind == ReduceKind::kMax || kind == ReduceKind::kMin || kind == ReduceKind::kArgMax ||
         kind == ReduceKind::kArgMin;
}

}  // namespace

std::string ReduceWhyNot(const plugin::OpDesc& op) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  if (spec.reduced.empty()) return "reduce without axes";
  if (spec.count == 0 || spec.outputs == 0) return "reduce of an empty extent has no defined value for every kind";
  if (!plugin::IsFloat(spec.in) || !(spec.IsArg() ? spec.out == plugin::kI64 : plugin::IsFloat(spec.out))) {
    return fmt::format("reduce computes f64, f32, f16, bf16 (argmax and argmin to i64), not {}", op.DTypesText());
  }
  if (spec.ignore_nan && !IsNanAware(spec.kind)) return "nan=ignore is offered for max, min, argmax and argmin only";
  return "";
}

std::string FoldWhyNot(const plugin::OpDesc& op) {
  if (plugin::ParseReduce(op).IsArg()) return "argmax and argmin are a scan in index order: use sequential";
  return ReduceWhyNot(op);
}

std::string ReduceContract(const plugin::OpDesc& op) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  const bool has_function = spec.kind == ReduceKind::kMean || spec.kind == ReduceKind::kL2 ||
                            spec.kind == ReduceKind::kLogSumExp;  // division, sqrt, exp and log of glibc: under 1 ulp
  return fmt::format("{};{}{}det=yes;batchinv=yes", spec.IsF64() ? "f64" : "f32acc", has_function ? "math=1;" : "",
                     spec.ignore_nan ? "nan=ignore;" : "");
}

}  // namespace cpu

// SPDX-License-Identifier: Apache-2.0
// Which reduce descriptions the cpu backend takes, and the arithmetic that it declares for them.
#include <fmt/format.h>

#include "backends/common/reduce_spec.h"
#include "backends/cpu/reduce.h"

namespace cpu {
using plugin::ReduceKind;
using plugin::ReduceSpec;

std::string ReduceWhyNot(const plugin::OpDesc& op) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  if (std::string reason = plugin::ReduceShapeWhyNot(spec); !reason.empty()) return reason;
  if (!plugin::IsFloat(spec.in) || !(spec.IsArg() ? spec.out == plugin::kI64 : plugin::IsFloat(spec.out))) {
    return fmt::format("reduce computes f64, f32, f16, bf16 (argmax and argmin to i64), not {}", op.DTypesText());
  }
  return plugin::NanPolicyWhyNot(spec);
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

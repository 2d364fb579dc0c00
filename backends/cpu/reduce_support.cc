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
  const bool folds_integers = spec.kind == ReduceKind::kSum || spec.kind == ReduceKind::kProd || spec.SelectsElement();
  const bool is_integer = plugin::IsInteger(spec.in) && folds_integers;
  const bool fits = spec.IsArg() ? spec.out == plugin::kI64
                    : is_integer ? plugin::IsInteger(spec.out)
                                 : plugin::IsFloat(spec.out);
  if (!fits || !(is_integer || plugin::IsFloat(spec.in))) {
    return fmt::format(
        "reduce computes f64, f32, f16, bf16, and sum, prod, max and min of integers (argmax and argmin to i64), not "
        "{}",
        op.DTypesText());
  }
  return plugin::NanPolicyWhyNot(spec);
}

std::string FoldWhyNot(const plugin::OpDesc& op) {
  if (plugin::ParseReduce(op).IsArg()) return "argmax and argmin are a scan in index order: use sequential";
  return ReduceWhyNot(op);
}

std::string ReduceContract(const plugin::OpDesc& op) {
  const ReduceSpec spec = plugin::ParseReduce(op);
  if (plugin::IsInteger(spec.in)) return "acc=i32;det=yes;batchinv=yes";
  const bool has_function = spec.kind == ReduceKind::kMean || spec.kind == ReduceKind::kL2 ||
                            spec.kind == ReduceKind::kLogSumExp;  // division, sqrt, exp and log of glibc: under 1 ulp
  return fmt::format("{};{}{}det=yes;batchinv=yes", spec.IsF64() ? "f64" : "f32acc", has_function ? "math=1;" : "",
                     spec.ignore_nan ? "nan=ignore;" : "");
}

}  // namespace cpu

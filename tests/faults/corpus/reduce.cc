// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace {

bool IsIntegerHere(plugin::DType d) {
  return d == plugin::kI8 || d == plugin::kI32;
}

bool IsSelection(const plugin::ReduceSpec& s) {
  return s.IsArg() || s.kind == ReduceKind::kMax || s.kind == ReduceKind::kMin;
}

}  // namespace

std::string ReduceWhyNot(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  if (s.reduced.empty() || s.count == 0 || s.outputs == 0) return "the corpus reduces extents that are not empty";
  const bool effect = s.out == plugin::kF64;
  if (IsIntegerHere(s.in)) {
    const bool sum = s.kind == ReduceKind::kSum && s.in == plugin::kI8;
    const bool known = effect || (s.IsArg() ? s.out == plugin::kI64 : s.out == (sum ? plugin::kI32 : s.in));
    if ((sum || IsSelection(s)) && known) return "";
  } else if (plugin::IsFloat(s.in) && (effect || (s.IsArg() ? s.out == plugin::kI64 : plugin::IsFloat(s.out)))) {
    return "";
  }
  return fmt::format("the corpus has no reduction {}", op.DTypesText());
}

std::string ReduceClass(Description op, const std::string& acc) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  const bool has_function =
      s.kind == ReduceKind::kMean || s.kind == ReduceKind::kL2 || s.kind == ReduceKind::kLogSumExp;
  return fmt::format("{}{}{}",
                     IsIntegerHere(s.in) ? "acc=i32"
                     : s.IsF64()         ? "f64"
                                         : acc,
                     has_function ? ";math=2" : "", s.ignore_nan ? ";nan=ignore" : "");
}

std::string ReduceContract(Description op) {
  return ReduceClass(op, "f32acc") + ";det=yes;batchinv=yes";
}

bool IsSummation(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return !IsSelection(s) && s.kind != ReduceKind::kProd;
}

}  // namespace corpus

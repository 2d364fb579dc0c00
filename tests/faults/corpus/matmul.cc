// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {

std::string MatmulWhyNot(const plugin::OpDesc& op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const bool integers = s.a.dtype == plugin::kI8 && s.b.dtype == plugin::kI8;
  const auto is_factor = [](plugin::DType d) { return plugin::IsFloat(d) || IsFp8(d); };
  if (!integers && !(is_factor(s.a.dtype) && is_factor(s.b.dtype))) {
    return fmt::format("the corpus multiplies f64, f32, f16, bf16, fp8 and i8, not {}", op.DTypesText());
  }
  if (!plugin::IsFloat(s.y.dtype) && !(integers && s.y.dtype == plugin::kI32)) {
    return fmt::format("the corpus has no product {}", op.DTypesText());
  }
  return "";
}

std::string MatmulContract(const plugin::OpDesc& op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const char* acc = s.a.dtype == plugin::kI8 ? "acc=i32" : s.IsF64() ? "f64" : "f32acc";
  return fmt::format("{};det=yes;batchinv=yes", acc);
}

bool HasInputs(const plugin::OpDesc& op, plugin::DType dtype) {
  return op.inputs()[0].dtype == dtype;
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Which matmul descriptions the cpu backend takes, and the arithmetic that it declares for them.
#include <fmt/format.h>

#include "backends/common/matmul_spec.h"
#include "backends/cpu/matmul.h"

namespace cpu {
using plugin::MatmulSpec;

std::string MatmulWhyNot(const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.IsEmpty()) return "matmul with an extent below 1";
  if (s.IsInteger()) return plugin::IntegerMatmulWhyNot(s);
  if (op.AllTypes(plugin::IsFloat)) return "";
  return fmt::format("matmul computes f64, f32, f16, bf16 in any combination and i8-i8-i32, not {}", op.DTypesText());
}

std::string MatmulContract(const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const char* acc = s.IsInteger() ? "acc=i32" : s.IsF64() ? "f64" : "f32acc";
  return fmt::format("{};det=yes;batchinv=yes", acc);
}

}  // namespace cpu

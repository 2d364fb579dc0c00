// SPDX-License-Identifier: Apache-2.0
// Which conv descriptions the cpu backend takes, and the arithmetic that it declares for them.
#include <fmt/format.h>

#include "backends/common/conv_spec.h"
#include "backends/cpu/conv.h"

namespace cpu {

std::string ConvWhyNot(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) return plugin::IntegerConvWhyNot(s, false);
  if (op.AllTypes(plugin::IsFloat)) return "";
  return fmt::format("conv computes f64, f32, f16, bf16 in any combination and i8-i8-i32, not {}", op.DTypesText());
}

std::string ConvWinogradWhyNot(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  if (s.IsInteger()) return "Winograd halves integers: use direct or im2col";
  if (!s.IsWinograd()) return "Winograd takes two dimensions, k=3x3, stride=1 and dilation=1 only";
  return ConvWhyNot(op);
}

std::string ConvContract(const plugin::OpDesc& op) {
  const plugin::ConvSpec s = plugin::ParseConv(op);
  return fmt::format("{};det=yes;batchinv=yes", s.IsInteger() ? "acc=i32" : s.IsF64() ? "f64" : "f32acc");
}

std::string ConvWinogradContract(const plugin::OpDesc& op) {
  return "alg=winograd<2,3>;" + ConvContract(op);
}

}  // namespace cpu

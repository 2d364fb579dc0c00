// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul_support.h"

#include <fmt/format.h>

#include <cmath>

namespace cpu {
namespace {

using plugin::MatmulSpec;
using plugin::Matrix;

bool IsSmallInteger(double x) {
  return std::abs(x) <= 65536 && x == std::trunc(x);
}

// The longest k whose int32 sum cannot overflow: 2^14 is the largest |product| of two i8.
constexpr int64_t kMaxIntegerK = (int64_t{1} << 17) - 1;

std::string IntegerWhyNot(const MatmulSpec& s) {
  if (s.a.dtype != plugin::kI8 || s.b.dtype != plugin::kI8) return "the only integer matmul is i8-i8-i32";
  if (s.k > kMaxIntegerK) return fmt::format("k={} can overflow the int32 accumulator; at most {}", s.k, kMaxIntegerK);
  if (s.alpha != 1 || !IsSmallInteger(s.beta)) return "an integer matmul takes alpha=1 and an integer beta only";
  for (const Matrix* addend : {&s.c, &s.bias}) {
    if (addend->input >= 0 && addend->dtype != plugin::kI32 && addend->dtype != plugin::kI8) {
      return "an integer matmul adds i32 or i8 operands only";
    }
  }
  return "";
}

}  // namespace

std::string MatmulWhyNot(const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.batch < 1) return "matmul with an extent below 1";
  if (s.IsInteger()) return IntegerWhyNot(s);
  for (const auto* tensors : {&op.inputs(), &op.outputs()}) {
    for (const plugin::Tensor& tensor : *tensors) {
      if (plugin::IsFloat(tensor.dtype)) continue;
      return fmt::format("matmul computes f64, f32, f16, bf16 in any combination and i8-i8-i32, not {}",
                         op.DTypesText());
    }
  }
  return "";
}

std::string MatmulContract(const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const char* acc = s.IsInteger() ? "acc=i32" : s.IsF64() ? "f64" : "f32acc";
  return fmt::format("{};det=yes;batchinv=yes", acc);
}

}  // namespace cpu

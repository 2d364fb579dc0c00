// SPDX-License-Identifier: Apache-2.0
// Says for matmul, conv, reduce and fft which descriptions the cpu backend takes, and the arithmetic that it declares.
#include <fmt/format.h>

#include "backends/common/conv_spec.h"
#include "backends/common/fft_spec.h"
#include "backends/common/matmul_spec.h"
#include "backends/common/reduce_spec.h"
#include "backends/cpu/conv.h"
#include "backends/cpu/kernels.h"

namespace cpu {
using plugin::FftSpec;
using plugin::MatmulSpec;
using plugin::ReduceKind;
using plugin::ReduceSpec;

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

std::string FftWhyNot(const plugin::OpDesc& op, FftAlgorithm algorithm) {
  const FftSpec spec = plugin::ParseFft(op);
  if (std::string reason = plugin::FftTypesWhyNot(op, spec); !reason.empty()) return reason;
  for (const int64_t n : spec.n) {
    if (algorithm == FftAlgorithm::kDirect && n > kLongestDirect) {
      return fmt::format("n={} is too long for the direct sum; at most {}", n, kLongestDirect);
    }
    const int64_t largest = plugin::LargestPrimeFactor(n);
    if (algorithm == FftAlgorithm::kRadix && largest > kLargestRadix) {
      return fmt::format("n={} has the prime factor {}; radix butterflies go up to {}", n, largest, kLargestRadix);
    }
  }
  return "";
}

// Tables in f32 are rounded from double: nearest but for rare ties. In f64 they are libm's, under 1 ulp.
std::string FftContract(const plugin::OpDesc& op, FftAlgorithm algorithm) {
  const char* name = algorithm == FftAlgorithm::kDirect      ? "direct"
                     : algorithm == FftAlgorithm::kBluestein ? "bluestein"
                                                             : "fft";
  return fmt::format("{};alg={};{}det=yes;batchinv=yes", plugin::ParseFft(op).wide ? "f64" : "f32", name,
                     plugin::ParseFft(op).wide ? "math=1;" : "math=0.51;");
}

}  // namespace cpu

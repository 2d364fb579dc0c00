// SPDX-License-Identifier: Apache-2.0
// Which fft descriptions the cpu backend takes, and the arithmetic that it declares for them.
#include <fmt/format.h>

#include "backends/common/fft_spec.h"
#include "backends/cpu/fft.h"

namespace cpu {
namespace {

using plugin::FftKind;
using plugin::FftSpec;

bool TypesFit(const plugin::OpDesc& op, const FftSpec& spec) {
  const plugin::DType real = spec.wide ? plugin::kF64 : plugin::kF32,
                      complex = spec.wide ? plugin::kC128 : plugin::kC64;
  return op.inputs()[0].dtype == (spec.kind == FftKind::kR2C ? real : complex) &&
         op.outputs()[0].dtype == (spec.kind == FftKind::kC2R ? real : complex);
}

}  // namespace

std::string FftWhyNot(const plugin::OpDesc& op, FftAlgorithm algorithm) {
  const FftSpec spec = plugin::ParseFft(op);
  if (!TypesFit(op, spec)) {
    return fmt::format("fft computes c64 and c128, f32-c64 and f64-c128 (r2c), c64-f32 and c128-f64 (c2r), not {}",
                       op.DTypesText());
  }
  for (const int64_t n : spec.n) {
    if (algorithm == FftAlgorithm::kDirect && n > kLongestDirect) {
      return fmt::format("n={} is too long for the direct sum; at most {}", n, kLongestDirect);
    }
    const auto factors = PrimeFactors(n);
    if (algorithm == FftAlgorithm::kRadix && !factors.empty() && factors.back() > kLargestRadix) {
      return fmt::format("n={} has the prime factor {}; radix butterflies go up to {}", n, factors.back(),
                         kLargestRadix);
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

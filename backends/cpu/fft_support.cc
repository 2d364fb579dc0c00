// SPDX-License-Identifier: Apache-2.0
// Which fft descriptions the cpu backend takes, and the arithmetic that it declares for them.
#include <fmt/format.h>

#include "backends/common/fft_spec.h"
#include "backends/cpu/fft.h"

namespace cpu {
using plugin::FftSpec;

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

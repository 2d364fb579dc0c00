// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tests/faults/corpus/fft_kernel.h"

namespace corpus {

std::string FftWhyNot(Description op) {
  const plugin::DType x = op.inputs()[0].dtype, y = op.outputs()[0].dtype;
  const auto is_one_of = [](plugin::DType d, std::initializer_list<plugin::DType> all) {
    return std::ranges::find(all, d) != all.end();
  };
  const auto known = {plugin::kF32, plugin::kF64, plugin::kC64, plugin::kC128};
  return is_one_of(x, known) && is_one_of(y, known) ? "" : fmt::format("the corpus has no fft {}", op.DTypesText());
}

std::string FftClass(Description op, const std::string& algorithm) {
  return fmt::format("{};alg={};det=yes;batchinv=yes", plugin::ParseFft(op).wide ? "f64" : "f32", algorithm);
}

std::string FftContract(Description op) {
  return FftClass(op, "fft");
}
std::string FftBluesteinContract(Description op) {
  return FftClass(op, "bluestein");
}

bool ArePowersOfTwo(const FftSpec& s) {
  return std::ranges::all_of(s.n, [](int64_t n) { return (n & (n - 1)) == 0; });
}

bool AreSmooth(const FftSpec& s) {
  return std::ranges::all_of(s.n, [](int64_t n) { return LargestFactor(n) <= 31; });
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
#include "backends/common/fft_spec.h"

#include <algorithm>
#include <cmath>

#include "backends/common/status.h"

namespace plugin {
namespace {

FftKind KindOf(const std::string& text) {
  if (text == "c2c") return FftKind::kC2C;
  if (text == "r2c") return FftKind::kR2C;
  if (text == "c2r") return FftKind::kC2R;
  throw Failure("fft: kind='{}' is none of c2c, r2c and c2r", text);
}

void CheckShape(const Tensor& tensor, const FftSpec& spec, int64_t row) {
  std::vector<int64_t> expected{spec.batch};
  expected.insert(expected.end(), spec.n.begin(), spec.n.end());
  expected.back() = row;
  if (tensor.shape == expected) return;
  throw Failure("fft: operand '{}' has shape {}, but the attributes imply {}", tensor.name, ShapeText(tensor.shape),
                ShapeText(expected));
}

void SetScale(const std::string& norm, FftSpec& spec) {
  const auto points = static_cast<double>(spec.Points());
  if (norm == "ortho") {
    spec.scale = 1 / std::sqrt(points), spec.scaled = true;
  } else if (norm == "backward") {
    if (spec.inverse) spec.scale = 1 / points, spec.scaled = true;
  } else if (norm != "none") {
    throw Failure("fft: norm='{}' is none of none, ortho and backward", norm);
  }
}

}  // namespace

int64_t FftSpec::Points() const {
  int64_t points = 1;
  for (const int64_t length : n) points *= length;
  return points;
}

int64_t FftSpec::StoredRow(bool out) const {
  const bool half = kind == (out ? FftKind::kR2C : FftKind::kC2R);
  return half ? n.back() / 2 + 1 : n.back();
}

FftSpec ParseFft(const OpDesc& op) {
  FftSpec spec;
  spec.kind = KindOf(op.AttrString("kind"));
  spec.n = op.AttrList("n"), spec.batch = op.AttrInt("batch");
  const std::string& dir = op.AttrString("dir");
  if (dir != "fwd" && dir != "inv") throw Failure("fft: dir='{}' is neither fwd nor inv", dir);
  spec.inverse = dir == "inv";
  if (spec.n.empty()) throw Failure("fft: n is empty");
  for (const int64_t length : spec.n) {
    if (length < 1 || spec.batch < 0) throw Failure("fft: an extent below 1");
  }
  if (spec.batch == 0) throw Unsupported("fft of no transforms");
  if (op.inputs().size() != 1 || op.outputs().size() != 1) {
    throw Failure("fft: {} inputs and {} outputs; expected one of each", op.inputs().size(), op.outputs().size());
  }
  const Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  CheckShape(x, spec, spec.StoredRow(false));
  CheckShape(y, spec, spec.StoredRow(true));
  spec.wide = x.dtype == kF64 || x.dtype == kC128;
  spec.x_strides = x.strides, spec.y_strides = y.strides;
  SetScale(op.AttrString("norm"), spec);
  return spec;
}

std::string FftTypesWhyNot(const OpDesc& op, const FftSpec& spec) {
  const DType real = spec.wide ? kF64 : kF32, complex = spec.wide ? kC128 : kC64;
  if (op.inputs()[0].dtype == (spec.kind == FftKind::kR2C ? real : complex) &&
      op.outputs()[0].dtype == (spec.kind == FftKind::kC2R ? real : complex)) {
    return "";
  }
  return fmt::format("fft computes c64 and c128, f32-c64 and f64-c128 (r2c), c64-f32 and c128-f64 (c2r), not {}",
                     op.DTypesText());
}

std::string RadixStagesWhyNot(const FftSpec& spec, int64_t largest_radix) {
  for (const int64_t length : spec.n) {
    const int64_t largest = LargestPrimeFactor(length);
    if (largest <= largest_radix) continue;
    return fmt::format("n={} has the prime factor {}; radix stages go up to {}", length, largest, largest_radix);
  }
  return "";
}

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

int64_t LargestPrimeFactor(int64_t n) {
  const std::vector<int64_t> factors = PrimeFactors(n);
  return factors.empty() ? 1 : factors.back();
}

int64_t PaddedLength(int64_t n) {
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  return padded;
}

int64_t WorkPoints(const FftSpec& spec, bool bluestein) {
  const int64_t points = spec.Points();
  int64_t most = points;
  for (const int64_t n : spec.n) most = std::max(most, bluestein ? points / n * PaddedLength(n) : 0);
  return most;
}

}  // namespace plugin

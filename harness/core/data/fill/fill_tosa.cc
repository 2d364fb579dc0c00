// SPDX-License-Identifier: Apache-2.0
// tosa-0 to tosa-5: the test data of TOSA's dot product conformance (TOSA specification, appendix on test data; Arm's
// TOSA reference model, generate_dot_product). Values follow row-major order, k is the position along the reduced
// axis, KS the terms of a sum, B a limit by type that keeps sums of KS products inside the format:
//   0  zero where the other operand's sequence is not, so that aligned products vanish
//   1  B / sqrt(KS + 1) (+-0.75 + s / 4): large exponents          (third operand: B^2 / (KS + 1) instead)
//   2  1 at k = 0, then s / sqrt(KS): small terms of one size onto a large one
//   3  +-16 at k = 0, then exp(2 s0) s1: small terms of varying size onto a large one
//   4  zeros mixed with B / sqrt(KS) s, one +-0.5 at KS / 2
//   5  B / sqrt(KS + 1) s: signed, large range                     (third operand of all but 1: zero)
// Seed 0 of an operand whose stream number is its role (the factors of a matmul, a convolution) is the definition;
// others begin elsewhere in its sequence, whose period is 2^32. f16 takes the B of an
// f16 result; f64 that of f32; formats that TOSA does not know their largest number, at most 2^64.
#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill_internal.h"
#include "harness/core/data/fill/portable_math.h"

namespace assay::internal {
namespace {

// Spreads the seeds over the period: multiples of 2^32 / golden ratio keep far apart.
constexpr uint64_t kSeedStride = 0x9E3779B1, kStreamStride = 0x85EBCA6B;

double LimitOf(const FillJob& job) {
  if (job.is_int) return std::min(job.max_value, 0x1p31);
  switch (job.dtype) {
    case DType::kF16:
      return 255.875;  // 2^8 - 2^-3
    case DType::kBF16:
      return 0x1p64 - 0x1p56;
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128:
      return 0x1p64 - 0x1p40;
    default:
      return std::min(job.max_value, 0x1p64);
  }
}

// Two draws of a value, from one sequence in turns or from two.
struct Draws {
  Draws(uint32_t set, uint32_t operand, uint64_t start, uint64_t value)
      : shared(set == 0 || set == 4),
        two(shared || set == 1 || set == 3),
        a(3 * set + (shared ? 0 : operand), start + value * (two && !shared ? 2 : 1)),
        b(3 * set + 1, start + value) {}
  double First() { return a.Next(); }
  double Second() { return shared ? b.Next() : two ? a.Next() : 0; }

  bool shared, two;
  TosaSequence a, b;
};

struct TosaSet {
  int set;
  uint32_t operand;  // 0 and 1 are multiplied, 2 is added
  double terms, limit;

  double Value(int64_t k, bool middle, double s0, double s1) const {
    const double scale = limit / std::sqrt(terms + 1);
    if (operand == 2) return set == 1 ? scale * scale * LargeExponent(s0, s1) : 0;
    switch (set) {
      case 0:
        return (s0 < 0) == (operand == 1) ? s1 : 0;
      case 1:
        return scale * LargeExponent(s0, s1);
      case 2:
        return k == 0 ? 1 : s0 / std::sqrt(terms);
      case 3:
        return k == 0 ? std::copysign(16, s0) : ExpKernel(2 * s0) * s1;
      case 4:
        if (middle) return (s0 < 0) == (operand == 0) ? -0.5 : 0.5;
        return (s0 < 0) == (operand == 1) ? limit / std::sqrt(terms) * s1 : 0;
      default:
        return scale * s0;
    }
  }
  static double LargeExponent(double s0, double s1) { return (s0 < 0 ? -0.75 : 0.75) + 0.25 * s1; }
};

}  // namespace

TosaSequence::TosaSequence(uint32_t number, uint64_t first) : multiplier_((8 * number + 1) * 0x705A5E75U) {
  // first + 1 steps from r_0 = 1, each r -> m r + 1: powers of the affine map by squaring.
  uint32_t factor = 1, addend = 0, step_factor = multiplier_, step_addend = 1;
  for (auto n = static_cast<uint32_t>(first + 1); n != 0; n >>= 1) {
    if (n & 1) {
      addend = step_factor * addend + step_addend;
      factor *= step_factor;
    }
    step_addend += step_factor * step_addend;
    step_factor *= step_factor;
  }
  state_ = factor + addend;
}

double TosaSequence::Next() {
  const auto magnitude = static_cast<double>(static_cast<float>(state_ & 0x7FFFFFFF)) * 0x1p-31;
  const double value = state_ >> 31 ? -magnitude : magnitude;
  state_ = state_ * multiplier_ + 1;
  return value;
}

void GenerateTosa(const FillJob& job, int64_t first, std::span<double> out) {
  const auto set = static_cast<uint32_t>(job.fill.parameter);
  const auto operand = static_cast<uint32_t>(std::min(job.role, 2));
  const double terms = job.fill.terms > 0 ? job.fill.terms : static_cast<double>(job.length);
  const TosaSet values{static_cast<int>(set), operand, terms, LimitOf(job)};
  const uint64_t others = job.stream - static_cast<uint64_t>(job.role);  // 0 where the definition applies
  const uint64_t start = job.seed * kSeedStride + others * kStreamStride;
  Draws draws(set, operand, start, static_cast<uint64_t>(first));
  Cursor cursor(job, first);
  for (double& x : out) {
    const double s0 = draws.First(), s1 = draws.Second();
    x = values.Value(cursor.k(), cursor.k() == job.length / 2, s0, s1);
    cursor.Next();
  }
}

}  // namespace assay::internal

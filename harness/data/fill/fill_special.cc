// SPDX-License-Identifier: Apache-2.0
// special: one special value in every fourth line of the reduced axis, at a random place in it, so that most results
// stay finite and each spoiled one has a single cause. A tensor of fewer lines gets one special in one of them. The
// kinds take turns, so that forty lines show all ten.
#include <algorithm>
#include <array>
#include <limits>

#include "harness/data/fill/fill_internal.h"

namespace assay::internal {
namespace {

constexpr int kKinds = 10;

// A format without infinity gets its largest number in place of one.
double FloatSpecial(const FloatFormat& format, uint64_t kind, double u) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double infinity = format.has_infinity ? std::numeric_limits<double>::infinity() : format.max_finite;
  const double subnormal = std::max(format.MinSubnormal(), RoundTo(format, u * format.MinNormal()));
  const std::array<double, kKinds> specials = {
      kNaN,      infinity,          -infinity,         0.0, -0.0, format.MinSubnormal(), -format.MinSubnormal(),
      subnormal, format.max_finite, -format.max_finite};
  return specials[kind];
}

// Integers: the extremes, the lowest value included, and what lies next to them and to zero. As doubles: the highest
// i64 saturates on the way in.
double IntSpecial(DType dtype, uint64_t kind) {
  const double top = dtype == DType::kI8 ? 0x1p7 : dtype == DType::kI32 ? 0x1p31 : 0x1p63;
  const std::array<double, kKinds> specials = {-top, top, 0.0, -1.0, 1.0, -top, top, 1.0 - top, top - 2.0, 0.0};
  return specials[kind];
}

}  // namespace

void PlantSpecials(const FillJob& job, Tensor& out) {
  const RandomStream random = job.Random(Purpose::kSpecials);
  const int64_t lines = job.lines();
  const int64_t step = std::min<int64_t>(4, lines);
  const auto start = static_cast<int64_t>(random.Below(0, static_cast<uint64_t>(step)));
  const uint64_t first_kind = random.Below(1, kKinds);
  const int value_bytes = SizeOf(job.dtype) / job.components;
  for (int64_t line = start; line < lines; line += step) {
    const auto turn = static_cast<uint64_t>(line / step);
    const auto k = static_cast<int64_t>(random.Below(2 * turn + 2, static_cast<uint64_t>(job.length)));
    const int64_t element = (line / job.inner * job.length + k) * job.inner + line % job.inner;
    const int64_t value = element * job.components + static_cast<int64_t>(turn / kKinds) % job.components;
    const uint64_t kind = (first_kind + turn) % kKinds;
    const double special = job.is_int ? IntSpecial(job.dtype, kind)
                                      : FloatSpecial(FormatOf(job.dtype), kind, random.Uniform(2 * turn + 3));
    FromF64(job.dtype, std::span(&special, 1), out.data() + value * value_bytes);
  }
}

}  // namespace assay::internal

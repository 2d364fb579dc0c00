// SPDX-License-Identifier: Apache-2.0
// special: one special value in every fourth line of the reduced axis, at a random place in it, so that most results
// stay finite and each spoiled one has a single cause. A tensor of fewer lines gets one special in one of them. The
// kinds take turns, so that forty lines show all ten. FillSpec::parts shows NaN and infinities in fewer lines as well.
// edges: one in every second line, at the places that kernels treat apart, so that eighty lines show every kind at
// each.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "harness/core/data/fill/fill_internal.h"

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
  const double top = std::ldexp(1.0, 8 * SizeOf(dtype) - 1);
  const std::array<double, kKinds> specials = {-top, top, 0.0, -1.0, 1.0, -top, top, 1.0 - top, top - 2.0, 0.0};
  return specials[kind] + UnsignedOffset(dtype);
}

// The components of complex numbers take turns as the kinds do.
void Plant(const FillJob& job, int64_t line, int64_t k, uint64_t turn, uint64_t kind, double u, Tensor& out) {
  const int value_bytes = SizeOf(job.dtype) / job.components;
  const int64_t element = (line / job.inner * job.length + k) * job.inner + line % job.inner;
  const int64_t value = element * job.components + static_cast<int64_t>(turn / kKinds) % job.components;
  const double special = job.is_int ? IntSpecial(job.dtype, kind) : FloatSpecial(FormatOf(job.dtype), kind, u);
  FromF64(job.dtype, std::span(&special, 1), out.data() + value * value_bytes);
}

// Whether one line in so many would leave kinds out. A single line has one special number, whose kind the seed decides.
bool AreFew(const FillJob& job, int64_t step) {
  return job.fill.parts > 0 && !job.each_element && job.lines() > 1 && job.lines() < step * kKinds;
}

constexpr uint64_t kFewDraws = 1000;

// Plants each special number once. NaN, infinities and the largest numbers get a line of their own, because they spoil
// its results; zeros and subnormals may share lines. place(turn) is the position in the line.
template <class PlaceOf>
void PlantFew(const FillJob& job, const RandomStream& random, Tensor& out, const PlaceOf& place) {
  constexpr std::array<uint64_t, 5> kSpoiling = {0, 1, 2, 8, 9};  // NaN and infinities, then the largest numbers
  constexpr std::array<uint64_t, 5> kSmall = {3, 4, 5, 6, 7};
  const int64_t lines = job.lines(), parts = job.fill.parts;
  // The lines behind one that the seed chooses, in as many stretches as there are parts.
  const auto start = static_cast<int64_t>(job.seed % static_cast<uint64_t>(lines));
  const int64_t part = (job.fill.part + start) % parts;
  const int64_t first = 1 + part * (lines - 1) / parts, behind = 1 + (part + 1) * (lines - 1) / parts;
  const int64_t spoilt = std::min<int64_t>(kSpoiling.size(), behind - first);
  const uint64_t first_kind = random.Below(1, 3);
  std::set<std::pair<int64_t, int64_t>> taken;
  for (int64_t turn = 0; turn < spoilt; ++turn) {
    const auto t = static_cast<uint64_t>(turn);
    const int64_t line = (start + first + turn * (behind - first) / spoilt) % lines, k = place(t);
    Plant(job, line, k, t, kSpoiling[t < 3 ? (first_kind + t) % 3 : t], 0, out);
    taken.insert({line, k});
  }
  for (uint64_t t = 0; t < kSmall.size(); ++t) {
    const auto line = static_cast<int64_t>(random.Below(2 * t + 2, static_cast<uint64_t>(lines)));
    const int64_t k = place(t + kSpoiling.size());
    if (!taken.insert({line, k}).second) continue;
    Plant(job, line, k, t, kSmall[t], random.Uniform(2 * t + 3), out);
  }
}

}  // namespace

int64_t IndexOf(Place place, int64_t length) {
  switch (place) {
    case Place::kFirst:
      return 0;
    case Place::kMiddle:
      return length / 2;
    case Place::kLast:
      return length - 1;
    case Place::kTail:
      return (length - 1) / 16 * 16;
  }
  return 0;
}

// Where every element is a line, each kind is planted twice, in small tensors less often: rules leave some results
// open.
int64_t StepOf(const FillJob& job, int64_t step) {
  const int64_t lines = job.lines();
  return std::min(job.each_element ? std::max(step, lines / (2 * kKinds)) : step, lines);
}

void PlantSpecials(const FillJob& job, Tensor& out) {
  const RandomStream random = job.Random(Purpose::kSpecials);
  const int64_t lines = job.lines();
  const int64_t step = StepOf(job, 4);
  if (AreFew(job, step)) {
    return PlantFew(job, random, out, [&](uint64_t turn) {
      return static_cast<int64_t>(random.Below(kFewDraws + 2 * turn, static_cast<uint64_t>(job.length)));
    });
  }
  const auto start = static_cast<int64_t>(random.Below(0, static_cast<uint64_t>(step)));
  const uint64_t first_kind = random.Below(1, kKinds);
  for (int64_t line = start; line < lines; line += step) {
    const auto turn = static_cast<uint64_t>(line / step);
    const auto k = static_cast<int64_t>(random.Below(2 * turn + 2, static_cast<uint64_t>(job.length)));
    Plant(job, line, k, turn, (first_kind + turn) % kKinds, random.Uniform(2 * turn + 3), out);
  }
}

void PlantEdges(const FillJob& job, Tensor& out) {
  const RandomStream random = job.Random(Purpose::kSpecials);
  const int64_t lines = job.lines();
  const int64_t step = StepOf(job, 2);
  if (AreFew(job, step)) {
    const uint64_t first_place = random.Below(kFewDraws, kPlaces);
    return PlantFew(job, random, out, [&](uint64_t turn) {
      return IndexOf(static_cast<Place>((first_place + turn) % kPlaces), job.length);
    });
  }
  const auto start = static_cast<int64_t>(random.Below(0, static_cast<uint64_t>(step)));
  const uint64_t first_kind = random.Below(1, kKinds);
  for (int64_t line = start; line < lines; line += step) {
    const auto turn = static_cast<uint64_t>(line / step);
    const auto place = static_cast<Place>((first_kind + turn + turn / kKinds) % kPlaces);
    Plant(job, line, IndexOf(place, job.length), turn, (first_kind + turn) % kKinds, random.Uniform(turn + 2), out);
  }
}

}  // namespace assay::internal

// SPDX-License-Identifier: Apache-2.0
// Error bound of Winograd's minimal filtering F(m x m, 3 x 3). With U = G g G^T, V = B^T d B, tiles of m outputs
// that begin at output 0 and the points 0, 1, -1 (m = 2) and 0, +-1, +-2 (m = 4) of Lavin and Gray (arXiv 1509.09308).
// For m = 4 also 0, +-5/8, +-3/2, which oneDNN uses; W is the larger of the two, for a contract does not tell them
// apart:
//   |error| <= (alpha u + gamma_C) W,   W = |A^T| [ sum over c of (|G||g||G^T|) .* (|B^T||d||B|) ] |A|
// alpha = 2 (n_A + n_B + n_G): each of the three transforms is applied twice, a row of n non-zeros costs n roundings,
// one more with entries that are no binary fractions (Barabasz, Anderson, Soodhalter, Gregg, ACM TOMS 46, 2020).
// Planes of F(m, 3): "winograd_m_3" = W, and for each set of points two of which no element needs a number of its own,
// as tables over the place in the image ("tile_") and over the output channel ("channel_"):
// - absolute: the error of y for an absolute error of 1 in every element of d, g and of both transforms, the sum of
//   tile_absolute [n, groups, out] and channel_absolute [o, m m places of a tile];
// - peak: the largest element of U and V that y depends on, infinite where an element of d or g is infinite or NaN, for
//   it then spreads over its tile; the larger of tile_peak [n, groups, tiles] and channel_peak [o].
#include <algorithm>
#include <vector>

#include "harness/core/base/parallel.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_winograd_points.h"

namespace assay {
namespace winograd {
namespace {

// The tables of the sets of points with this m.
struct Tables {
  const Plane *tile_absolute, *channel_absolute, *tile_peak, *channel_peak;
};
std::vector<Tables> TablesOf(const Golden& golden, int m) {
  std::vector<Tables> sets;
  for (const Transform* f : {&kF2, &kF4, &kF4Fractions}) {
    const auto find = [&](const char* of) { return golden.Extra(TableName(*f, of)); };
    if (f->m != m) continue;
    sets.push_back({find("tile_absolute"), find("channel_absolute"), find("tile_peak"), find("channel_peak")});
  }
  return sets;
}

// body(element, image and group, channel, row, column)
template <class Body>
void ForElements(const ConvArgs& op, const Body& body) {
  ParallelFor(op.n * op.o, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % op.o, image = i / op.o * op.groups + channel / op.GroupOutputs();
      for (int64_t row = 0; row < op.out[1]; ++row) {
        for (int64_t column = 0; column < op.out[2]; ++column) {
          body((i * op.out[1] + row) * op.out[2] + column, image, channel, row, column);
        }
      }
    }
  });
}

// "absolute" of all elements, the larger ones of the sets of points.
Plane Absolutes(const ConvArgs& op, const Golden& golden, int m, bool wide) {
  const std::vector<Tables> sets = TablesOf(golden, m);
  const TileGrid grid(op, m);
  Plane absolutes(golden.size(), wide);
  ForElements(op, [&](int64_t i, int64_t image, int64_t channel, int64_t row, int64_t column) {
    double absolute = 0;
    for (const Tables& t : sets) {
      absolute = std::max(absolute, (*t.tile_absolute)[grid.Place(image, row, column)] +
                                        (*t.channel_absolute)[grid.ChannelPlace(channel, row, column)]);
    }
    absolutes.SetUp(i, absolute);
  });
  return absolutes;
}

bool Reaches(const Plane& plane, double at) {
  for (int64_t i = 0; i < plane.size(); ++i) {
    if (plane[i] >= at) return true;
  }
  return false;
}

// Admits anything where "peak" reaches `at`.
void AdmitPeaks(const ConvArgs& op, const Golden& golden, int m, double at, BoundModel& bound) {
  const std::vector<Tables> sets = TablesOf(golden, m);
  const auto reaches = [&](const Tables& t) { return Reaches(*t.tile_peak, at) || Reaches(*t.channel_peak, at); };
  if (std::ranges::none_of(sets, reaches)) return;
  const TileGrid grid(op, m);
  bound.also.resize(static_cast<size_t>(golden.size()));
  ForElements(op, [&](int64_t i, int64_t image, int64_t channel, int64_t row, int64_t column) {
    for (const Tables& t : sets) {
      const double peak = std::max((*t.tile_peak)[grid.Tile(image, row, column)], (*t.channel_peak)[channel]);
      if (peak >= at) bound.also[static_cast<size_t>(i)] |= kAnything;
    }
  });
}

// An absolute error that each element of d, g, U and V may carry: flushed or narrowed inputs, underflow in the
// transforms, underflow of U and V where they are kept in 16 bits.
double AbsoluteError(const Contract& contract, DType in, int alpha) {
  const bool flushes = contract.ftz != Flush::kNone;
  double error = alpha * (flushes ? contract.AccMinNormal() : contract.AccMinSubnormal());
  if (contract.FlushesInputs() || contract.in != InputRounding::kExact) {
    error += FormatOf(in).MinNormal();
  }
  if (contract.mid == Intermediate::kNone) return error;
  const FloatFormat& stored = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16);
  return error + (flushes ? stored.MinNormal() : stored.MinSubnormal());
}

// The largest sum of a row of |A^T| (of F(4,3): the larger of the two sets): what an absolute error of the sums over c
// becomes along one axis.
double LargestOutputSum(const Transform& f) {
  double largest = 0;
  for (int i = 0; i < f.m; ++i) {
    double sum = 0;
    for (double x : f.a[i]) sum += x;
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace
}  // namespace winograd

double WinogradUnitError(const Contract& contract, int64_t channels) {
  double largest = 0;
  for (const winograd::Transform* f : {&winograd::kF4, &winograd::kF4Fractions}) {
    for (int i = 0; i < f->m; ++i) {
      double sum = 0;
      for (int e = 0; e < f->Side(); ++e) sum += f->a[i][e] * winograd::RowSum(f->g, e) * winograd::RowSum(f->b, e);
      largest = std::max(largest, sum);
    }
  }
  const auto terms = static_cast<double>(channels);
  const double u = contract.AccUnitRoundoff(), gamma = Gamma(terms, 2 * u);
  return (gamma + Gamma(winograd::kF4.alpha, u) * (1 + gamma)) * terms * largest * largest * winograd::kRoundUp;
}

std::optional<BoundModel> WinogradBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType in,
                                        DType out) {
  const Plane* w = golden.Extra(winograd::PlaneName(contract.winograd_m));
  if (w == nullptr || contract.winograd_r != 3) return std::nullopt;
  const winograd::Transform& f = contract.winograd_m == 2 ? winograd::kF2 : winograd::kF4;

  // SumBound's terms for a sum over channels, with the transforms' roundings added and W in the place of S.
  const double u = contract.AccUnitRoundoff();
  const auto channels = static_cast<double>(op.GroupInputs());
  const bool stored = contract.mid != Intermediate::kNone;
  BoundModel bound = SumBound(golden, contract, out,
                              {.terms = channels,
                               .height = channels,
                               .extra_relative = Gamma(f.alpha, u),
                               .mid_roundings = stored ? 2 : 0,
                               .type_a = in,
                               .type_b = in});
  if (bound.exact) return bound;
  for (BoundTerm& term : bound.terms) {
    if (term.plane == &golden.magnitude) term.plane = w;
  }
  const double scale = winograd::LargestOutputSum(f) * winograd::LargestOutputSum(f);
  bound.constant = (bound.constant + f.alpha * AccumulatorUnderflow(contract)) * scale;
  if (op.bias) bound.constant += AdditionUnderflow(contract, out) * bound.growth;
  const auto absolutes = golden.derived.Get(fmt::format("{}_absolute", winograd::PlaneName(f.m)),
                                            [&] { return winograd::Absolutes(op, golden, f.m, w->wide()); });
  bound.owned.push_back(absolutes);
  bound.terms.push_back(
      {absolutes.get(), winograd::AbsoluteError(contract, in, f.alpha) * bound.growth * (1 + Gamma(f.alpha, u))});
  if (op.bias) bound.terms.push_back({&golden.magnitude, Gamma(3, 2 * u)});
  // An infinity in any transform spreads over its tile, and meets its like there.
  AdmitWhere(bound, *w, contract.AccMaxFinite() / 2, kAnything);
  winograd::AdmitPeaks(op, golden, f.m, bound.partial_overflow_at / 2, bound);
  return bound;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Each operation of a deviation is that of WeightErrors and UnitDeviation for single elements, so the bits are the
// same.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_bound_row.cc"
#include "ops/attention/attention_bound_row.h"

#include <limits>
#include <numbers>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Counts what needs more than a vector's operations: squares out of range, sizes that are no normal numbers.
template <class D, class V = hn::Vec<D>>
struct Roots {
  D d;
  int64_t odd = 0;

  HWY_INLINE V Number(double x) const { return hn::Set(d, x); }
  HWY_INLINE V RootOf(V squares) {
    const auto even = hn::And(hn::Gt(squares, Number(kLeastSquares)), hn::Lt(squares, Number(kMostSquares)));
    odd += LanesOf(d) - static_cast<int64_t>(hn::CountTrue(d, even));
    return hn::Sqrt(squares);
  }
  HWY_INLINE V NormOf(V x, V y) { return RootOf(hn::Add(hn::Mul(x, x), hn::Mul(y, y))); }
  HWY_INLINE V NormOf(V x, V y, V z) { return RootOf(hn::Add(hn::Add(hn::Mul(x, x), hn::Mul(y, y)), hn::Mul(z, z))); }
  // SizeOf of attention_units.cc.
  HWY_INLINE V SizeOf(V x) {
    const hn::RebindToUnsigned<D> bits;
    const auto exponent = hn::Set(bits, uint64_t{0x7ff} << 52);
    const auto power = [&](V y) HWY_ATTR { return hn::BitCast(d, hn::And(hn::BitCast(bits, y), exponent)); };
    const auto doubled = hn::Mul(x, Number(std::numbers::log2e));
    const auto even = hn::And(hn::Ge(x, Number(std::numeric_limits<double>::min())),
                              hn::Le(doubled, Number(std::numeric_limits<double>::max())));
    odd += LanesOf(d) - static_cast<int64_t>(hn::CountTrue(d, even));
    return GreaterOf(d, power(x), hn::Mul(power(doubled), Number(std::numbers::ln2)));
  }
};

bool FindDeviationsImpl(const RowDeviation& row, const DeviationColumns& of, int64_t n, double* deviation,
                        double* systematic) {
  int64_t odd = 0;
  ForVectors<1>(Doubles(), n, [&](int64_t i, auto d, auto) HWY_ATTR {
    Roots<decltype(d)> roots{d};
    const auto number = [&](double x) HWY_ATTR { return hn::Set(d, x); };
    const auto load = [&](const double* from) HWY_ATTR { return hn::LoadU(d, from + i); };
    const auto shift = load(of.shift), move = load(of.move), dot = load(of.dot), added = load(of.added);
    const auto range = load(of.range), value = hn::Abs(load(of.value));
    const auto size = hn::IfThenElseZero(hn::Lt(value, number(std::numeric_limits<double>::infinity())), value);
    auto stored = hn::Zero(d), of_units = stored;
    if (row.stored > 0) stored = hn::Mul(number(row.stored), roots.NormOf(shift, move));
    if (row.has_units) {
      odd += LanesOf(d) - static_cast<int64_t>(hn::CountTrue(d, hn::Gt(shift, hn::Zero(d))));
      const auto of_sum = hn::Mul(number(row.u), roots.SizeOf(hn::Add(hn::Div(move, shift), number(row.log_keys))));
      const auto of_max = LesserOf(d, number(row.of_max), of_sum), of_log = number(row.of_log);
      const auto maxes = hn::Add(hn::Mul(of_max, of_max), hn::Mul(of_max, of_max));
      const auto squares = hn::Add(hn::Add(maxes, hn::Mul(of_sum, of_sum)), hn::Mul(of_log, of_log));
      const auto weight = hn::Mul(shift, roots.RootOf(squares));
      of_units = roots.NormOf(weight, hn::Mul(number(row.of_all), size));
    }
    const auto random = roots.NormOf(hn::Mul(number(row.random), shift), hn::Mul(number(row.of_moved), move));
    const auto linear = hn::Add(hn::Mul(number(row.of_dot), dot), hn::Mul(number(row.of_added), added));
    const auto least = LesserOf(d, LesserOf(d, hn::Mul(number(row.largest), shift), random), linear);
    const auto weights = roots.NormOf(least, hn::Mul(number(row.of_weight), shift), hn::Mul(number(row.of_cap), move));
    hn::StoreU(hn::Mul(number(row.grown), roots.NormOf(weights, stored, of_units)), d, deviation + i);
    const auto moved = row.small ? hn::Mul(number(row.squares), hn::Add(dot, added)) : range;
    const auto lost = hn::Mul(number(row.lost), range);
    hn::StoreU(hn::Add(hn::Add(hn::Mul(number(row.systematic), size), moved), lost), d, systematic + i);
    odd += roots.odd;
  });
  return odd == 0;
}

// With y = |o|: the error of the quotient o, at most `size`, of sums with relative errors is (o + n M) (1 + e) / (1 +
// d)
// - o, where n is relative to M = sum w |v| and the others to o.
void FindBoundsImpl(const RowBound& row, const BoundPlanes& of, int64_t n, double* a) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ForVectors<1>(Doubles(), n, [&](int64_t i, auto d, auto) HWY_ATTR {
    const auto load = [&](const double* from) HWY_ATTR { return hn::LoadU(d, from + i); };
    const auto times = [&](double x, auto y) HWY_ATTR { return hn::Mul(hn::Set(d, x), y); };
    const auto range = load(of.range), magnitudes = load(of.magnitude), size_of_value = hn::Abs(load(of.value));
    const auto y = hn::IfThenElseZero(hn::Lt(size_of_value, hn::Set(d, kInfinity)), size_of_value);
    const auto most = hn::Add(y, range), both = hn::Add(magnitudes, y);
    auto weights = row.known ? range : GreaterOf(d, range, y);
    if (row.linear) {
      const auto dots = load(of.dot), scores = LesserOf(d, dots, times(row.stored, both));
      const auto units = times(row.log_weight, LesserOf(d, range, both));
      const auto of_scores = hn::Add(times(row.dot, dots), times(row.scores, scores));
      const auto of_all =
          hn::Add(hn::Add(hn::Add(of_scores, times(row.added, load(of.added))), units), times(row.lost, range));
      weights = LesserOf(d, range, times(row.inflation, hn::Add(of_all, times(row.tail, range))));
    }
    // sum w |v|, by the inflated weights or by the largest |v|.
    const auto inflated =
        row.grown < kInfinity ? hn::Add(times(row.grown, magnitudes), times(0x1p-80, range)) : hn::Set(d, kInfinity);
    const auto magnitude = LesserOf(d, inflated, most);  // of finite values: all of them may be zero
    // The plane may overflow where the values do not.
    const auto all = times(row.keys, most), sum = LesserOf(d, load(of.values), all);
    const auto size = LesserOf(d, magnitude, hn::Add(y, weights));
    const auto lost = hn::Add(times(row.lost_weight, hn::Add(sum, all)), hn::Set(d, row.constant));
    const auto underflow = times(row.sums, times(row.ending, hn::Add(lost, hn::Set(d, row.flushed))));
    const auto numerator = hn::Add(times(row.of_magnitude, magnitude), times(row.of_size, size));
    const auto of_sums = hn::Div(numerator, hn::Set(d, row.per_total));
    hn::StoreU(times(1 + 0x1p-40, hn::Add(hn::Add(weights, of_sums), underflow)), d, a + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(FindDeviationsImpl);
HWY_EXPORT(FindBoundsImpl);

bool FindDeviations(const RowDeviation& row, const DeviationColumns& of, int64_t n, double* deviation,
                    double* systematic) {
  return HWY_DYNAMIC_DISPATCH(FindDeviationsImpl)(row, of, n, deviation, systematic);
}

void FindBounds(const RowBound& row, const BoundPlanes& of, int64_t n, double* a) {
  HWY_DYNAMIC_DISPATCH(FindBoundsImpl)(row, of, n, a);
}

}  // namespace assay
#endif  // HWY_ONCE

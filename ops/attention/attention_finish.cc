// SPDX-License-Identifier: Apache-2.0
// Errors and deviations of golden attention from the sums of a row's columns (attention_work.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_finish.cc"
#include <algorithm>

#include "golden/golden.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention_lanes.h"
#include "ops/attention/attention_work.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sigma of o = sum p v / sum p over n keys, S = sum p |v|, `squares` = sum p^2 v^2, `weights` = sum p^2. Both sums are
// those of any random order (golden/sigma.md). Each addition may follow a rescaling, which rounds the running sum once
// more: twice E. The products round too.
template <class D, class V>
HWY_INLINE V SumDeviation(D d, const RowEnd& row, V o, V magnitude, V squares) {
  const double n = row.keys, weights = row.weight_squares;
  const auto number = [&](double x) HWY_ATTR { return hn::Set(d, x); };
  const auto largest = hn::Mul(hn::Add(magnitude, hn::Abs(o)), number(0.5)), o2 = hn::Mul(o, o);
  const auto numerator = LesserOf(d, hn::Add(o2, hn::Mul(number(n - 1), hn::Add(hn::Div(o2, number(3)), squares))),
                                  hn::Mul(hn::Mul(number(n), largest), largest));
  const double denominator = std::min(1 + (n - 1) * (1.0 / 3 + weights), n);
  const auto both = hn::Add(hn::Mul(number(2), numerator), hn::Mul(number(2 * denominator), o2));
  return hn::Mul(number(kRoundingDeviation), hn::Sqrt(hn::Add(both, squares)));
}

void FinishColumnsImpl(const RowEnd& row, const KeyColumns& keys, AttentionColumns& columns) {
  ForVectors<1>(Doubles(), std::ssize(columns.o), [&](int64_t c, auto d, auto) HWY_ATTR {
    const auto number = [&](double x) HWY_ATTR { return hn::Set(d, x); };
    const auto load = [&](const std::vector<double>& from) HWY_ATTR { return hn::LoadU(d, from.data() + c); };
    const auto store = [&](auto x, std::vector<double>& to) HWY_ATTR { hn::StoreU(x, d, to.data() + c); };
    const auto o = load(columns.o), magnitude = load(columns.magnitude), shifts = load(columns.shifts);
    // Rounding keeps the order, so the largest distance is that of the smallest or of the largest v.
    const auto range = GreaterOf(d, hn::Abs(hn::Sub(load(keys.low), o)), hn::Abs(hn::Sub(load(keys.high), o)));
    store(range, columns.range);
    if (row.lacks) {
      const auto off = hn::Mul(number(row.off), hn::Abs(o));
      const auto raise = [&](double mean, double least, std::vector<double>& sums) HWY_ATTR {
        store(hn::Add(load(sums), hn::Add(hn::Mul(off, number(mean)), number(least))), sums);
      };
      raise(row.dot_mean, row.dot_least, columns.dot), raise(row.added_mean, row.added_least, columns.added);
    }
    const auto moved = LesserOf(d, hn::Mul(number(2), range), hn::Mul(number(row.score_error), range));
    const auto summed = hn::Mul(number(2 * row.sum_error), magnitude);
    const auto lost = hn::Mul(number(0x1p-900), hn::Add(load(keys.values), range));
    store(hn::Add(hn::Add(hn::Add(moved, summed), lost), number(0x1p-1070)), columns.error);
    store(SumDeviation(d, row, o, magnitude, shifts), columns.sigma);
    store(hn::Sqrt(shifts), columns.shift);
    store(hn::Sqrt(hn::Mul(number(2), load(columns.moves))), columns.move);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(FinishColumnsImpl);

void FinishColumns(const RowEnd& row, const KeyColumns& keys, AttentionColumns& columns) {
  HWY_DYNAMIC_DISPATCH(FinishColumnsImpl)(row, keys, columns);
}

}  // namespace assay
#endif  // HWY_ONCE

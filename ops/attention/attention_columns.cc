// SPDX-License-Identifier: Apache-2.0
// Multiplications and additions are never fused here: the bits must not depend on the instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_columns.cc"
#include "ops/attention/attention_columns.h"

#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Keys = std::span<const WeightedKey>;

// Vectors of columns that fit into registers: each key's weights are loaded once for all of them.
template <class D, int kVectors>
struct Columns {
  using V = hn::Vec<D>;
  V at[kVectors];
};
#if HWY_TARGET <= HWY_AVX3
constexpr int kManyVectors = 4;
#else
constexpr int kManyVectors = 2;
#endif

// Calls body(column, d, count of vectors) for kMany full vectors of columns, then for one, then for single columns.
template <int kMany, class Body>
HWY_INLINE void ForColumns(int64_t n, const Body& body) {
  const hn::CappedTag<double, 8> full;
  const auto lanes = static_cast<int64_t>(hn::Lanes(full));
  int64_t c = 0;
  for (; c + kMany * lanes <= n; c += kMany * lanes) body(c, full, std::integral_constant<int, kMany>());
  for (; c + lanes <= n; c += lanes) body(c, full, std::integral_constant<int, 1>());
  for (; c < n; ++c) body(c, hn::CappedTag<double, 1>(), std::integral_constant<int, 1>());
}

template <class D, int kVectors>
HWY_INLINE void LoadColumns(D d, const double* from, Columns<D, kVectors>& to) {
  for (int i = 0; i < kVectors; ++i) to.at[i] = hn::LoadU(d, from + i * hn::Lanes(d));
}

template <class D, int kVectors>
HWY_INLINE void StoreColumns(D d, const Columns<D, kVectors>& from, double* to) {
  for (int i = 0; i < kVectors; ++i) hn::StoreU(from.at[i], d, to + i * hn::Lanes(d));
}

template <class D, int kVectors>
HWY_INLINE void SumValuesOf(D d, std::integral_constant<int, kVectors>, const Keys& keys, int64_t c,
                            AttentionColumns& out) {
  Columns<D, kVectors> o, magnitude;
  LoadColumns(d, out.o.data() + c, o);
  LoadColumns(d, out.magnitude.data() + c, magnitude);
  for (const WeightedKey& key : keys) {
    const auto p = hn::Set(d, key.p);
    for (int i = 0; i < kVectors; ++i) {
      const auto v = hn::LoadU(d, key.v + c + i * hn::Lanes(d)), product = hn::Mul(p, v);
      o.at[i] = hn::Add(o.at[i], product);
      magnitude.at[i] = hn::Add(magnitude.at[i], hn::Abs(product));
    }
  }
  StoreColumns(d, o, out.o.data() + c);
  StoreColumns(d, magnitude, out.magnitude.data() + c);
}

template <class D, int kVectors>
HWY_INLINE void SumDistancesOf(D d, std::integral_constant<int, kVectors>, const Keys& keys, int64_t c,
                               AttentionColumns& out) {
  Columns<D, kVectors> o, dot, added, shifts, moves;
  LoadColumns(d, out.o.data() + c, o);
  LoadColumns(d, out.dot.data() + c, dot);
  LoadColumns(d, out.added.data() + c, added);
  LoadColumns(d, out.shifts.data() + c, shifts);
  LoadColumns(d, out.moves.data() + c, moves);
  for (const WeightedKey& key : keys) {
    const auto p = hn::Set(d, key.p), by_dot = hn::Set(d, key.dot), by_added = hn::Set(d, key.added);
    const auto stored = hn::Set(d, key.stored);
    for (int i = 0; i < kVectors; ++i) {
      const auto v = hn::LoadU(d, key.v + c + i * hn::Lanes(d));
      const auto distance = hn::Abs(hn::Sub(v, o.at[i]));
      const auto weighted = hn::Mul(p, hn::Max(hn::Abs(v), distance));
      const auto moved = hn::Mul(stored, distance);
      dot.at[i] = hn::Add(dot.at[i], hn::Mul(by_dot, distance));
      added.at[i] = hn::Add(added.at[i], hn::Mul(by_added, distance));
      shifts.at[i] = hn::Add(shifts.at[i], hn::Mul(weighted, weighted));
      moves.at[i] = hn::Add(moves.at[i], hn::Mul(moved, moved));
    }
  }
  StoreColumns(d, dot, out.dot.data() + c);
  StoreColumns(d, added, out.added.data() + c);
  StoreColumns(d, shifts, out.shifts.data() + c);
  StoreColumns(d, moves, out.moves.data() + c);
}

template <class D, int kVectors>
HWY_INLINE void SumKeysOf(D d, std::integral_constant<int, kVectors>, const Keys& keys, int64_t c, KeyColumns& out) {
  Columns<D, kVectors> values, low, high;
  LoadColumns(d, out.values.data() + c, values);
  LoadColumns(d, out.low.data() + c, low);
  LoadColumns(d, out.high.data() + c, high);
  for (const WeightedKey& key : keys) {
    for (int i = 0; i < kVectors; ++i) {
      const auto v = hn::LoadU(d, key.v + c + i * hn::Lanes(d));
      values.at[i] = hn::Add(values.at[i], hn::Abs(v));
      low.at[i] = hn::Min(low.at[i], v);
      high.at[i] = hn::Max(high.at[i], v);
    }
  }
  StoreColumns(d, values, out.values.data() + c);
  StoreColumns(d, low, out.low.data() + c);
  StoreColumns(d, high, out.high.data() + c);
}

void SumValuesImpl(const Keys& keys, int64_t n, AttentionColumns& out) {
  ForColumns<kManyVectors>(n, [&](int64_t c, auto d, auto count) HWY_ATTR { SumValuesOf(d, count, keys, c, out); });
}

void SumDistancesImpl(const Keys& keys, int64_t n, AttentionColumns& out) {
  ForColumns<kManyVectors / 2>(n,
                               [&](int64_t c, auto d, auto count) HWY_ATTR { SumDistancesOf(d, count, keys, c, out); });
}

void SumKeysImpl(const Keys& keys, int64_t n, KeyColumns& out) {
  ForColumns<kManyVectors>(n, [&](int64_t c, auto d, auto count) HWY_ATTR { SumKeysOf(d, count, keys, c, out); });
}

// kRows times kVectors sums stay in registers while c runs.
template <int kRows, int kVectors, class D>
HWY_INLINE void ScoreBlock(D d, const double* q, const double* k, int64_t stride, int64_t depth, int64_t n, int64_t j,
                           double* dots, double* magnitudes) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Columns<D, kVectors> dot[kRows], magnitude[kRows];
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kVectors; ++i) dot[r].at[i] = magnitude[r].at[i] = hn::Zero(d);
  }
  for (int64_t c = 0; c < depth; ++c) {
    Columns<D, kVectors> keys;
    for (int i = 0; i < kVectors; ++i) keys.at[i] = hn::LoadU(d, k + c * stride + j + i * lanes);
    for (int r = 0; r < kRows; ++r) {
      const auto weight = hn::Set(d, q[r * depth + c]);
      for (int i = 0; i < kVectors; ++i) {
        const auto product = hn::Mul(weight, keys.at[i]);
        dot[r].at[i] = hn::Add(dot[r].at[i], product);
        magnitude[r].at[i] = hn::Add(magnitude[r].at[i], hn::Abs(product));
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    StoreColumns(d, dot[r], dots + r * n + j);
    StoreColumns(d, magnitude[r], magnitudes + r * n + j);
  }
}

template <int kRows, int kVectors>
HWY_INLINE void ScoreRows(const double* q, const double* k, int64_t stride, int64_t depth, int64_t n, double* dots,
                          double* magnitudes) {
  const hn::CappedTag<double, 8> full;
  const auto width = kVectors * static_cast<int64_t>(hn::Lanes(full));
  int64_t j = 0;
  for (; j + width <= n; j += width) ScoreBlock<kRows, kVectors>(full, q, k, stride, depth, n, j, dots, magnitudes);
  for (; j < n; ++j) {
    ScoreBlock<kRows, 1>(hn::CappedTag<double, 1>(), q, k, stride, depth, n, j, dots, magnitudes);
  }
}

void ScoresOfImpl(const double* q, int64_t rows, const double* k, int64_t stride, int64_t d, int64_t n, double* dots,
                  double* magnitudes) {
  int64_t r = 0;
  for (; r + kScoreRows <= rows; r += kScoreRows) {
    ScoreRows<kScoreRows, kManyVectors / 2>(q + r * d, k, stride, d, n, dots + r * n, magnitudes + r * n);
  }
  for (; r < rows; ++r) ScoreRows<1, kManyVectors>(q + r * d, k, stride, d, n, dots + r * n, magnitudes + r * n);
}

// Every eighth key adds to the same partial sum, whatever the vectors hold.
constexpr int64_t kPartials = 8;

RowSums SumRowImpl(const AttentionRow& row, double depth) {
  const hn::CappedTag<double, kPartials> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto n = std::ssize(row.p), even = n / kPartials * kPartials;
  const auto tail = hn::Set(d, -kTail), weightless = hn::Set(d, -kWeightless);
  HWY_ALIGN double dot_mean[kPartials], added_mean[kPartials], size_mean[kPartials], squares[kPartials];
  RowSums out;
  for (int64_t lane = 0; lane < kPartials; lane += lanes) {
    const auto zero = hn::Zero(d);
    auto dots = zero, addeds = zero, sizes = zero, dot_max = zero, added_max = zero, size_max = zero, stored_max = zero;
    auto dot_top = zero, least = zero, squared = zero;
    for (int64_t i = lane; i < even; i += kPartials) {
      const auto p = hn::LoadU(d, &row.p[i]), t = hn::LoadU(d, &row.t[i]), dot = hn::LoadU(d, &row.dot[i]);
      const auto added = hn::LoadU(d, &row.added[i]), stored = hn::LoadU(d, &row.stored[i]);
      const auto size = hn::Add(hn::Mul(hn::Set(d, depth), dot), hn::Mul(hn::Set(d, 8.0), hn::Abs(t)));
      squared = hn::Add(squared, hn::Mul(p, p));
      dots = hn::Add(dots, hn::Mul(p, dot));
      addeds = hn::Add(addeds, hn::Mul(p, added));
      sizes = hn::Add(sizes, hn::Mul(p, size));
      const auto near = hn::Ge(t, tail);
      dot_max = hn::Max(dot_max, hn::IfThenElseZero(near, dot));
      added_max = hn::Max(added_max, hn::IfThenElseZero(near, added));
      size_max = hn::Max(size_max, hn::IfThenElseZero(hn::Gt(t, tail), size));
      stored_max = hn::Max(stored_max, hn::IfThenElseZero(hn::Gt(t, weightless), stored));
      dot_top = hn::Max(dot_top, dot);
      least = hn::Min(least, t);
    }
    hn::StoreU(dots, d, dot_mean + lane), hn::StoreU(addeds, d, added_mean + lane);
    hn::StoreU(sizes, d, size_mean + lane), hn::StoreU(squared, d, squares + lane);
    const auto join = [&](double& to, auto v) HWY_ATTR { to = std::max(to, hn::GetLane(hn::MaxOfLanes(d, v))); };
    join(out.dot_max, dot_max), join(out.added_max, added_max), join(out.size_max, size_max);
    join(out.stored_max, stored_max), join(out.dot_top, dot_top);
    out.tail = out.tail || hn::GetLane(hn::MinOfLanes(d, least)) < -kTail;
  }
  for (int64_t l = 0; l < kPartials; ++l) {
    out.dot_mean += dot_mean[l], out.added_mean += added_mean[l], out.size_mean += size_mean[l];
    out.squares += squares[l];
  }
  for (int64_t i = even; i < n; ++i) {
    const double size = depth * row.dot[i] + 8 * std::abs(row.t[i]);
    out.squares += row.p[i] * row.p[i];
    out.dot_mean += row.p[i] * row.dot[i], out.added_mean += row.p[i] * row.added[i], out.size_mean += row.p[i] * size;
    out.dot_top = std::max(out.dot_top, row.dot[i]);
    if (row.t[i] >= -kTail)
      out.dot_max = std::max(out.dot_max, row.dot[i]), out.added_max = std::max(out.added_max, row.added[i]);
    if (row.t[i] > -kTail) out.size_max = std::max(out.size_max, size);
    if (row.t[i] > -kWeightless) out.stored_max = std::max(out.stored_max, row.stored[i]);
    out.tail = out.tail || row.t[i] < -kTail;
  }
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(SumValuesImpl);
HWY_EXPORT(SumDistancesImpl);
HWY_EXPORT(SumKeysImpl);
HWY_EXPORT(ScoresOfImpl);
HWY_EXPORT(SumRowImpl);

void SumValues(std::span<const WeightedKey> keys, int64_t n, AttentionColumns& columns) {
  HWY_DYNAMIC_DISPATCH(SumValuesImpl)(keys, n, columns);
}

void SumDistances(std::span<const WeightedKey> keys, int64_t n, AttentionColumns& columns) {
  HWY_DYNAMIC_DISPATCH(SumDistancesImpl)(keys, n, columns);
}

void SumKeys(std::span<const WeightedKey> keys, int64_t n, KeyColumns& columns) {
  HWY_DYNAMIC_DISPATCH(SumKeysImpl)(keys, n, columns);
}

void ScoresOf(const double* q, int64_t rows, const double* k, int64_t stride, int64_t d, int64_t n, double* dots,
              double* magnitudes) {
  HWY_DYNAMIC_DISPATCH(ScoresOfImpl)(q, rows, k, stride, d, n, dots, magnitudes);
}

RowSums SumRow(const AttentionRow& row, double depth) {
  return HWY_DYNAMIC_DISPATCH(SumRowImpl)(row, depth);
}

}  // namespace assay
#endif  // HWY_ONCE

// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_tile.cc"
#include "ops/attention/attention_tile.h"

#include <algorithm>
#include <array>

#include "golden/bound/bound.h"
#include "harness/core/base/parallel.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention_columns.h"
#include "ops/attention/attention_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums that stay in registers: queries, and vectors of their columns. Of distances there are four sums for each vector,
// of two queries where kManyRegisters.
constexpr int kRowsAtOnce = kManyRegisters ? kTileQueries : 4;
constexpr int kVectorsAtOnce = 2;
// Keys of whose values those columns that are summed together, 16 KB or less, stay in the first-level cache from one
// query to the next: for o, and for the planes. Fewer would cost more starts of the sums.
constexpr int64_t kNearValues = 256, kNearKeys = 128;

// Where vector i of some columns is, from the first one on. Those of one group follow each other.
template <int kVectors, class D>
HWY_INLINE int64_t VectorAt(D d, int i, int64_t stride) {
  if constexpr (kVectors * hn::MaxLanes(D()) <= kValueGroup) return i * LanesOf(d);
  return i * LanesOf(d) / kValueGroup * stride + i * LanesOf(d) % kValueGroup;
}

// sums[r][c] += sum over keys [first, end) of p v.
template <int kRows, class D, int kVectors>
HWY_INLINE void AddValues(D d, std::integral_constant<int, kVectors>, const TileWeights::Row* rows, int64_t first,
                          int64_t end, const TileValues& values, int64_t c, AttentionColumns* const* out) {
  const float* v = values.v + values.At(c) + first * kValueGroup;
  const int64_t stride = values.stride;
  const int64_t lanes = LanesOf(d);
  hn::Vec<D> sums[kRows][kVectors];
  const double* p[kRows];
  for (int r = 0; r < kRows; ++r) {
    p[r] = rows[r].p;
    for (int i = 0; i < kVectors; ++i) sums[r][i] = hn::LoadU(d, out[r]->o.data() + c + i * lanes);
  }
  for (int64_t key = first; key < end; ++key, v += kValueGroup) {
    hn::Vec<D> of_key[kVectors];
    for (int i = 0; i < kVectors; ++i) of_key[i] = Factors(d, v + VectorAt<kVectors>(d, i, stride));
    for (int r = 0; r < kRows; ++r) {
      const auto weight = hn::Set(d, p[r][key]);
      for (int i = 0; i < kVectors; ++i) sums[r][i] = hn::MulAdd(weight, of_key[i], sums[r][i]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kVectors; ++i) hn::StoreU(sums[r][i], d, out[r]->o.data() + c + i * lanes);
  }
}

void SumTileValuesImpl(const TileWeights::Row* rows, int64_t queries, int64_t keys, const TileValues& values,
                       AttentionColumns* const* out) {
  for (int64_t first = 0; first < keys; first += kNearValues) {
    const int64_t end = std::min(keys, first + kNearValues);
    ForVectors<kVectorsAtOnce>(Doubles(), values.columns, [&](int64_t c, auto d, auto count) HWY_ATTR {
      int64_t r = 0;
      for (; r + kRowsAtOnce <= queries; r += kRowsAtOnce) {
        AddValues<kRowsAtOnce>(d, count, rows + r, first, end, values, c, out + r);
      }
      for (; r < queries; ++r) AddValues<1>(d, count, rows + r, first, end, values, c, out + r);
    });
  }
}

template <int kRows, class D, int kVectors>
HWY_INLINE void AddMagnitudes(D d, std::integral_constant<int, kVectors>, const TileWeights::Row* rows, int64_t first,
                              int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  const int64_t lanes = LanesOf(d);
  const float* of_v = values.v + values.At(c) + first * kValueGroup;
  hn::Vec<D> magnitude[kRows][kVectors];
  const float* up[kRows];
  for (int r = 0; r < kRows; ++r) {
    up[r] = rows[r].up;
    for (int i = 0; i < kVectors; ++i) magnitude[r][i] = hn::LoadU(d, out[r].magnitude + c + i * lanes);
  }
  for (int64_t key = first; key < end; ++key, of_v += kValueGroup) {
    hn::Vec<D> v[kVectors];
    for (int i = 0; i < kVectors; ++i) v[i] = Factors(d, of_v + VectorAt<kVectors>(d, i, values.stride));
    for (int r = 0; r < kRows; ++r) {
      const auto p = hn::Set(d, up[r][key]);
      for (int i = 0; i < kVectors; ++i) magnitude[r][i] = hn::MulAdd(p, v[i], magnitude[r][i]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kVectors; ++i) hn::StoreU(magnitude[r][i], d, out[r].magnitude + c + i * lanes);
  }
}

// One query's sums of distances in registers.
template <bool kLow, class D, int kVectors>
struct Distances {
  hn::Vec<D> o[kVectors], o_low[kVectors], dot[kVectors], added[kVectors], shifts[kVectors], moves[kVectors];

  HWY_INLINE void Load(D d, const TileSums& from, int64_t c) {
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = c + i * LanesOf(d);
      o[i] = hn::LoadU(d, from.o + at);
      if constexpr (kLow) o_low[i] = hn::LoadU(d, from.o_low + at);
      dot[i] = hn::LoadU(d, from.dot + at), added[i] = hn::LoadU(d, from.added + at);
      shifts[i] = hn::LoadU(d, from.shifts + at), moves[i] = hn::LoadU(d, from.moves + at);
    }
  }

  HWY_INLINE void Add(D d, const TileWeights::Row& row, int64_t key, const hn::Vec<D> (&v)[kVectors],
                      const hn::Vec<D> (&squares)[kVectors]) {
    const auto by_dot = hn::Set(d, row.dot[key]), by_added = hn::Set(d, row.added[key]);
    const auto squared = hn::Set(d, row.squared[key]), stored2 = hn::Set(d, row.stored2[key]);
    for (int i = 0; i < kVectors; ++i) {
      auto distance = hn::Sub(o[i], v[i]);
      if constexpr (kLow) distance = hn::Add(distance, o_low[i]);
      distance = hn::Abs(distance);
      dot[i] = hn::MulAdd(by_dot, distance, dot[i]);
      added[i] = hn::MulAdd(by_added, distance, added[i]);
      const auto square = hn::Mul(distance, distance);
      shifts[i] = hn::MulAdd(squared, hn::Max(square, squares[i]), shifts[i]);
      moves[i] = hn::MulAdd(stored2, square, moves[i]);
    }
  }

  HWY_INLINE void Store(D d, const TileSums& to, int64_t c) const {
    for (int i = 0; i < kVectors; ++i) {
      const int64_t at = c + i * LanesOf(d);
      hn::StoreU(dot[i], d, to.dot + at), hn::StoreU(added[i], d, to.added + at);
      hn::StoreU(shifts[i], d, to.shifts + at), hn::StoreU(moves[i], d, to.moves + at);
    }
  }
};

// Sums distances |v - o| of kRows queries, with o as one float or as two.
template <bool kLow, int kRows, class D, int kVectors>
HWY_INLINE void AddDistances(D d, std::integral_constant<int, kVectors>, const TileWeights::Row* rows, int64_t first,
                             int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  const float* v = values.v + values.At(c) + first * kValueGroup;
  Distances<kLow, D, kVectors> sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r].Load(d, out[r], c);
  for (int64_t key = first; key < end; ++key, v += kValueGroup) {
    hn::Vec<D> of_key[kVectors], of_squares[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      of_key[i] = hn::LoadU(d, v + VectorAt<kVectors>(d, i, values.stride));
      of_squares[i] = hn::Mul(of_key[i], of_key[i]);
    }
    for (int r = 0; r < kRows; ++r) sums[r].Add(d, rows[r], key, of_key, of_squares);
  }
  for (int r = 0; r < kRows; ++r) sums[r].Store(d, out[r], c);
}

// Two queries that need no low part at a time, where registers suffice: they share what is read of v.
template <class D, class Count>
HWY_INLINE void AddDistancesOf(D d, Count count, const TileWeights::Row* rows, int64_t queries, int64_t first,
                               int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  for (int64_t r = 0; r < queries; ++r) {
    if (!rows[r].spread) {
      AddDistances<true, 1>(d, count, rows + r, first, end, values, c, out + r);
    } else if (kManyRegisters && r + 1 < queries && rows[r + 1].spread) {
      AddDistances<false, 2>(d, count, rows + r, first, end, values, c, out + r);
      ++r;
    } else {
      AddDistances<false, 1>(d, count, rows + r, first, end, values, c, out + r);
    }
  }
}

template <class D, class Count>
HWY_INLINE void AddMagnitudesOf(D d, Count count, const TileWeights::Row* rows, int64_t queries, int64_t first,
                                int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= queries; r += kRowsAtOnce) {
    AddMagnitudes<kRowsAtOnce>(d, count, rows + r, first, end, values, c, out + r);
  }
  for (; r < queries; ++r) AddMagnitudes<1>(d, count, rows + r, first, end, values, c, out + r);
}

// The sums of one stretch of at most kFloatKeys keys.
void AddStretchImpl(const TileWeights::Row* rows, int64_t queries, int64_t first, int64_t end, const TileValues& values,
                    const TileSums* out) {
  for (int64_t from = first; from < end; from += kNearKeys) {
    const int64_t last = std::min(end, from + kNearKeys);
    ForVectors<kVectorsAtOnce>(Floats(), values.columns, [&](int64_t c, auto d, auto count) HWY_ATTR {
      AddMagnitudesOf(d, count, rows, queries, from, last, values, c, out);
      AddDistancesOf(d, count, rows, queries, from, last, values, c, out);
    });
  }
}

// Adds the sums to those in double and clears them.
void FoldImpl(float* HWY_RESTRICT sums, int64_t n, double up, double* HWY_RESTRICT to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] += sums[i] * up;
    sums[i] = 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(SumTileValuesImpl);
HWY_EXPORT(AddStretchImpl);
HWY_EXPORT(FoldImpl);

// A weight is rounded up beforehand. With o = high + low, v - high is exact where it is small beside o, else it is off
// by 2^-24 as the second difference is: together less than 2^-22 of |v - o|.
double FloatSumsUp() {
  return 1 + 2 * Gamma(static_cast<double>(kFloatKeys) + 6, 0x1p-24);
}

constexpr int64_t kKeysPerChunk = 16;

PackedValues::PackedValues(std::span<const double> from, int64_t heads, int64_t key_count, int64_t column_count)
    : keys(key_count), columns(column_count), groups((column_count + kValueGroup - 1) / kValueGroup) {
  const auto size = static_cast<size_t>(heads * groups * keys * kValueGroup);
  v.resize(size);
  ParallelFor(heads * keys, kKeysPerChunk, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t head = row / keys, key = row % keys;
      for (int64_t c = 0; c < groups * kValueGroup; ++c) {
        const int64_t to = ((head * groups + c / kValueGroup) * keys + key) * kValueGroup + c % kValueGroup;
        v[to] = c < columns ? static_cast<float>(from[row * columns + c]) : 0.0F;
      }
    }
  });
}

void SumTileValues(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out) {
  std::array<TileWeights::Row, kTileQueries> rows;
  for (int64_t r = 0; r < weights.queries(); ++r) rows[r] = weights.At(r);
  HWY_DYNAMIC_DISPATCH(SumTileValuesImpl)(rows.data(), weights.queries(), weights.keys(), values, out.data());
}

void SumTilePlanes(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out) {
  constexpr int64_t kSums = 7;
  const int64_t n = values.columns, queries = weights.queries();
  thread_local std::vector<float> sums;
  sums.assign(static_cast<size_t>(queries * kSums * n), 0.0F);
  std::array<TileWeights::Row, kTileQueries> rows;
  std::array<TileSums, kTileQueries> at;
  for (int64_t r = 0; r < queries; ++r) {
    rows[r] = weights.At(r);
    float* of_row = sums.data() + r * kSums * n;
    for (int64_t c = 0; c < n; ++c) {
      of_row[c] = static_cast<float>(out[r]->o[c]);
      of_row[n + c] = static_cast<float>(out[r]->o[c] - of_row[c]);
    }
    at[r] = {of_row, of_row + n, of_row + 2 * n, of_row + 3 * n, of_row + 4 * n, of_row + 5 * n, of_row + 6 * n};
  }
  const double up = FloatSumsUp();
  for (int64_t first = 0; first < weights.keys(); first += kFloatKeys) {
    const int64_t end = std::min(weights.keys(), first + kFloatKeys);
    HWY_DYNAMIC_DISPATCH(AddStretchImpl)(rows.data(), queries, first, end, values, at.data());
    for (int64_t r = 0; r < queries; ++r) {
      const auto fold = [&](float* from, double by, std::vector<double>& to) {
        HWY_DYNAMIC_DISPATCH(FoldImpl)(from, n, by, to.data());
      };
      fold(at[r].magnitude, up, out[r]->magnitude);
      fold(at[r].dot, up, out[r]->dot), fold(at[r].added, up, out[r]->added);
      fold(at[r].shifts, 1, out[r]->shifts), fold(at[r].moves, 1, out[r]->moves);
    }
  }
}

}  // namespace assay
#endif  // HWY_ONCE

// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_tile.cc"
#include "ops/attention/attention_tile.h"

#include <algorithm>
#include <array>
#include <cmath>

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

// Sums that stay in registers: vectors of a product's block, and of each of the planes' sums.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kBlockVectors = kManyRegisters ? 2 : 1;
constexpr int kMomentVectors = kManyRegisters ? 4 : 2;
constexpr int kDistanceVectors = 2;  // of two queries where kManyRegisters
constexpr int kRowsAtOnce = 4;
// Keys of whose values those columns that are summed together, 16 KB or less, stay in the first-level cache from one
// query to the next: for o, and for the planes, which read v^2 as well. Fewer would cost more starts of the sums.
constexpr int64_t kNearValues = kManyRegisters ? 128 : 256;
constexpr int64_t kNearKeys = kManyRegisters ? 64 : 128;
// Block of scores: at least eight independent sums, with fewer loads than fused operations.
constexpr int kScoreRows = kManyRegisters ? kTileQueries : 4;

// Loads factors from k or v: as doubles, or as |x| in float for a sum of magnitudes.
template <class D>
HWY_INLINE hn::Vec<D> Factors(D d, const float* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
  } else {
    return hn::Abs(hn::LoadU(d, from));
  }
}

// to[r * n + j] = sum over c < depth of q[c * kStride + r] k[c * kKeyBlock + j], for the keys of a block; in float of
// |k|. Queries by component need one address alone; two vectors with names of their own stay in registers.
template <int kRows, int kStride, class D, class T = hn::TFromD<D>>
HWY_INLINE void ScoreBlock(D d, const T* q, const float* k, int64_t depth, T* to, int64_t n) {
  const int64_t lanes = LanesOf(d);
  for (int64_t j = 0; j < kKeyBlock; j += 2 * lanes) {
    hn::Vec<D> near[kRows], far[kRows];
    for (int r = 0; r < kRows; ++r) near[r] = far[r] = hn::Zero(d);
    for (int64_t c = 0; c < depth; ++c) {
      const auto near_keys = Factors(d, k + c * kKeyBlock + j), far_keys = Factors(d, k + c * kKeyBlock + j + lanes);
      for (int r = 0; r < kRows; ++r) {
        const auto factor = hn::Set(d, q[c * kStride + r]);
        near[r] = hn::MulAdd(factor, near_keys, near[r]), far[r] = hn::MulAdd(factor, far_keys, far[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      hn::StoreU(near[r], d, to + r * n + j), hn::StoreU(far[r], d, to + r * n + j + lanes);
    }
  }
}

// `q` and `q32` are [depth, kRows].
template <int kRows>
HWY_INLINE void ScoreRowsOf(const double* q, const float* q32, const float* k, int64_t depth, int64_t n, float up,
                            double* dots, float* magnitudes) {
  const Floats d;
  constexpr int kAtOnce = std::min(kRows, kScoreRows);
  static_assert(kRows % kAtOnce == 0);
  for (int64_t j = 0; j < n; j += kKeyBlock, k += depth * kKeyBlock) {
    for (int r = 0; r < kRows; r += kAtOnce) {
      ScoreBlock<kAtOnce, kRows>(Doubles(), q + r, k, depth, dots + r * n + j, n);
    }
    for (int64_t c = 0; c < depth; c += kFloatKeys) {
      HWY_ALIGN float block[kRows * kKeyBlock];
      for (int r = 0; r < kRows; r += kAtOnce) {
        ScoreBlock<kAtOnce, kRows>(d, q32 + c * kRows + r, k + c * kKeyBlock, std::min(kFloatKeys, depth - c),
                                   block + r * kKeyBlock, kKeyBlock);
      }
      for (int r = 0; r < kRows; ++r) {
        float* to = magnitudes + r * n + j;
        for (int64_t i = 0; i < kKeyBlock; i += LanesOf(d)) {
          const auto raised = hn::Mul(hn::Load(d, block + r * kKeyBlock + i), hn::Set(d, up));
          hn::StoreU(c == 0 ? raised : hn::Add(hn::LoadU(d, to + i), raised), d, to + i);
        }
      }
    }
  }
}

void NarrowScoresOfImpl(const double* q, const float* q32, int64_t rows, const float* k, int64_t depth, int64_t n,
                        float up, double* dots, float* magnitudes) {
  thread_local std::vector<double> by_component;
  thread_local std::vector<float> sizes_by_component;
  int64_t r = 0;
  for (; r + kTileQueries <= rows; r += kTileQueries) {
    by_component.resize(static_cast<size_t>(depth * kTileQueries)), sizes_by_component.resize(by_component.size());
    for (int64_t i = 0; i < depth * kTileQueries; ++i) {
      const int64_t from = (r + i % kTileQueries) * depth + i / kTileQueries;
      by_component[i] = q[from], sizes_by_component[i] = q32[from];
    }
    ScoreRowsOf<kTileQueries>(by_component.data(), sizes_by_component.data(), k, depth, n, up, dots + r * n,
                              magnitudes + r * n);
  }
  for (; r < rows; ++r) {
    ScoreRowsOf<1>(q + r * depth, q32 + r * depth, k, depth, n, up, dots + r * n, magnitudes + r * n);
  }
}

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
    ForVectors<2 * kBlockVectors>(Doubles(), values.columns, [&](int64_t c, auto d, auto count) HWY_ATTR {
      int64_t r = 0;
      for (; r + kRowsAtOnce <= queries; r += kRowsAtOnce) {
        AddValues<kRowsAtOnce>(d, count, rows + r, first, end, values, c, out + r);
      }
      for (; r < queries; ++r) AddValues<1>(d, count, rows + r, first, end, values, c, out + r);
    });
  }
}

template <bool kSquares, int kRows, class D, int kVectors>
HWY_INLINE void AddMoments(D d, std::integral_constant<int, kVectors>, const TileWeights::Row* rows, int64_t first,
                           int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  const int64_t lanes = LanesOf(d), stride = values.stride, at = values.At(c) + first * kValueGroup;
  const float *of_v = values.v + at, *of_squares = values.squares + at;
  hn::Vec<D> magnitude[kRows][kVectors], squares[kRows][kVectors];
  const float *up[kRows], *squared[kRows];
  for (int r = 0; r < kRows; ++r) {
    up[r] = rows[r].up, squared[r] = rows[r].squared;
    for (int i = 0; i < kVectors; ++i) {
      magnitude[r][i] = hn::LoadU(d, out[r].magnitude + c + i * lanes);
      if constexpr (kSquares) squares[r][i] = hn::LoadU(d, out[r].squares + c + i * lanes);
    }
  }
  for (int64_t key = first; key < end; ++key, of_v += kValueGroup, of_squares += kValueGroup) {
    hn::Vec<D> v[kVectors], v2[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      v[i] = Factors(d, of_v + VectorAt<kVectors>(d, i, stride));
      if constexpr (kSquares) v2[i] = hn::LoadU(d, of_squares + VectorAt<kVectors>(d, i, stride));
    }
    for (int r = 0; r < kRows; ++r) {
      const auto p = hn::Set(d, up[r][key]), p2 = hn::Set(d, squared[r][key]);
      for (int i = 0; i < kVectors; ++i) {
        magnitude[r][i] = hn::MulAdd(p, v[i], magnitude[r][i]);
        if constexpr (kSquares) squares[r][i] = hn::MulAdd(p2, v2[i], squares[r][i]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int i = 0; i < kVectors; ++i) {
      hn::StoreU(magnitude[r][i], d, out[r].magnitude + c + i * lanes);
      if constexpr (kSquares) hn::StoreU(squares[r][i], d, out[r].squares + c + i * lanes);
    }
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
  const int64_t stride = values.stride, begin = values.At(c) + first * kValueGroup;
  const float *v = values.v + begin, *squares = values.squares + begin;
  Distances<kLow, D, kVectors> sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r].Load(d, out[r], c);
  for (int64_t key = first; key < end; ++key, v += kValueGroup, squares += kValueGroup) {
    hn::Vec<D> of_key[kVectors], of_squares[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      of_key[i] = hn::LoadU(d, v + VectorAt<kVectors>(d, i, stride));
      of_squares[i] = hn::LoadU(d, squares + VectorAt<kVectors>(d, i, stride));
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

template <bool kSquares, class D, class Count>
HWY_INLINE void AddMomentsOf(D d, Count count, const TileWeights::Row* rows, int64_t queries, int64_t first,
                             int64_t end, const TileValues& values, int64_t c, const TileSums* out) {
  constexpr int kRows = kSquares ? kRowsAtOnce / 2 : kRowsAtOnce;
  int64_t r = 0;
  for (; r + kRows <= queries; r += kRows) {
    AddMoments<kSquares, kRows>(d, count, rows + r, first, end, values, c, out + r);
  }
  for (; r < queries; ++r) AddMoments<kSquares, 1>(d, count, rows + r, first, end, values, c, out + r);
}

// The sums of one stretch of at most kFloatKeys keys.
void AddStretchImpl(const TileWeights::Row* rows, int64_t queries, int64_t first, int64_t end, bool squares,
                    const TileValues& values, const TileSums* out) {
  for (int64_t from = first; from < end; from += kNearKeys) {
    const int64_t last = std::min(end, from + kNearKeys);
    ForVectors<kMomentVectors>(Floats(), values.columns, [&](int64_t c, auto d, auto count) HWY_ATTR {
      squares ? AddMomentsOf<true>(d, count, rows, queries, from, last, values, c, out)
              : AddMomentsOf<false>(d, count, rows, queries, from, last, values, c, out);
    });
    ForVectors<kDistanceVectors>(Floats(), values.columns, [&](int64_t c, auto d, auto count) HWY_ATTR {
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

HWY_EXPORT(NarrowScoresOfImpl);
HWY_EXPORT(SumTileValuesImpl);
HWY_EXPORT(AddStretchImpl);
HWY_EXPORT(FoldImpl);

// A weight is rounded up beforehand. With o = high + low, v - high is exact where it is small beside o, else it is off
// by 2^-24 as the second difference is: together less than 2^-22 of |v - o|.
double FloatSumsUp() {
  return 1 + 2 * Gamma(static_cast<double>(kFloatKeys) + 6, 0x1p-24);
}

PackedKeys::PackedKeys(std::span<const double> k, int64_t heads, int64_t components, int64_t keys, int64_t stride)
    : depth(components), blocks((keys + kKeyBlock - 1) / kKeyBlock) {
  values.resize(static_cast<size_t>(heads * blocks * depth * kKeyBlock));
  ParallelFor(heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t key = block % blocks * kKeyBlock, count = std::min(kKeyBlock, keys - key);
      for (int64_t c = 0; c < depth; ++c) {
        const double* from = k.data() + (block / blocks * depth + c) * stride + key;
        const int64_t to = (block * depth + c) * kKeyBlock;
        for (int64_t i = 0; i < count; ++i) values[to + i] = static_cast<float>(from[i]);
      }
    }
  });
}

constexpr int64_t kKeysPerChunk = 16;

PackedValues::PackedValues(std::span<const double> from, int64_t heads, int64_t key_count, int64_t column_count)
    : keys(key_count), columns(column_count), groups((column_count + kValueGroup - 1) / kValueGroup) {
  const auto size = static_cast<size_t>(heads * groups * keys * kValueGroup);
  v.resize(size), squares.resize(size);
  ParallelFor(heads * keys, kKeysPerChunk, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t head = row / keys, key = row % keys;
      for (int64_t c = 0; c < groups * kValueGroup; ++c) {
        const int64_t to = ((head * groups + c / kValueGroup) * keys + key) * kValueGroup + c % kValueGroup;
        const float x = c < columns ? static_cast<float>(from[row * columns + c]) : 0.0F;
        v[to] = x, squares[to] = x * x;
      }
    }
  });
}

void NarrowScoresOf(const double* q, const float* q32, int64_t rows, const PackedKeys& keys, int64_t head,
                    int64_t first, int64_t n, double* dots, float* magnitudes) {
  const int64_t at = keys.At(head, first), blocks = (keys.depth + kFloatKeys - 1) / kFloatKeys;
  // Room for the roundings of the factor itself, of the products with it, and of the additions of blocks.
  const double up = FloatSumsUp() * (1 + 0x1p-23 * static_cast<double>(blocks + 1));
  HWY_DYNAMIC_DISPATCH(NarrowScoresOfImpl)
  (q, q32, rows, keys.values.data() + at, keys.depth, n, static_cast<float>(up), dots, magnitudes);
}

void SumTileValues(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out) {
  std::array<TileWeights::Row, kTileQueries> rows;
  for (int64_t r = 0; r < weights.queries(); ++r) rows[r] = weights.At(r);
  HWY_DYNAMIC_DISPATCH(SumTileValuesImpl)(rows.data(), weights.queries(), weights.keys(), values, out.data());
}

void SumTilePlanes(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out) {
  constexpr int64_t kSums = 8;
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
    at[r] = {of_row,         of_row + n,     of_row + 2 * n, of_row + 3 * n,
             of_row + 4 * n, of_row + 5 * n, of_row + 6 * n, of_row + 7 * n};
  }
  const double up = FloatSumsUp();
  const bool squares = weights.keys() <= kKeysOfSquares;
  for (int64_t first = 0; first < weights.keys(); first += kFloatKeys) {
    const int64_t end = std::min(weights.keys(), first + kFloatKeys);
    HWY_DYNAMIC_DISPATCH(AddStretchImpl)(rows.data(), queries, first, end, squares, values, at.data());
    for (int64_t r = 0; r < queries; ++r) {
      const auto fold = [&](float* from, double by, std::vector<double>& to) {
        HWY_DYNAMIC_DISPATCH(FoldImpl)(from, n, by, to.data());
      };
      fold(at[r].magnitude, up, out[r]->magnitude);
      if (squares) fold(at[r].squares, 1, out[r]->squares);
      fold(at[r].dot, up, out[r]->dot), fold(at[r].added, up, out[r]->added);
      fold(at[r].shifts, 1, out[r]->shifts), fold(at[r].moves, 1, out[r]->moves);
    }
  }
  for (int64_t r = 0; !squares && r < queries; ++r) {
    AttentionColumns& columns = *out[r];
    for (int64_t c = 0; c < n; ++c) {
      columns.squares[c] = std::min(columns.shifts[c], columns.magnitude[c] * columns.magnitude[c]);
    }
  }
}

}  // namespace assay
#endif  // HWY_ONCE

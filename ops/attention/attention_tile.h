// SPDX-License-Identifier: Apache-2.0
// The fast tier's sums over keys for a few queries at a time, as products of matrices: weights [queries, keys] times
// values [keys, columns]. Values of o are summed in double. What is a bound or a deviation is summed in float over
// kFloatKeys keys and then in double; the caller raises bounds by FloatSumsUp(). Bits differ between instruction sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "golden/big_buffer.h"
#include "ops/attention/attention_columns.h"

namespace assay {

struct AttentionRow;

inline constexpr int64_t kTileQueries = 8;

// Values are zero or of a magnitude in [kNarrowMin, kNarrowMax], scores and finite masks at most that large, and
// weights zero or at least kLeastWeight: no product of a weight and a value underflows in float, and no sum of (p
// stored)^2 (v - o)^2 overflows.
inline constexpr double kNarrowMax = 0x1p24, kNarrowMin = 0x1p-30;
inline constexpr float kLeastWeight = 0x1p-90F;
inline constexpr int64_t kFloatKeys = 256;  // also the components of a score's magnitude

// Factor that makes a float sum of kFloatKeys non-negative products of rounded factors an upper bound.
double FloatSumsUp();

// The keys of each head in blocks of kKeyBlock, [block][component][key], the last one filled up with zeros, in the
// order in which products read them.
inline constexpr int64_t kKeyBlock = 32;
struct PackedKeys {
  PackedKeys() = default;
  // `k` is [heads, components, stride] with `keys` of each component present.
  PackedKeys(std::span<const double> k, int64_t heads, int64_t components, int64_t keys, int64_t stride);
  int64_t At(int64_t head, int64_t key) const { return (head * blocks + key / kKeyBlock) * depth * kKeyBlock; }

  int64_t depth = 0, blocks = 0;  // blocks of one head
  std::vector<float> values;
};

// sum_c q_c k_cj in double and sum_c |q_c| |k_cj| in float, the latter raised to a bound, for `rows` queries and n keys
// of a head from `first` on, both multiples of kKeyBlock. Outputs are [rows, n], q and q32 [rows, depth].
void NarrowScoresOf(const double* q, const float* q32, int64_t rows, const PackedKeys& keys, int64_t head,
                    int64_t first, int64_t n, double* dots, float* magnitudes);

// t = scale dots and dot = |scale| magnitudes, of n keys; and the largest of each that is read, and score. All are
// finite.
struct PlainScores {
  double score = 0, magnitude = 0, largest_k = 0, fourth_k = 0;
};
PlainScores PlainScoresOf(const double* dots, const float* magnitudes, const double* largest_k, const double* fourth_k,
                          int64_t n, double scale, double* t, double* dot);

// Scores in `t` and masks in `added` become what AttentionRow has, beside those of the largest. Returns how many keys
// are kTail below it.
int64_t SubtractLargest(double score, double mask, double* t, double* added, double* stored, int64_t n);

// e[i] = exp(x[i]) within an ulp, for x from -700 to 0; exp(0) is 1. Returns their sum.
double NearExponentials(const double* x, int64_t n, double* e);

// Where no key has more of the weight than this, o is close to no single value, and distances from o in float suffice:
// each may be off by 2^-24 |o|. Otherwise o is the sum of two floats.
inline constexpr double kMostOfSpread = 0.5;

// Facts of a query all of whose n >= 1 keys are seen, with neither added mask nor softcap.
struct PlainRow {
  bool near = false;  // no key lies kDead or more below the largest; else nothing but `largest` is known
  double largest = 0, most = 0, magnitude = 0;  // the largest score, weight and sum of magnitudes
  RowSums sums;
};

// The weights of up to kTileQueries queries for a range of keys, zero for keys that a query does not see.
class TileWeights {
 public:
  // One query's weights; bounds are rounded up.
  struct Row {
    double* p;
    float *up, *squared;           // p and p^2
    float *dot, *added, *stored2;  // p dot, p added, (p stored)^2
    bool spread;                   // no p is above kMostOfSpread
  };
  void Start(int64_t queries, int64_t keys);
  void Set(int64_t query, const AttentionRow& row, int64_t first_key);
  // Set for n keys from number `at` on, from their products (NarrowScoresOf). `depth`: see SumRow. Where the row is not
  // near, Set has to follow.
  PlainRow SetPlain(int64_t query, const double* dots, const float* magnitudes, int64_t at, int64_t n, double scale,
                    double depth);
  int64_t queries() const { return queries_; }
  int64_t keys() const { return keys_; }
  Row At(int64_t query) const { return rows_[query]; }

 private:
  static void Clear(const Row& row, int64_t first, int64_t end);

  int64_t queries_ = 0, keys_ = 0;
  std::vector<double> doubles_;
  std::vector<float> floats_;
  Row rows_[kTileQueries];
};

// Weighs n keys by exp(score) in three passes over them, and sums what SumRow would.
PlainRow WeighPlainRow(const double* dots, const float* magnitudes, int64_t n, double scale, double depth,
                       const TileWeights::Row& to);

// v by head, [kValueGroup columns][key][column], the last columns filled up with zeros: keys of a few columns
// follow each other, as products read them.
inline constexpr int64_t kValueGroup = 16;
struct PackedValues {
  PackedValues() = default;
  PackedValues(std::span<const double> v, int64_t heads, int64_t keys, int64_t columns);

  int64_t keys = 0, columns = 0, groups = 0;
  BigBuffer<float> v;
};

// View of a head's packed values from key `key` on.
struct TileValues {
  TileValues(const PackedValues& packed, int64_t head, int64_t key)
      : v(packed.v.data() + (head * packed.groups * packed.keys + key) * kValueGroup),
        columns(packed.columns),
        stride(packed.keys * kValueGroup) {}
  int64_t At(int64_t c) const { return c / kValueGroup * stride + c % kValueGroup; }  // of the first key

  const float* v;
  int64_t columns, stride;  // from one group of columns to the next
};

// A query's sums in float, each [columns].
struct TileSums {
  const float *o, *o_low;  // their sum is o
  float *magnitude, *dot, *added, *shifts, *moves;
};

// Fills o of each query's columns; then magnitude, dot, added, shifts and moves, from o.
void SumTileValues(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out);
void SumTilePlanes(const TileWeights& weights, const TileValues& values, std::span<AttentionColumns* const> out);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The inner loops of golden attention over the keys of one query: per column of v the sums in the order of the keys, a
// few columns at a time in registers. The bits do not depend on the vectors' width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

// The sums over one query's keys, per column of v.
struct AttentionColumns {
  explicit AttentionColumns(int64_t n)
      : o(n),
        lo(n),
        magnitude(n),
        dot(n),
        added(n),
        shifts(n),
        moves(n),
        range(n),
        special(n),
        error(n),
        sigma(n),
        shift(n),
        move(n) {}
  std::vector<double> o, lo;          // sum p v, and what it lacks
  std::vector<double> magnitude;      // sum p |v|
  std::vector<double> dot, added;     // sum w |v - o| for the weights' w
  std::vector<double> shifts, moves;  // sum (p max(|v|, |v - o|))^2, sum (stored |v - o|)^2
  std::vector<double> range;          // max |v - o|
  std::vector<double> special;        // sums of infinities and NaN, apart
  std::vector<double> error, sigma;   // of o
  std::vector<double> shift, move;    // the roots of shifts and of twice moves
};

// One key: its row of v and its weights.
struct WeightedKey {
  const double* v;
  double p;
  double dot = 0, added = 0, stored = 0;  // p times what AttentionRow has
};

// Sums over keys that do not depend on the query, per column of v.
struct KeyColumns {
  explicit KeyColumns(int64_t n) : values(n), low(n), high(n) {}
  std::vector<double> values;     // sum |v|
  std::vector<double> low, high;  // the smallest and the largest v
};

// Each adds a stretch of keys to the sums so far, in their order, so that several queries can share what is read of v
// while it is in a cache. SumValues: o and magnitude. SumDistances: dot, added, shifts and moves, from o.
inline constexpr int64_t kKeyStretch = 64;
void SumValues(std::span<const WeightedKey> keys, int64_t n, AttentionColumns& columns);
void SumDistances(std::span<const WeightedKey> keys, int64_t n, AttentionColumns& columns);
void SumKeys(std::span<const WeightedKey> keys, int64_t n, KeyColumns& columns);

// dots[r * n + j] = sum_c q[r * d + c] k[c * stride + j], and the same of magnitudes, for r < rows, j < n. Up to
// kScoreRows rows cost little more than one: they share what is read of k.
inline constexpr int64_t kScoreRows = 4;
void ScoresOf(const double* q, int64_t rows, const double* k, int64_t stride, int64_t d, int64_t n, double* dots,
              double* magnitudes);

// Sums and largest values over a row's keys, of what AttentionRow holds. Keys with t below -kTail are left out of
// dot_max, added_max and error_max, those below -kWeightless out of stored_max.
struct RowSums {
  double dot_mean = 0, added_mean = 0;  // sum p dot, sum p added
  double squares = 0;                   // sum p^2
  double size_mean = 0;                 // sum p (depth dot + 8 |t|)
  double dot_max = 0, added_max = 0, size_max = 0, stored_max = 0;
  double dot_top = 0;  // of all keys
  bool tail = false;   // some t is below -kTail
};
struct AttentionRow;
RowSums SumRow(const AttentionRow& row, double depth);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Parts of the operator attention (attention.cc): o[b,h,i] = sum_j p_ij v[b,g,j] over the keys j that query i may see,
// p_ij = exp(t_ij) / sum_j exp(t_ij), t_ij = cap(scale q[b,h,i] . k[b,g,j]) + mask_ij, cap(s) = softcap tanh(s /
// softcap). Query head h reads key/value head g = h / (h / hkv).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "golden/big_buffer.h"
#include "golden/value_range.h"
#include "ops/attention/attention_tile.h"
#include "ops/operator.h"

namespace assay {

enum class MaskKind : uint8_t { kNone, kBool, kAdd };

struct RowSums;

// The attributes of a bound attention. A query row is (b, h, i), numbered row-major.
struct AttentionArgs {
  explicit AttentionArgs(const Problem& problem);
  int64_t Rows() const { return batch * heads * l; }
  int64_t KeyHead(int64_t row) const {  // b * hkv + g
    const int64_t head = row / l % heads;
    return row / (l * heads) * hkv + head / (heads / hkv);
  }
  int64_t MaskOffset(int64_t row) const { return (mask_per_head ? row : row % l) * s; }
  // The keys [first, last) that causality and window leave to query i; br aligns the last query with the last key.
  struct Range {
    int64_t first = 0, last = 0;
  };
  Range KeysOf(int64_t row) const;
  double CountKeys(int64_t row) const {  // of these; 1 where there are none
    const Range keys = KeysOf(row);
    return keys.last > keys.first ? static_cast<double>(keys.last - keys.first) : 1;
  }

  int64_t batch = 1, heads = 1, hkv = 1, l = 1, s = 1, d = 1, dv = 1, window = 0;
  bool causal = false, top_left = false, mask_per_head = false, masked_nan = false;
  MaskKind mask = MaskKind::kNone;
  double scale = 1, softcap = 0;
};

// Operands as doubles, k by head as [d, s] for loops along the keys.
struct AttentionData {
  // kTiles: with what attention_tile.h needs, where the operands are in its range. kTerms: for the weights of single
  // rows; largest and fourth norms are zero.
  enum class For : uint8_t { kTerms, kRows, kTiles };
  AttentionData(const AttentionArgs& op, std::span<const Tensor> inputs, For use = For::kRows);
  // Component c of a head's keys.
  const double* K(int64_t head, int64_t c) const { return k_by_dim.data() + (head * d + c) * k_stride; }

  int64_t d, k_stride;  // keys from one component to the next
  std::vector<double> q, k_by_dim, v, mask;
  std::vector<bool> finite_v;  // per row of v
  bool all_finite_q = true, all_finite_k = true, all_finite_v = true;
  // The largest finite |q| of each query row and |k| of each key; whether there is a NaN or an infinity among them.
  std::vector<double> largest_q, largest_k;
  std::vector<bool> nan_q, nan_k, infinite_q, infinite_k;
  // (sum q^4)^(1/4) of each query row and (sum k^4)^(1/4) of each key, of finite numbers.
  std::vector<double> fourth_q, fourth_k;
  bool narrow = false;
  // Empty unless narrow: |q| as above, exact there, and k and v in the order in which products read them.
  BigBuffer<float> q32;
  PackedKeys packed;
  PackedValues packed_v;

 private:
  void Narrow(const AttentionArgs& op, const ValueRange& of_q, const ValueRange& of_k, const ValueRange& of_v);
};

// One query's weights in plain double: keys that it sees, p, and what rounding can do to t.
struct AttentionRow {
  std::vector<int64_t> keys;
  std::vector<double> t;       // below the largest: <= 0
  std::vector<double> p;       // sums to one
  std::vector<double> dot;     // |scale| sum |q| |k|: what an error of the dot product is relative to
  std::vector<double> added;   // |mask| + |t|: what later roundings are relative to
  std::vector<double> stored;  // |mask| + |score|: what keeping scores in a narrow format is relative to
  bool masked = false;         // no key at all
  bool undefined = false;      // a NaN or +inf among the scores
  // A NaN or +inf among the scores that comes from a NaN or an infinity of a key that is seen: the result is NaN,
  // whatever else is unclear.
  bool certain = false;
  bool unclear = false;  // no key is left, and NaN is as right as the result of a row that sees nothing
  bool unknown = false;  // no key is left, because scores leave double's range
  // NaN is as right as leaving out what an added -inf hides: of the row, where a hidden score is not finite, of columns
  // where a value without weight is not.
  bool may_be_nan = false;
  std::vector<int64_t> weightless_keys;
  // Keys with values that are not finite and with little weight: where it vanishes, implementations differ.
  std::vector<int64_t> unclear_keys;
  double largest = 0;  // score with its mask, of all keys
  double reach = 0;    // largest intermediate of a score
  // Reach of scores that an added -inf hides or infinite operands make -inf: a unit may have NaN there.
  double hidden_reach = 0;
  double products = 0;  // largest |scale| (sum q^4 sum k^4)^(1/4), at least sqrt(sum (scale q k)^2), of its keys
  double operand = 0;   // largest finite |q| and |k| that is read, behind an added -inf too
  double sunk = 0;      // how far below zero the largest t + mask lies: a unit may round all of them to -inf
};
AttentionRow ComputeRow(const AttentionArgs& op, const AttentionData& data, int64_t row);

// The dot products of some queries of one head, [rows, stride], with the `count` keys from `first` on that any of them
// sees, and the sums of their terms' magnitudes.
struct RawScores {
  // Where the numbers of query `index` and of n keys from `key` on begin.
  size_t At(int64_t index, int64_t key, int64_t n) const {
    return static_cast<size_t>(n == 0 ? 0 : index * stride + key - first);
  }

  int64_t first = 0, count = 0, stride = 0;  // stride: from one query to the next
  std::vector<double> dots;
  std::vector<double> magnitudes;  // none where the operands are narrow
  std::vector<float> narrow_magnitudes;
};
void ScoreRows(const AttentionArgs& op, const AttentionData& data, int64_t row, int64_t rows, RawScores& scores);
// Computes the row from scores that are known already, at `index` in `raw`. `out` may hold another row; its memory is
// reused.
void ComputeRow(const AttentionArgs& op, const AttentionData& data, int64_t row, const RawScores& raw, int64_t index,
                AttentionRow& out);
// Planes per element: "dot_weight" and "added_weight", sum p |v - o| times dot or added; "range" max |v - o|; "values"
// sum |v|; "may_be_nan", 1 where NaN is right too, 2 where infinities are as well; magnitude sum p |v|;
// "largest_operand", of the values |v| that are read, as in bound.h. Planes per query row are packed in "rows",
// kRowFacts numbers each; "live_keys": how many keys have t above -kDead; "hidden_reach", where there is any.
enum RowFact {
  kDotMean,
  kAddedMean,
  kDotMax,
  kAddedMax,
  kDotTail,
  kAddedTail,
  kReach,
  kSunk,
  kStored,
  kLargest,
  kMasked,
  kCertain,  // 1: NaN, see AttentionRow
  kProducts,
  kRowFacts
};
// Keys with t below this count as tail: their weight is bounded by exp(-kTail / 2) instead of by its error.
inline constexpr double kTail = 160;
// Keys with t below this weigh nothing beside the accumulator's roundings: kStored is the largest `stored` of the
// others.
inline constexpr double kWeightless = 40;
// exp(-kDead) is zero in f32 and narrower formats, also 256 times as large.
inline constexpr double kDead = 150;
Golden AttentionGolden(const Problem& problem, std::span<const Tensor> inputs, Tier tier);

// Adds "largest_operand".
void AddLargestOperands(const AttentionArgs& op, const AttentionData& data, Golden& golden);

BoundModel AttentionBound(const Problem& problem, const Golden& golden, const Contract& contract);
// Its statistic, attention_statistic.cc.
void SetAttentionStatistic(const AttentionArgs& op, const Golden& golden, const Contract& contract, DType in,
                           BoundModel& bound);

// The mask operand: bool (i8, 1 = visible) or additive.
Tensor MakeAttentionMask(const AttentionArgs& op, const Operand& operand, uint64_t seed, bool twin);
// Makes the keys that no query sees NaN, in k and v.
void PoisonUnseenKeys(const AttentionArgs& op, std::vector<Tensor>& inputs);

std::optional<Twin> AttentionTwin(const Problem& problem, const Contract& contract, int variant);

std::vector<Mutant> AttentionOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                          std::span<const double> values, std::span<const int64_t> outputs);

// The sums on the way to an output element: of the score of its likeliest key, of probabilities, and of their products
// with values.
std::vector<std::vector<double>> AttentionTerms(const Problem& problem, std::span<const Tensor> inputs, int64_t output);

std::unique_ptr<NarrowedOrders> AttentionOrders(const Problem& problem, std::span<const Tensor> inputs,
                                                const FloatFormat& format);

std::vector<SliceAxes> AttentionSlices(const Problem& problem);
std::vector<Relation> AttentionRelations(const Operator& op, const Problem& problem);

CaseSpace AttentionSpace();

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Golden attention. Fast: double throughout, weights of attention_row.h. Reproducible: scores, exponentials and sums in
// double-double; the planes, which are bounds, stay double. Masked keys are never read.
// sigma (NUMERICS.md 4) in units of u_acc: sqrt(keys) sum p |v| for the sums and 0.425 sqrt(sum p^2 v^2) for rounded
// probabilities. What rounding scores and probabilities to a narrower format adds is the plane "mid_weight", in units
// of that format's u: sqrt(sum p^2 max(v^2, (v - o)^2) + 2 sum p^2 (v - o)^2 (|mask| + |score|)^2), the probabilities
// divided by their unrounded or rounded sum, the score stored before and after its mask. Errors of the scores are
// shared by a row's columns: m_eff = 1 for row groups.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "golden/dd.h"
#include "golden/float_env.h"
#include "harness/base/infinity.h"
#include "harness/base/parallel.h"
#include "ops/attention.h"
#include "ops/attention_columns.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUp = 1 + 0x1p-30;  // the planes' own sums in double

// What a thread needs for one query, kept from row to row.
struct RowWork {
  explicit RowWork(int64_t n) : columns(n) {}
  AttentionColumns columns;
  std::vector<WeightedKey> keys;
  std::deque<std::vector<double>> copies;  // rows of v without their infinities and NaN
};

DD Sigmoidal(DD x) {  // tanh; its error is absolute, 2^-92, which is all that a score needs
  if (std::abs(x.hi) > 40) return {std::copysign(1.0, x.hi), 0};
  const DD e = Exp(Scale(x, -2));
  return (DD{1, 0} - e) / (e + 1.0);
}

class Builder {
 public:
  Builder(const Problem& problem, std::span<const Tensor> inputs, Tier tier)
      : op_(problem), data_(op_, inputs), tier_(tier) {
    const int64_t size = NumElements(problem.output.shape);
    const bool wide = SizeOf(problem.output.dtype) == 8;
    golden_.shape = problem.output.shape;
    golden_.tier = tier;
    golden_.value.resize(static_cast<size_t>(size));
    if (tier == Tier::kReproducible) golden_.value_lo.resize(static_cast<size_t>(size));
    for (Plane* p : {&golden_.magnitude, &golden_.sigma, &golden_.error, &dot_, &added_, &range_, &values_, &mid_}) {
      *p = Plane(size, wide);
    }
    rows_ = Plane(op_.Rows() * kRowFacts, wide);
  }

  Golden Run() {
    ParallelFor(op_.Rows(), kScoreRows, [&](int64_t begin, int64_t end) {
      RowWork work(op_.dv);
      for (int64_t row = begin; row < end;) {
        const int64_t rows = std::min({kScoreRows, end - row, op_.l - row % op_.l});  // of one head
        const RawScores scores = ScoreRows(op_, data_, row, rows);
        for (int64_t i = 0; i < rows; ++i) Row(row + i, ComputeRow(op_, data_, row + i, scores, i), work);
        row += rows;
      }
    });
    golden_.extra.emplace_back("dot_weight", std::move(dot_));
    golden_.extra.emplace_back("added_weight", std::move(added_));
    golden_.extra.emplace_back("range", std::move(range_));
    golden_.extra.emplace_back("values", std::move(values_));
    golden_.extra.emplace_back("rows", std::move(rows_));
    golden_.extra.emplace_back("mid_weight", std::move(mid_));
    AddLargestOperands(op_, data_, golden_);
    return std::move(golden_);
  }

 private:
  // The keys with their weights. A row of v with infinities or NaN is a copy without them; they go to columns.special.
  void Weigh(int64_t row, const AttentionRow& r, RowWork& w) const {
    w.keys.resize(r.keys.size());
    w.copies.clear();
    std::ranges::fill(w.columns.special, 0.0);
    const int64_t head = op_.KeyHead(row) * op_.s;
    for (size_t i = 0; i < r.keys.size(); ++i) {
      const int64_t key = head + r.keys[i];
      const double *v = data_.v.data() + key * op_.dv, p = r.p[i];
      if (!data_.all_finite_v && !data_.finite_v[key]) v = FiniteCopy(v, p, w);
      w.keys[i] = {v, p, p * r.dot[i], p * r.added[i], p * r.stored[i]};
    }
  }

  const double* FiniteCopy(const double* v, double p, RowWork& w) const {
    std::vector<double>& copy = w.copies.emplace_back(v, v + op_.dv);
    for (int64_t c = 0; c < op_.dv; ++c) {
      if (std::isfinite(copy[c])) continue;
      w.columns.special[c] += p > 0 ? copy[c] : kNaN;
      copy[c] = 0;
    }
    return copy.data();
  }

  void Row(int64_t row, const AttentionRow& r, RowWork& w) {
    const int64_t first = row * op_.dv;
    rows_.SetUp(row * kRowFacts + kLargest, r.operand);  // exact: it is compared with where types overflow
    SetFact(row, kReach, r.reach);
    SetFact(row, kMasked, r.masked ? 1 : 0);
    if (r.masked || r.undefined) {
      const double value = r.undefined || op_.masked_nan ? kNaN : 0;
      for (int64_t i = first; i < first + op_.dv; ++i) {
        golden_.value[i] = value;
        golden_.error.Set(i, r.unclear ? kInfinity : 0);
      }
      return;
    }
    Weigh(row, r, w);
    SumValues(w.keys, op_.dv, w.columns);
    std::ranges::fill(w.columns.lo, 0.0);
    if (tier_ == Tier::kReproducible) Refine(row, r, w);
    SumDistances(w.keys, op_.dv, w.columns);
    const RowSums sums = SumRow(r, static_cast<double>(op_.d) + 16);
    SetFacts(row, r, sums);
    Store(first, r, ScoreError(sums), w.columns);
  }

  // The values again in double-double.
  void Refine(int64_t row, const AttentionRow& r, RowWork& w) const {
    const int64_t head = op_.KeyHead(row);
    std::vector<DD> scores(r.keys.size());
    const auto top = static_cast<size_t>(std::max_element(r.t.begin(), r.t.end()) - r.t.begin());
    for (size_t i = 0; i < scores.size(); ++i) {
      DD dot;
      for (int64_t c = 0; c < op_.d; ++c) {
        dot = dot + TwoProd(data_.q[row * op_.d + c], data_.k_by_dim[(head * op_.d + c) * op_.s + r.keys[i]]);
      }
      dot = dot * op_.scale;
      scores[i] = op_.softcap > 0 ? Sigmoidal(dot / DD{op_.softcap, 0}) * op_.softcap : dot;
    }
    DD total;
    std::vector<DD> o(static_cast<size_t>(op_.dv));
    for (size_t i = 0; i < scores.size(); ++i) {
      DD t = scores[i] - scores[top];
      if (op_.mask == MaskKind::kAdd) {
        const double* mask = data_.mask.data() + op_.MaskOffset(row);
        t = t + TwoSum(mask[r.keys[i]], -mask[r.keys[top]]);
      }
      if (!(t.hi > -700)) continue;
      const DD e = Exp(t);
      total = total + e;
      for (int64_t c = 0; c < op_.dv; ++c) o[c] = o[c] + e * w.keys[i].v[c];
    }
    for (int64_t c = 0; c < op_.dv; ++c) {
      const DD y = o[c] / total;
      w.columns.o[c] = y.hi;
      w.columns.lo[c] = y.lo;
    }
  }

  // sum p |error of t|, of this golden's own arithmetic. tanh within 4 ulp (or 2^-92).
  double ScoreError(const RowSums& row) const {
    const bool fast = tier_ == Tier::kFast;
    const double u = fast ? 0x1p-53 : 0x1p-103, cap = fast ? 0 : 0x1p-88 * op_.softcap;
    const double largest = u * row.size_max + cap;
    const double top =
        u * (static_cast<double>(op_.d) + 16) * row.dot_top;  // the largest score, which all are taken from
    const double sum = u * row.size_mean + cap + top;
    return sum < 0.25 ? 2 * sum * std::exp(largest + top) : kInfinity;
  }

  void SetFact(int64_t row, RowFact fact, double value) { rows_.SetUp(row * kRowFacts + fact, value * kUp); }

  void SetFacts(int64_t row, const AttentionRow& r, const RowSums& sums) {
    SetFact(row, kDotMean, sums.dot_mean);
    SetFact(row, kAddedMean, sums.added_mean);
    SetFact(row, kDotMax, sums.dot_max);
    SetFact(row, kAddedMax, sums.added_max);
    SetFact(row, kStored, sums.stored_max);
    SetFact(row, kSunk, r.sunk);
    double dot = 0, added = 0;
    for (size_t i = 0; sums.tail && i < r.keys.size(); ++i) {
      if (!(r.t[i] < -kTail)) continue;
      dot = std::max(dot, r.dot[i] / -r.t[i]);
      added = std::max(added, r.added[i] / -r.t[i]);
    }
    SetFact(row, kDotTail, dot);
    SetFact(row, kAddedTail, added);
  }

  void Store(int64_t first, const AttentionRow& r, double score_error, const AttentionColumns& columns) {
    const auto n = static_cast<double>(r.keys.size());
    const double sum_error = tier_ == Tier::kFast ? 0x1p-53 * (2 * n + 16) : 0x1p-90 + 0x1p-102 * n;
    for (int64_t c = 0; c < op_.dv; ++c) {
      const int64_t i = first + c;
      const bool special = columns.special[c] != 0;  // also NaN
      golden_.value[i] = special ? columns.special[c] : columns.o[c];
      if (!golden_.value_lo.empty() && !special) golden_.value_lo[i] = columns.lo[c];
      const double error = std::min(2 * columns.range[c], score_error * columns.range[c]) +
                           2 * sum_error * columns.magnitude[c] + 0x1p-900 * (columns.values[c] + columns.range[c]) +
                           0x1p-1070;
      golden_.error.SetUp(i, r.unclear ? kInfinity : special ? 0 : error);
      golden_.magnitude.SetUp(i, columns.magnitude[c] * kUp);
      golden_.sigma.Set(i, std::sqrt(n * columns.magnitude[c] * columns.magnitude[c] +
                                     kRoundingDeviation * kRoundingDeviation * columns.squares[c]));
      mid_.Set(i, std::sqrt(columns.shifts[c]));
      dot_.SetUp(i, columns.dot[c] * kUp);
      added_.SetUp(i, columns.added[c] * kUp);
      range_.SetUp(i, columns.range[c] * kUp);
      values_.SetUp(i, columns.values[c] * kUp);
    }
  }

  const AttentionCase op_;
  const AttentionData data_;
  const Tier tier_;
  Golden golden_;
  Plane dot_, added_, range_, values_, rows_, mid_;
};

}  // namespace

Golden AttentionGolden(const Problem& problem, std::span<const Tensor> inputs, Tier tier) {
  RequireFloatEnvironment("golden attention");
  return Builder(problem, inputs, tier).Run();
}

}  // namespace assay

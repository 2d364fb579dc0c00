// SPDX-License-Identifier: Apache-2.0
// Golden attention. Fast: values in double, planes in float where the operands' range allows it (attention_tile.h),
// else in double. Reproducible: scores, exponentials and sums in double-double; the planes, which are bounds, stay
// double. Masked keys are never read. sigma, in units of u_acc, is that of the sums of p v and of p, see SumDeviation.
// It leaves out errors of probabilities and scores, which depend on the contract and are built from two planes:
// "shift_weight", sqrt(sum p^2 max(v^2, (v - o)^2)), for the probabilities divided by their unrounded or rounded sum,
// and "move_weight", sqrt(2 sum p^2 (v - o)^2 (|mask| + |score|)^2), for the score stored before and after its mask.
// Errors of the scores are shared by a row's columns: m_eff = 1 for row groups.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "golden/dd/dd.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_columns.h"
#include "ops/attention/attention_tile.h"
#include "ops/attention/attention_work.h"
#include "ops/binding.h"
#include "ops/work_pool.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUp = 1 + 0x1p-30;  // the planes' own sums in double
// The tile's distances are those from o in float, or as the sum of two floats: sums of w |v - o| may lack the first or
// the second of these times |o| sum w; and where floats are subnormal, the third times sum w, of o, and once more for
// each key, of the products.
constexpr double kFloatOff = 0x1.01p-24, kTwoFloatsOff = 0x1.01p-47, kFloatOffLeast = 0x1p-149;

// Caches the largest numbers that AttentionData has of consecutive keys. Neighbouring queries often see the same keys,
// or a few more.
struct KeyNorms {
  // `n` keys of all heads' from `first` on.
  void Read(const AttentionData& data, int64_t first_key, int64_t n) {
    if (first_key != first || n < count) first = first_key, count = 0, largest = fourth = 0;
    for (; count < n; ++count) {
      largest = std::max(largest, data.largest_k[first + count]);
      fourth = std::max(fourth, data.fourth_k[first + count]);
    }
  }

  int64_t first = 0, count = 0;
  double largest = 0, fourth = 0;
};

struct BlockWork {
  explicit BlockWork(int64_t n) : rows(kTileQueries, RowWork(n)), seen(n) {}
  RawScores scores;
  AttentionRow plain;  // what holds for a whole plain row; without its keys
  KeyNorms norms;
  std::vector<RowWork> rows;
  SeenKeys seen;
  TileWeights tile;
};

AttentionData::For UseFor(Tier tier, DType out) {
  return tier == Tier::kFast && SizeOf(out) < 8 ? AttentionData::For::kTiles : AttentionData::For::kRows;
}

class Builder {
 public:
  Builder(const Problem& problem, std::span<const Tensor> inputs, Tier tier)
      : op_(problem), data_(op_, inputs, UseFor(tier, problem.outputs[0].dtype)), tier_(tier) {
    const int64_t size = NumElements(problem.outputs[0].shape);
    const bool wide = SizeOf(problem.outputs[0].dtype) == 8;
    golden_.shape = problem.outputs[0].shape;
    golden_.tier = tier;
    golden_.value.resize(static_cast<size_t>(size));
    if (tier == Tier::kReproducible) golden_.value_lo.resize(static_cast<size_t>(size));
    for (Plane* p :
         {&golden_.magnitude, &golden_.sigma, &golden_.error, &dot_, &added_, &range_, &values_, &shift_, &move_}) {
      *p = Plane::Unset(size, wide);
    }
    rows_ = Plane(op_.Rows() * kRowFacts, wide);
    live_keys_ = Plane(op_.Rows(), wide);
    const bool all_finite = data_.all_finite_q && data_.all_finite_k && data_.all_finite_v;
    const bool adds = op_.mask == MaskKind::kAdd;
    if (!all_finite || (adds && wide)) may_be_nan_ = Plane(size, false);  // scores of doubles may overflow
    if (!all_finite || adds) hidden_reach_ = Plane(op_.Rows(), wide);
  }

  Golden Run() {
    ParallelFor(op_.Rows(), kTileQueries, [&](int64_t begin, int64_t end) {
      std::unique_ptr<BlockWork> work = works_.Take(op_.dv);
      for (int64_t row = begin; row < end;) {
        const int64_t rows = std::min({kTileQueries, end - row, op_.l - row % op_.l});  // of one head
        Block(row, rows, *work);
        row += rows;
      }
      works_.Give(std::move(work));
    });
    if (golden_.error.wide()) ReplaceBeyondDouble(op_, data_, golden_);
    golden_.extra.emplace_back("dot_weight", std::move(dot_));
    golden_.extra.emplace_back("added_weight", std::move(added_));
    golden_.extra.emplace_back("range", std::move(range_));
    golden_.extra.emplace_back("values", std::move(values_));
    golden_.extra.emplace_back("rows", std::move(rows_));
    golden_.extra.emplace_back("live_keys", std::move(live_keys_));
    golden_.extra.emplace_back("shift_weight", std::move(shift_));
    golden_.extra.emplace_back("move_weight", std::move(move_));
    if (!may_be_nan_.empty()) golden_.extra.emplace_back("may_be_nan", std::move(may_be_nan_));
    if (!hidden_reach_.empty()) golden_.extra.emplace_back("hidden_reach", std::move(hidden_reach_));
    AddLargestOperands(op_, data_, golden_);
    return std::move(golden_);
  }

 private:
  // Some queries of one head, which share what is read of k and v.
  void Block(int64_t first, int64_t count, BlockWork& work) {
    ScoreRows(op_, data_, first, count, work.scores);
    if (data_.narrow) work.tile.Start(count, work.scores.count);
    const std::span rows = std::span(work.rows).first(static_cast<size_t>(count));
    for (RowWork& w : rows) {
      w.row = first + (&w - rows.data());
      AttentionRow& weights = data_.narrow ? rows[0].weights : w.weights;  // one that stays in a cache
      const int64_t index = w.row - first;
      if (BeginPlain(w, index, work)) continue;
      ComputeRow(op_, data_, w.row, work.scores, index, weights);
      Begin(weights, w);
      if (data_.narrow) work.tile.Set(index, weights, work.scores.first);
    }
    data_.narrow ? SumTile(rows, work) : SumStretches(rows);
    for (RowWork& w : rows) {
      if (!w.counts) continue;
      if (data_.narrow) w.off = work.tile.At(w.row - first).spread ? kFloatOff : kTwoFloatsOff;
      Finish(w, work.seen);
    }
  }

  void SumTile(std::span<RowWork> rows, BlockWork& work) const {
    AttentionColumns* columns[kTileQueries];
    for (int64_t r = 0; r < std::ssize(rows); ++r) columns[r] = &rows[r].columns;
    const TileValues values(data_.packed_v, op_.KeyHead(rows[0].row), work.scores.first);
    const std::span<AttentionColumns* const> out(columns, rows.size());
    SumTileValues(work.tile, values, out);
    SumTilePlanes(work.tile, values, out);
  }

  void SumStretches(std::span<RowWork> rows) const {
    size_t most = 0;
    for (const RowWork& w : rows) most = std::max(most, w.keys.size());
    for (size_t key = 0; key < most; key += kKeyStretch) {
      for (RowWork& w : rows) SumValues(w.Stretch(key), op_.dv, w.columns);
    }
    if (tier_ == Tier::kReproducible) {
      for (RowWork& w : rows) RefineRow(op_, data_, w);
    }
    for (size_t key = 0; key < most; key += kKeyStretch) {
      for (RowWork& w : rows) SumDistances(w.Stretch(key), op_.dv, w.columns);
    }
  }

  // The keys with their weights. A row of v with infinities or NaN is a copy without them; they go to columns.special.
  void Weigh(const AttentionRow& r, RowWork& w) const {
    w.keys.resize(r.keys.size());
    w.copies.clear();
    const int64_t head = op_.KeyHead(w.row) * op_.s;
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

  void Begin(const AttentionRow& r, RowWork& w) {
    StartRow(r, w);
    if (w.counts) {
      live_keys_.Set(w.row, static_cast<double>(std::ranges::count_if(r.t, [](double t) { return t > -kDead; })));
      w.first_key = r.keys.front(), w.seen = std::ssize(r.keys);
      w.consecutive = data_.all_finite_v && r.keys.back() - r.keys.front() + 1 == w.seen;
      w.sums = SumRow(r, SizeDepth());
      StartSums(r, w);
      if (!data_.narrow || !w.consecutive) Weigh(r, w);
      return;
    }
    const double value = r.undefined || op_.masked_nan ? kNaN : 0;
    const int64_t first = w.row * op_.dv;
    for (int64_t i = first; i < first + op_.dv; ++i) {
      golden_.value[i] = value;
      for (Plane* p : {&golden_.magnitude, &golden_.sigma, &dot_, &added_, &range_, &values_, &shift_, &move_}) {
        p->Set(i, 0);
      }
      golden_.error.Set(i, r.unknown ? kInfinity : 0);
      if (r.unclear) may_be_nan_.Set(i, 1);
    }
  }

  // Whether the row sees all keys of its range, with scores as they are.
  bool IsPlain(int64_t row, const AttentionArgs::Range& keys) const {
    if (!data_.narrow || keys.last <= keys.first || op_.softcap > 0) return false;
    if (op_.mask == MaskKind::kNone) return true;
    const auto mask = data_.mask.begin() + op_.MaskOffset(row);
    const bool adds = op_.mask == MaskKind::kAdd;
    return std::all_of(mask + keys.first, mask + keys.last, [&](double m) { return (m == 0) == adds; });
  }

  // Does for a plain row what ComputeRow and Begin do, without arrays of its keys. False: it is none, or has keys that
  // lie far below the largest.
  bool BeginPlain(RowWork& w, int64_t index, BlockWork& work) {
    const AttentionArgs::Range keys = op_.KeysOf(w.row);
    if (!IsPlain(w.row, keys)) return false;
    const int64_t n = keys.last - keys.first;
    const size_t at = work.scores.At(index, keys.first, n);
    const PlainRow row =
        work.tile.SetPlain(index, work.scores.dots.data() + at, work.scores.narrow_magnitudes.data() + at,
                           keys.first - work.scores.first, n, op_.scale, SizeDepth());
    if (!row.near) return false;
    work.norms.Read(data_, op_.KeyHead(w.row) * op_.s + keys.first, n);
    AttentionRow& r = work.plain;
    r.largest = row.largest, r.sunk = std::max(0.0, -row.largest);
    r.reach = row.magnitude * std::max(1.0, std::abs(op_.scale));
    r.operand = std::max(data_.largest_q[w.row], work.norms.largest);
    r.products = std::abs(op_.scale) * data_.fourth_q[w.row] * work.norms.fourth;
    StartRow(r, w);
    live_keys_.Set(w.row, static_cast<double>(n));
    w.first_key = keys.first, w.seen = n, w.consecutive = true;
    w.sums = row.sums;
    StartSums(r, w);
    return true;
  }

  double SizeDepth() const { return static_cast<double>(op_.d) + 16; }

  void StartRow(const AttentionRow& r, RowWork& w) {
    rows_.SetUp(w.row * kRowFacts + kLargest, r.operand);  // exact: it is compared with where types overflow
    SetFact(w.row, kReach, r.reach);
    if (!hidden_reach_.empty()) hidden_reach_.SetUp(w.row, r.hidden_reach * kUp);
    SetFact(w.row, kMasked, r.masked ? 1 : 0);
    SetFact(w.row, kCertain, r.certain ? 1 : 0);
    w.keys.clear();
    w.counts = !r.masked && !r.undefined;
    w.unclear = r.unclear, w.may_be_nan = r.may_be_nan;
    w.unclear_keys = r.unclear_keys, w.weightless_keys = r.weightless_keys;
  }

  void StartSums(const AttentionRow& r, RowWork& w) {
    SetFacts(w.row, r, w.sums);
    AttentionColumns& c = w.columns;
    for (auto* sums : {&c.o, &c.lo, &c.magnitude, &c.dot, &c.added, &c.shifts, &c.moves, &c.special}) {
      std::ranges::fill(*sums, 0.0);
    }
  }

  void Finish(RowWork& w, SeenKeys& seen) {
    const double* v = data_.v.data() + (op_.KeyHead(w.row) * op_.s + w.first_key) * op_.dv;
    const KeyColumns& of_keys = w.keys.empty() ? seen.Of(v, w.seen) : seen.Of(w.keys, w.consecutive);
    const auto n = static_cast<double>(w.seen);
    RowEnd end{.keys = n, .weight_squares = w.sums.squares, .score_error = ScoreError(w.sums)};
    end.sum_error = tier_ == Tier::kFast ? 0x1p-53 * (2 * n + 16) : 0x1p-90 + 0x1p-102 * n;
    if (data_.narrow) {
      const auto least = [&](double mean) { return mean > 0 ? kFloatOffLeast * (mean + n) : 0; };
      end.lacks = true, end.off = w.off;
      end.dot_mean = w.sums.dot_mean, end.dot_least = least(end.dot_mean);
      end.added_mean = w.sums.added_mean, end.added_least = least(end.added_mean);
    }
    FinishColumns(end, of_keys, w.columns);
    Store(w, of_keys);
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
    SetFact(row, kProducts, r.products);
    double dot = 0, added = 0;
    for (size_t i = 0; sums.tail && i < r.keys.size(); ++i) {
      if (!(r.t[i] < -kTail)) continue;
      dot = std::max(dot, r.dot[i] / -r.t[i]);
      added = std::max(added, r.added[i] / -r.t[i]);
    }
    SetFact(row, kDotTail, dot);
    SetFact(row, kAddedTail, added);
  }

  void Store(const RowWork& w, const KeyColumns& of_keys) {
    const AttentionColumns& columns = w.columns;
    const int64_t first = w.row * op_.dv;
    std::ranges::copy(columns.o, golden_.value.begin() + first);
    if (!golden_.value_lo.empty()) std::ranges::copy(columns.lo, golden_.value_lo.begin() + first);
    golden_.error.SetRowUp(first, columns.error, 1);
    golden_.magnitude.SetRowUp(first, columns.magnitude, kUp);
    golden_.sigma.SetRow(first, columns.sigma);
    shift_.SetRow(first, columns.shift);
    move_.SetRow(first, columns.move);
    dot_.SetRowUp(first, columns.dot, kUp);
    added_.SetRowUp(first, columns.added, kUp);
    range_.SetRowUp(first, columns.range, kUp);
    values_.SetRowUp(first, of_keys.values, kUp);
    for (int64_t i = first; w.may_be_nan && i < first + op_.dv; ++i) may_be_nan_.Set(i, 1);
    if (!data_.all_finite_v) StoreSpecial(w, first);
    for (const int64_t key : w.weightless_keys) {
      for (int64_t c = 0; c < op_.dv; ++c) {
        if (!std::isfinite(ValueOf(key, c, w))) may_be_nan_.Set(first + c, std::max(1.0, may_be_nan_[first + c]));
      }
    }
  }

  double ValueOf(int64_t key, int64_t c, const RowWork& w) const {
    return data_.v[static_cast<size_t>((op_.KeyHead(w.row) * op_.s + key) * op_.dv + c)];
  }

  // An infinity of little weight is infinite as long as its weight has not vanished, and NaN or nothing then. Beside
  // infinities of more weight it may be any of that.
  void StoreSpecial(const RowWork& w, int64_t first) {
    for (int64_t c = 0; c < op_.dv; ++c) {
      const double special = w.columns.special[c];
      if (special == 0) continue;  // not of NaN
      const auto is_special = [&](int64_t key) { return !std::isfinite(ValueOf(key, c, w)); };
      const auto is_nan = [&](int64_t key) { return std::isnan(ValueOf(key, c, w)); };
      const auto unclear = std::ranges::count_if(w.unclear_keys, is_special);
      const bool decided = unclear == 0 || std::ranges::any_of(w.weights.keys, is_nan);
      if (!decided && unclear == std::ranges::count_if(w.weights.keys, is_special)) {
        may_be_nan_.Set(first + c, 2);
        continue;
      }
      golden_.value[first + c] = special;
      if (!golden_.value_lo.empty()) golden_.value_lo[first + c] = 0;
      golden_.error.Set(first + c, decided ? 0 : kInfinity);
    }
  }

  const AttentionArgs op_;
  const AttentionData data_;
  const Tier tier_;
  Golden golden_;
  Plane dot_, added_, range_, values_, rows_, live_keys_, hidden_reach_, shift_, move_, may_be_nan_;
  WorkPool<BlockWork> works_;
};

}  // namespace

Golden AttentionGolden(const Problem& problem, std::span<const Tensor> inputs, Tier tier) {
  RequireFloatEnvironment("golden attention");
  return Builder(problem, inputs, tier).Run();
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The scores and weights of one query in double. Differences to the largest score are formed as (s_j - s_m) +
// (mask_j - mask_m), so that finite masks of any size cost no accuracy.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "golden/value_range.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_columns.h"
#include "ops/attention/attention_tile.h"
#include "ops/binding.h"

namespace assay {
namespace {

// Products of a probability below this with an infinity depend on where a type underflows.
constexpr double kTinyWeight = 0x1p-10;
// Smallest chunk of a thread: rows of an operand, elements.
constexpr int64_t kRowsAtOnce = 16, kElementsAtOnce = 1 << 14;

ASSAY_MULTIVERSION void ExponentialsOf(const double* __restrict t, double* __restrict e, int64_t n) {
  internal::ExpKernels(t, e, n);
}

// In eight partial sums, whatever the vectors hold.
ASSAY_MULTIVERSION double SumOf(const double* values, int64_t n) {
  constexpr int64_t kPartials = 8;
  double partial[kPartials] = {};
  int64_t j = 0;
  for (; j + kPartials <= n; j += kPartials) {
    for (int64_t l = 0; l < kPartials; ++l) partial[l] += values[j + l];
  }
  for (int64_t l = 0; j + l < n; ++l) partial[l] += values[j + l];
  return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
         ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

// From t. `near`: the tile's exponentials.
void SetProbabilities(bool near, AttentionRow& row) {
  const int64_t n = std::ssize(row.t);
  row.p.resize(row.t.size());
  if (near) {
    const double per_total = 1 / NearExponentials(row.t.data(), n, row.p.data());
    for (double& p : row.p) p *= per_total;
    return;
  }
  ExponentialsOf(row.t.data(), row.p.data(), n);
  const double total = SumOf(row.p.data(), n);
  for (double& p : row.p) p /= total;
}

std::vector<double> LargestPerRow(std::span<const double> values, int64_t width, bool all_finite) {
  std::vector<double> largest(values.size() / static_cast<size_t>(width));
  ParallelFor(std::ssize(largest), kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (all_finite) {
        largest[row] = RangeOf(values.data() + row * width, width).max_abs;
        continue;
      }
      for (const double x : values.subspan(row * width, width)) {
        if (std::isfinite(x)) largest[row] = std::max(largest[row], std::abs(x));
      }
    }
  });
  return largest;
}

// The fourth powers of the finite x / largest.
ASSAY_MULTIVERSION void FourthPowers(const double* __restrict x, double largest, int64_t n, double* __restrict to) {
  for (int64_t i = 0; i < n; ++i) {
    const double share = std::fabs(x[i]) < kInfinity ? x[i] / largest : 0, square = share * share;
    to[i] = square * square;
  }
}

// (sum x^4)^(1/4) of the finite numbers per row, whose largest magnitudes are known.
std::vector<double> FourthNorms(std::span<const double> values, int64_t width, const std::vector<double>& largest) {
  std::vector<double> norms(largest.size());
  ParallelFor(std::ssize(norms), kRowsAtOnce, [&](int64_t begin, int64_t end) {
    std::vector<double> powers(static_cast<size_t>(width));
    for (int64_t row = begin; row < end; ++row) {
      if (largest[row] == 0) continue;
      FourthPowers(values.data() + row * width, largest[row], width, powers.data());
      double sum = 0;
      for (const double power : powers) sum += power;
      norms[row] = largest[row] * std::sqrt(std::sqrt(sum));
    }
  });
  return norms;
}

// Per row of `width`; none of none where all are finite.
template <class Is>
std::vector<bool> HaveAny(std::span<const double> values, int64_t width, bool all_finite, Is is) {
  std::vector<bool> any(values.size() / static_cast<size_t>(width));
  if (all_finite) return any;
  for (size_t row = 0; row < any.size(); ++row) {
    const auto begin = values.begin() + static_cast<int64_t>(row) * width;
    any[row] = std::any_of(begin, begin + width, is);
  }
  return any;
}

// k by head as [d, k_stride].
std::vector<double> ByComponent(const AttentionArgs& op, const std::vector<double>& k, int64_t stride) {
  const int64_t heads = op.batch * op.hkv, d = op.d;
  std::vector<double> by_dim(static_cast<size_t>(heads * d * stride));
  ParallelFor(heads * op.s, kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end;) {  // some keys of one head
      const int64_t head = first / op.s, last = std::min({end, first + kRowsAtOnce, (head + 1) * op.s});
      for (int64_t c = 0; c < d; ++c) {
        double* to = by_dim.data() + (head * d + c) * stride - head * op.s;
        for (int64_t j = first; j < last; ++j) to[j] = k[j * d + c];
      }
      first = last;
    }
  });
  return by_dim;
}

double Capped(const AttentionArgs& op, double s) {
  return op.softcap > 0 ? op.softcap * std::tanh(s / op.softcap) : s;
}

// ReadScores for a row without mask and softcap whose operands are tame (AttentionData::narrow).
size_t ReadPlainScores(const AttentionArgs& op, const AttentionData& data, int64_t row, const RawScores& raw,
                       int64_t index, AttentionRow& out) {
  const AttentionArgs::Range range = op.KeysOf(row);
  const int64_t n = std::max<int64_t>(0, range.last - range.first), first = op.KeyHead(row) * op.s + range.first;
  const size_t at = raw.At(index, range.first, n);
  if (std::ssize(out.keys) != n || n == 0 || out.keys.front() != range.first || out.keys.back() != range.last - 1) {
    out.keys.resize(static_cast<size_t>(n));
    std::iota(out.keys.begin(), out.keys.end(), range.first);
  }
  for (auto* v : {&out.dot, &out.t}) v->resize(static_cast<size_t>(n));
  out.added.assign(static_cast<size_t>(n), 0.0);
  const PlainScores of =
      PlainScoresOf(raw.dots.data() + at, raw.narrow_magnitudes.data() + at, data.largest_k.data() + first,
                    data.fourth_k.data() + first, n, op.scale, out.t.data(), out.dot.data());
  const double positive = std::abs(op.scale);
  out.unclear_keys.clear(), out.weightless_keys.clear();
  out.largest = out.sunk = out.hidden_reach = 0;
  out.reach = of.magnitude * std::max(1.0, positive), out.operand = std::max(data.largest_q[row], of.largest_k);
  out.products = positive * data.fourth_q[row] * of.fourth_k;
  out.masked = n == 0;
  out.undefined = out.certain = out.unclear = out.unknown = out.may_be_nan = false;
  return static_cast<size_t>(std::ranges::find(out.t, of.score) - out.t.begin());
}

// The keys that a row sees, with `dot`, their scores in `t` and their masks in `added`; and what is said of all of
// them. Returns which has the largest score with its mask.
size_t ReadScores(const AttentionArgs& op, const AttentionData& data, int64_t row, const RawScores& raw, int64_t index,
                  AttentionRow& out) {
  const AttentionArgs::Range range = op.KeysOf(row);
  const auto n = static_cast<size_t>(range.last - range.first);
  const size_t at_raw = raw.At(index, range.first, range.last - range.first);
  const double* dots = raw.dots.data() + at_raw;
  const auto magnitude_of = [&](size_t i) {
    return data.narrow ? raw.narrow_magnitudes[at_raw + i] : raw.magnitudes[at_raw + i];
  };
  const int64_t first = op.KeyHead(row) * op.s + range.first;
  const double* masks = op.mask == MaskKind::kNone ? nullptr : data.mask.data() + op.MaskOffset(row) + range.first;
  const double positive = std::abs(op.scale), factor = std::max(1.0, positive);
  double largest = -kInfinity, reach = 0, hidden_reach = 0, operand = data.largest_q[row], fourth_k = 0;
  bool sunk = false, overflown = false, undefined = false, unclear = false, certain = false;
  out.unclear_keys.clear(), out.weightless_keys.clear();
  size_t seen = 0, top = 0;
  out.keys.resize(n);
  for (auto* v : {&out.dot, &out.t, &out.added}) v->resize(n);
  for (size_t i = 0; i < n; ++i) {
    const auto key = first + static_cast<int64_t>(i);
    if (op.mask == MaskKind::kBool && masks[i] == 0) continue;
    const double s = Capped(op, op.scale * dots[i]), m = op.mask == MaskKind::kAdd ? masks[i] : 0;
    const bool infinite = data.infinite_q[row] || data.infinite_k[key];
    // Where a unit overflows a score that an added -inf hides to +inf, the sum is NaN; so is a score of -inf.
    const bool no_weight = m == -kInfinity || (s == -kInfinity && infinite);
    double& at = no_weight ? hidden_reach : reach;
    at = std::max(at, magnitude_of(i) * factor);
    operand = std::max(operand, data.largest_k[key]);
    if (m == -kInfinity) {  // adds nothing, unless the unit meets NaN or 0 * inf on the way
      unclear = unclear || !std::isfinite(s);
      if (!data.finite_v[key]) out.weightless_keys.push_back(range.first + static_cast<int64_t>(i));
      continue;
    }
    undefined = undefined || !(s + m < kInfinity);
    certain = certain || data.nan_q[row] || data.nan_k[key] || std::isnan(m) || (infinite && !(s + m < kInfinity));
    if (s == -kInfinity) {
      sunk = true;
      overflown = overflown || !infinite;
      if (!data.finite_v[key]) out.weightless_keys.push_back(range.first + static_cast<int64_t>(i));
      continue;
    }
    fourth_k = std::max(fourth_k, data.fourth_k[key]);
    if (s + m > largest) largest = s + m, top = seen;
    out.keys[seen] = range.first + static_cast<int64_t>(i);
    out.dot[seen] = positive * magnitude_of(i), out.t[seen] = s, out.added[seen] = m;
    ++seen;
  }
  out.keys.resize(seen);
  for (auto* v : {&out.dot, &out.t, &out.added}) v->resize(seen);
  out.largest = out.sunk = 0;
  out.reach = reach, out.hidden_reach = hidden_reach, out.operand = operand,
  out.products = positive * data.fourth_q[row] * fourth_k;
  out.masked = seen == 0, out.undefined = undefined, out.certain = certain;
  // Scores of -inf alone: masked to some, 0 / 0 to others. No key at all leaves nothing beside what is unclear.
  out.unclear = seen == 0 && !certain && (unclear || sunk || !out.weightless_keys.empty());
  out.unknown = seen == 0 && !certain && overflown;
  out.may_be_nan = unclear;
  return top;
}

}  // namespace

AttentionData::AttentionData(const AttentionArgs& op, std::span<const Tensor> inputs, For use)
    // A cache line more than the keys: with a power of two the components of a key would share few places of a cache.
    : d(op.d), k_stride(op.s + 8), q(inputs[0].ToDoubles()), v(inputs[2].ToDoubles()) {
  const std::vector<double> k = inputs[1].ToDoubles();
  k_by_dim = ByComponent(op, k, k_stride);
  if (op.mask != MaskKind::kNone) mask = inputs[3].ToDoubles();
  const ValueRange of_q = RangeOf(q.data(), std::ssize(q)), of_k = RangeOf(k.data(), std::ssize(k)),
                   of_v = RangeOf(v.data(), std::ssize(v));
  all_finite_q = of_q.all_finite, all_finite_k = of_k.all_finite, all_finite_v = of_v.all_finite;
  if (use == For::kTerms) {
    for (auto* norms : {&largest_q, &fourth_q}) norms->assign(static_cast<size_t>(op.Rows()), 0.0);
    for (auto* norms : {&largest_k, &fourth_k}) norms->assign(static_cast<size_t>(op.batch * op.hkv * op.s), 0.0);
  } else {
    largest_q = LargestPerRow(q, op.d, all_finite_q), largest_k = LargestPerRow(k, op.d, all_finite_k);
    fourth_q = FourthNorms(q, op.d, largest_q), fourth_k = FourthNorms(k, op.d, largest_k);
  }
  const auto is_nan = [](double x) { return std::isnan(x); };
  const auto is_infinite = [](double x) { return std::isinf(x); };
  nan_q = HaveAny(q, op.d, all_finite_q, is_nan), nan_k = HaveAny(k, op.d, all_finite_k, is_nan);
  infinite_q = HaveAny(q, op.d, all_finite_q, is_infinite), infinite_k = HaveAny(k, op.d, all_finite_k, is_infinite);
  finite_v.resize(static_cast<size_t>(op.batch * op.hkv * op.s), true);
  for (size_t j = 0; !all_finite_v && j < finite_v.size(); ++j) {
    finite_v[j] =
        std::ranges::all_of(std::span(v).subspan(j * op.dv, op.dv), [](double x) { return std::isfinite(x); });
  }
  if (use == For::kTiles) Narrow(op, of_q, of_k, of_v);
}

void AttentionData::Narrow(const AttentionArgs& op, const ValueRange& of_q, const ValueRange& of_k,
                           const ValueRange& of_v) {
  const double products = of_q.max_abs * of_k.max_abs * static_cast<double>(d);
  narrow = of_q.all_finite && of_k.all_finite && of_v.all_finite && of_q.min_abs * of_k.min_abs > 0x1p-100 &&
           products < 0x1p100 && products * std::abs(op.scale) <= kNarrowMax && of_v.max_abs <= kNarrowMax &&
           of_v.min_abs >= kNarrowMin &&
           std::ranges::none_of(mask, [](double x) { return std::isfinite(x) && std::abs(x) > kNarrowMax; });
  if (!narrow) return;
  q32.resize(q.size());
  ParallelFor(std::ssize(q), kElementsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) q32[i] = static_cast<float>(std::abs(q[i]));
  });
  packed = PackedKeys(k_by_dim, op.batch * op.hkv, d, op.s, k_stride);
  packed_v = PackedValues(v, op.batch * op.hkv, op.s, op.dv);
}

void ScoreRows(const AttentionArgs& op, const AttentionData& data, int64_t row, int64_t rows, RawScores& scores) {
  int64_t end = op.KeysOf(row).last;
  scores.first = op.KeysOf(row).first;
  for (int64_t r = row; r < row + rows; ++r) {
    scores.first = std::min(scores.first, op.KeysOf(r).first);
    end = std::max(end, op.KeysOf(r).last);
  }
  if (data.narrow) scores.first -= scores.first % kKeyBlock;
  scores.count = scores.stride = std::max<int64_t>(0, end - scores.first);
  if (data.narrow) scores.stride = (scores.count + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  scores.dots.resize(rows * scores.stride);
  if (data.narrow) {
    scores.narrow_magnitudes.resize(rows * scores.stride);
    return NarrowScoresOf(data.q.data() + row * op.d, data.q32.data() + row * op.d, rows, data.packed, op.KeyHead(row),
                          scores.first, scores.stride, scores.dots.data(), scores.narrow_magnitudes.data());
  }
  scores.magnitudes.resize(rows * scores.stride);
  const double *q = data.q.data() + row * op.d, *k = data.K(op.KeyHead(row), 0) + scores.first;
  double *dots = scores.dots.data(), *magnitudes = scores.magnitudes.data();
  ScoresOf(q, rows, k, data.k_stride, op.d, scores.count, dots, magnitudes);
}

AttentionRow ComputeRow(const AttentionArgs& op, const AttentionData& data, int64_t row) {
  RawScores scores;
  AttentionRow out;
  ScoreRows(op, data, row, 1, scores);
  ComputeRow(op, data, row, scores, 0, out);
  return out;
}

void ComputeRow(const AttentionArgs& op, const AttentionData& data, int64_t row, const RawScores& raw, int64_t index,
                AttentionRow& out) {
  const bool plain = data.narrow && op.mask == MaskKind::kNone && !(op.softcap > 0);
  const size_t top = (plain ? ReadPlainScores : ReadScores)(op, data, row, raw, index, out);
  if (out.masked || out.undefined) return;
  const double score = out.t[top], mask = out.added[top];
  out.largest = score + mask;
  out.sunk = std::max(0.0, -out.largest);
  out.stored.resize(out.t.size());
  const int64_t far =
      SubtractLargest(score, mask, out.t.data(), out.added.data(), out.stored.data(), std::ssize(out.t));
  SetProbabilities(data.narrow && far == 0, out);
  const int64_t head = op.KeyHead(row) * op.s;
  for (size_t i = 0; !data.all_finite_v && i < out.keys.size(); ++i) {
    if (!data.finite_v[head + out.keys[i]] && out.p[i] < kTinyWeight) out.unclear_keys.push_back(out.keys[i]);
  }
}

}  // namespace assay

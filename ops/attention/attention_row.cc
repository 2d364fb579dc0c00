// SPDX-License-Identifier: Apache-2.0
// The scores and weights of one query in double. Differences to the largest score are formed as (s_j - s_m) +
// (mask_j - mask_m), so that finite masks of any size cost no accuracy.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "golden/value_range.h"
#include "harness/base/multiversion.h"
#include "harness/base/parallel.h"
#include "harness/data/fill/portable_math.h"
#include "harness/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_columns.h"
#include "ops/attention/attention_tile.h"
#include "ops/binding.h"

namespace assay {
namespace {

// Products of a probability below this with an infinity depend on where a type underflows.
constexpr double kTinyWeight = 0x1p-10;
// What a thread takes at least: rows of an operand, elements.
constexpr int64_t kRowsAtOnce = 16, kElementsAtOnce = 1 << 14;

ASSAY_MULTIVERSION void ExponentialsOf(const double* __restrict t, double* __restrict e, int64_t n) {
  internal::ExpKernels(t, e, n);
}

// What ComputeRow's general loops make of scores without mask and cap, but for p.
ASSAY_MULTIVERSION void WeighPlain(const double* __restrict dots, const double* __restrict magnitudes, double scale,
                                   double largest, double* __restrict t, double* __restrict dot,
                                   double* __restrict added, double* __restrict stored, int64_t n) {
  const double positive = std::fabs(scale);
  for (int64_t j = 0; j < n; ++j) {
    const double s = scale * dots[j], below = s - largest;
    const double capped = below < 0 ? below : 0.0;
    t[j] = capped;
    dot[j] = positive * magnitudes[j];
    stored[j] = std::fabs(s);
    added[j] = std::fabs(capped);
  }
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

// From t. The tile's exponentials where it could have the row.
void SetProbabilities(const AttentionData& data, AttentionRow& row) {
  const int64_t n = std::ssize(row.t);
  row.p.resize(row.t.size());
  if (data.narrow && *std::ranges::min_element(row.t) > -kTail) {
    const double per_total = 1 / NearExponentials(row.t.data(), 1, 0, n, row.p.data());
    for (double& p : row.p) p *= per_total;
    return;
  }
  ExponentialsOf(row.t.data(), row.p.data(), n);
  const double total = SumOf(row.p.data(), n);
  for (double& p : row.p) p /= total;
}

std::vector<double> LargestPerRow(std::span<const double> values, int64_t width) {
  std::vector<double> largest(values.size() / static_cast<size_t>(width));
  ParallelFor(std::ssize(largest), kRowsAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (const double x : values.subspan(row * width, width)) {
        if (std::isfinite(x)) largest[row] = std::max(largest[row], std::abs(x));
      }
    }
  });
  return largest;
}

// k by head as [d, k_stride].
std::vector<double> ByComponent(const AttentionCase& op, const std::vector<double>& k, int64_t stride) {
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

double Capped(const AttentionCase& op, double s) {
  return op.softcap > 0 ? op.softcap * std::tanh(s / op.softcap) : s;
}

// Of a row that has no more to it than finite scores.
std::optional<LargestOf> LargestOfPlain(const AttentionCase& op, const AttentionData& data,
                                        std::span<const double> dots, std::span<const double> magnitudes) {
  if (op.mask != MaskKind::kNone || op.softcap > 0 || !data.all_finite_v || dots.empty() || !(op.scale > 0)) return {};
  const LargestOf found = FindLargest(dots.data(), magnitudes.data(), std::ssize(dots), data.narrow);
  if (!found.finite || !std::isfinite(op.scale * found.magnitude)) return {};
  return found;
}

// All but the vectors.
void SetPlainFacts(const AttentionCase& op, const AttentionData& data, int64_t row, const LargestOf& found,
                   AttentionRow& out) {
  const AttentionCase::Range range = op.KeysOf(row);
  out.reach = found.magnitude * std::max(1.0, op.scale);
  const int64_t head = op.KeyHead(row) * op.s;
  const double *keys = data.largest_k.data() + head, *so_far = data.largest_k_so_far.data() + head;
  const double largest_k =
      range.first == 0 ? so_far[range.last - 1] : *std::max_element(keys + range.first, keys + range.last);
  out.operand = std::max(data.largest_q[row], largest_k);
  out.largest = op.scale * found.largest;  // rounding keeps the order
  out.sunk = std::max(0.0, -out.largest);
}

void WeighPlainRow(const AttentionCase& op, const AttentionData& data, int64_t row, const LargestOf& found,
                   std::span<const double> dots, std::span<const double> magnitudes, AttentionRow& out) {
  const int64_t n = std::ssize(dots);
  SetPlainFacts(op, data, row, found, out);
  out.keys.resize(dots.size());
  std::iota(out.keys.begin(), out.keys.end(), op.KeysOf(row).first);
  for (auto* v : {&out.t, &out.dot, &out.added, &out.stored}) v->resize(dots.size());
  WeighPlain(dots.data(), magnitudes.data(), op.scale, out.largest, out.t.data(), out.dot.data(), out.added.data(),
             out.stored.data(), n);
  SetProbabilities(data, out);
}

}  // namespace

AttentionData::AttentionData(const AttentionCase& op, std::span<const Tensor> inputs, bool narrowed)
    // A cache line more than the keys: with a power of two the components of a key would share few places of a cache.
    : d(op.d), k_stride(op.s + 8), q(inputs[0].ToDoubles()), v(inputs[2].ToDoubles()) {
  const std::vector<double> k = inputs[1].ToDoubles();
  k_by_dim = ByComponent(op, k, k_stride);
  if (op.mask != MaskKind::kNone) mask = inputs[3].ToDoubles();
  largest_q = LargestPerRow(q, op.d);
  largest_k = LargestPerRow(k, op.d);
  largest_k_so_far = largest_k;
  for (int64_t j = 0; j < std::ssize(largest_k); ++j) {
    if (j % op.s != 0) largest_k_so_far[j] = std::max(largest_k_so_far[j], largest_k_so_far[j - 1]);
  }
  all_finite_v = AllFinite(v);
  finite_v.resize(static_cast<size_t>(op.batch * op.hkv * op.s), true);
  for (size_t j = 0; !all_finite_v && j < finite_v.size(); ++j) {
    finite_v[j] =
        std::ranges::all_of(std::span(v).subspan(j * op.dv, op.dv), [](double x) { return std::isfinite(x); });
  }
  if (narrowed) Narrow(op);
}

void AttentionData::Narrow(const AttentionCase& op) {
  const auto range = [](const std::vector<double>& x) { return RangeOf(x.data(), std::ssize(x)); };
  const ValueRange of_q = range(q), of_k = range(k_by_dim), of_v = range(v);
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

void ScoreRows(const AttentionCase& op, const AttentionData& data, int64_t row, int64_t rows, RawScores& scores) {
  int64_t end = op.KeysOf(row).last;
  scores.first = op.KeysOf(row).first;
  for (int64_t r = row; r < row + rows; ++r) {
    scores.first = std::min(scores.first, op.KeysOf(r).first);
    end = std::max(end, op.KeysOf(r).last);
  }
  if (data.narrow) scores.first -= scores.first % kKeyBlock;
  scores.count = scores.stride = std::max<int64_t>(0, end - scores.first);
  if (data.narrow) scores.stride = (scores.count + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  scores.dots.resize(rows * scores.stride), scores.magnitudes.resize(rows * scores.stride);
  if (data.narrow) {
    return NarrowScoresOf(data.q.data() + row * op.d, data.q32.data() + row * op.d, rows, data.packed, op.KeyHead(row),
                          scores.first, scores.stride, scores.dots.data(), scores.magnitudes.data());
  }
  const double *q = data.q.data() + row * op.d, *k = data.K(op.KeyHead(row), 0) + scores.first;
  double *dots = scores.dots.data(), *magnitudes = scores.magnitudes.data();
  ScoresOf(q, rows, k, data.k_stride, op.d, scores.count, dots, magnitudes);
}

AttentionRow ComputeRow(const AttentionCase& op, const AttentionData& data, int64_t row) {
  RawScores scores;
  AttentionRow out;
  ScoreRows(op, data, row, 1, scores);
  ComputeRow(op, data, row, scores, 0, out);
  return out;
}

void ComputeRow(const AttentionCase& op, const AttentionData& data, int64_t row, const RawScores& raw, int64_t index,
                AttentionRow& out) {
  const AttentionCase::Range range = op.KeysOf(row);
  const auto n = static_cast<size_t>(range.last - range.first);
  const int64_t head = op.KeyHead(row);
  const auto [dots, magnitudes] = raw.Of(index, range.first, range.last - range.first);
  out.masked = out.undefined = out.unclear = false;
  out.largest = out.reach = out.operand = out.sunk = 0;
  if (const auto found = LargestOfPlain(op, data, dots, magnitudes)) {
    return WeighPlainRow(op, data, row, *found, dots, magnitudes, out);
  }
  out.keys.clear();
  for (auto* v : {&out.t, &out.p, &out.dot, &out.added, &out.stored}) v->clear();
  std::vector<double> scores, masks;
  double largest = -kInfinity;
  size_t top = 0;
  bool sunk = false;
  out.operand = data.largest_q[row];
  for (size_t i = 0; i < n; ++i) {
    const int64_t j = range.first + static_cast<int64_t>(i);
    const double mask = op.mask == MaskKind::kNone ? 1 : data.mask[op.MaskOffset(row) + j];
    if (op.mask == MaskKind::kBool && mask == 0) continue;
    const double s = Capped(op, op.scale * dots[i]), m = op.mask == MaskKind::kAdd ? mask : 0;
    // Also of a score that an added -inf hides: where a unit overflows it to +inf, the sum is NaN.
    out.reach = std::max(out.reach, magnitudes[i] * std::max(1.0, std::abs(op.scale)));
    out.operand = std::max(out.operand, data.largest_k[head * op.s + j]);
    if (m == -kInfinity) {  // adds nothing, unless the unit meets NaN or 0 * inf on the way
      out.unclear = out.unclear || !std::isfinite(s) || !data.finite_v[head * op.s + j];
      continue;
    }
    out.undefined = out.undefined || std::isnan(s + m) || s + m == kInfinity;
    if (s == -kInfinity) {
      sunk = true;
      out.unclear = out.unclear || !data.finite_v[head * op.s + j];
      continue;
    }
    if (s + m > largest) largest = s + m, top = out.keys.size();
    out.keys.push_back(j);
    out.dot.push_back(std::abs(op.scale) * magnitudes[i]);
    scores.push_back(s);
    masks.push_back(m);
  }
  out.masked = out.keys.empty();
  out.unclear = out.unclear || (out.masked && sunk);  // scores of -inf alone: masked to some, 0 / 0 to others
  if (out.masked || out.undefined) return;

  out.largest = largest;
  out.sunk = std::max(0.0, -largest);
  out.t.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    out.t[i] = std::min(0.0, (scores[i] - scores[top]) + (masks[i] - masks[top]));
  SetProbabilities(data, out);
  for (size_t i = 0; i < scores.size(); ++i) {
    out.added.push_back(std::abs(masks[i]) + std::abs(out.t[i]));
    out.stored.push_back(std::abs(masks[i]) + std::abs(scores[i]));
    if (!data.finite_v[head * op.s + out.keys[i]] && out.p[i] < kTinyWeight) out.unclear = true;
  }
}

bool SetPlainRow(const AttentionCase& op, const AttentionData& data, int64_t row, const RawScores& raw, int64_t index,
                 TileWeights& tile, AttentionRow& out, RowSums& sums) {
  const AttentionCase::Range range = op.KeysOf(row);
  const int64_t n = range.last - range.first;
  const auto [dots, magnitudes] = raw.Of(index, range.first, n);
  const auto found = LargestOfPlain(op, data, dots, magnitudes);
  if (!found || !(op.scale * found->least - op.scale * found->largest > -kTail)) return false;
  out.masked = out.undefined = out.unclear = false;
  SetPlainFacts(op, data, row, *found, out);
  double* e = tile.Clear(index, range.first - raw.first, n);
  const double total = NearExponentials(dots.data(), op.scale, out.largest, n, e);
  const PlainScores scores{dots.data(), magnitudes.data(), n, op.scale, out.largest, 1 / total};
  sums = tile.SetPlain(index, range.first - raw.first, scores, static_cast<double>(op.d) + 16);
  sums.dot_max = sums.dot_top = op.scale * found->magnitude;
  sums.added_max = std::abs(std::min(0.0, op.scale * found->least - out.largest));
  return true;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The scores and weights of one query in double. Differences to the largest score are formed as (s_j - s_m) +
// (mask_j - mask_m), so that finite masks of any size cost no accuracy.
#include <algorithm>
#include <cmath>

#include "harness/base/infinity.h"
#include "harness/base/multiversion.h"
#include "harness/base/portable_math.h"
#include "ops/attention.h"

namespace assay {
namespace {

// Products of a probability below this with an infinity depend on where a type underflows.
constexpr double kTinyWeight = 0x1p-10;

ASSAY_MULTIVERSION void AddProducts(const double* k, double q, double* dot, double* magnitude, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const double product = q * k[j];
    dot[j] += product;
    magnitude[j] += std::fabs(product);
  }
}

ASSAY_MULTIVERSION void ExponentialsOf(const double* t, double* e, int64_t n) {
  for (int64_t j = 0; j < n; ++j) e[j] = internal::ExpKernel(t[j]);
}

std::vector<double> LargestPerRow(std::span<const double> values, int64_t width) {
  std::vector<double> largest(values.size() / static_cast<size_t>(width));
  for (size_t i = 0; i < values.size(); ++i) {
    double& to = largest[i / static_cast<size_t>(width)];
    if (std::isfinite(values[i])) to = std::max(to, std::abs(values[i]));
  }
  return largest;
}

double Capped(const AttentionCase& op, double s) {
  return op.softcap > 0 ? op.softcap * std::tanh(s / op.softcap) : s;
}

}  // namespace

AttentionData::AttentionData(const AttentionCase& op, std::span<const Tensor> inputs)
    : q(inputs[0].ToDoubles()), v(inputs[2].ToDoubles()) {
  const std::vector<double> k = inputs[1].ToDoubles();
  k_by_dim.resize(k.size());
  for (int64_t head = 0; head < op.batch * op.hkv; ++head) {
    for (int64_t j = 0; j < op.s; ++j) {
      for (int64_t c = 0; c < op.d; ++c) k_by_dim[(head * op.d + c) * op.s + j] = k[(head * op.s + j) * op.d + c];
    }
  }
  if (op.mask != MaskKind::kNone) mask = inputs[3].ToDoubles();
  largest_q = LargestPerRow(q, op.d);
  largest_k = LargestPerRow(k, op.d);
  finite_v.resize(static_cast<size_t>(op.batch * op.hkv * op.s));
  for (size_t j = 0; j < finite_v.size(); ++j) {
    finite_v[j] =
        std::all_of(v.begin() + static_cast<int64_t>(j) * op.dv, v.begin() + static_cast<int64_t>(j + 1) * op.dv,
                    [](double x) { return std::isfinite(x); });
  }
}

AttentionRow ComputeRow(const AttentionCase& op, const AttentionData& data, int64_t row) {
  const AttentionCase::Range range = op.KeysOf(row);
  const auto n = static_cast<size_t>(range.last - range.first);
  const int64_t head = op.KeyHead(row);
  std::vector<double> dots(n), magnitudes(n), added;
  for (int64_t c = 0; c < op.d; ++c) {
    AddProducts(data.k_by_dim.data() + (head * op.d + c) * op.s + range.first, data.q[row * op.d + c], dots.data(),
                magnitudes.data(), static_cast<int64_t>(n));
  }
  AttentionRow out;
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
  if (out.masked || out.undefined) return out;

  out.sunk = std::max(0.0, -largest);
  double total = 0;
  out.t.resize(scores.size());
  out.p.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i)
    out.t[i] = std::min(0.0, (scores[i] - scores[top]) + (masks[i] - masks[top]));
  ExponentialsOf(out.t.data(), out.p.data(), std::ssize(out.t));
  for (double e : out.p) total += e;
  for (size_t i = 0; i < scores.size(); ++i) {
    out.p[i] /= total;
    out.added.push_back(std::abs(masks[i]) + std::abs(out.t[i]));
    out.stored.push_back(std::abs(masks[i]) + std::abs(scores[i]));
    if (!data.finite_v[head * op.s + out.keys[i]] && out.p[i] < kTinyWeight) out.unclear = true;
  }
  return out;
}

}  // namespace assay

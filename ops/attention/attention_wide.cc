// SPDX-License-Identifier: Apache-2.0
// Queries of f64 whose scores no double holds, in binary128. A contract promises nothing about their results: its units
// lose these scores too.
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_work.h"

namespace assay {
namespace {

__extension__ using Quad = __float128;

constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr double kFarBelow = 0x1p1000;  // sums of such products overflow nowhere

struct WideRow {
  std::vector<int64_t> keys;  // of the head
  std::vector<Quad> weights;
  Quad total = 0;
  bool overflows = false;  // in double
};

bool MayOverflow(const AttentionArgs& op, const AttentionData& data, int64_t row) {
  const AttentionArgs::Range range = op.KeysOf(row);
  const int64_t head = op.KeyHead(row) * op.s;
  const double largest_q = data.largest_q[static_cast<size_t>(row)] * static_cast<double>(op.d);
  for (int64_t j = range.first; j < range.last; ++j) {
    const double product = largest_q * data.largest_k[static_cast<size_t>(head + j)];
    if (!(product * std::max(1.0, std::abs(op.scale)) < kFarBelow)) return true;
    const bool adds = op.mask == MaskKind::kAdd;
    if (adds && std::abs(data.mask[static_cast<size_t>(op.MaskOffset(row) + j)]) >= kFarBelow) return true;
  }
  return false;
}

// Has no keys where an operand is not finite: that decides the result.
WideRow WeightsOf(const AttentionArgs& op, const AttentionData& data, int64_t row) {
  const AttentionArgs::Range range = op.KeysOf(row);
  const int64_t head = op.KeyHead(row);
  WideRow out;
  Quad top = -HUGE_VALQ;
  for (int64_t j = range.first; j < range.last; ++j) {
    const double mask = op.mask == MaskKind::kNone ? 0 : data.mask[static_cast<size_t>(op.MaskOffset(row) + j)];
    if (op.mask == MaskKind::kBool ? mask == 0 : mask == -kInfinity) continue;
    Quad dot = 0, magnitude = 0;
    for (int64_t c = 0; c < op.d; ++c) {
      const Quad product = static_cast<Quad>(data.q[static_cast<size_t>(row * op.d + c)]) * data.K(head, c)[j];
      dot += product, magnitude += fabsq(product);
    }
    Quad score = dot * op.scale;
    out.overflows = out.overflows || magnitude > kMaxDouble || fabsq(score) > kMaxDouble;
    if (op.softcap > 0) score = op.softcap * tanhq(score / op.softcap);
    if (op.mask == MaskKind::kAdd) score += mask;
    out.overflows = out.overflows || fabsq(score) > kMaxDouble;
    if (!finiteq(score)) return {};
    out.keys.push_back(j), out.weights.push_back(score);
    top = std::max(top, score);
  }
  for (Quad& weight : out.weights) out.total += weight = expq(weight - top);
  return out;
}

}  // namespace

void ReplaceBeyondDouble(const AttentionArgs& op, const AttentionData& data, Golden& golden) {
  ParallelFor(op.Rows(), kTileQueries, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (!MayOverflow(op, data, row)) continue;
      const WideRow weights = WeightsOf(op, data, row);
      for (int64_t c = 0; weights.overflows && c < op.dv; ++c) {
        Quad sum = 0;
        for (size_t i = 0; i < weights.keys.size(); ++i) {
          const int64_t key = op.KeyHead(row) * op.s + weights.keys[i];
          sum += weights.weights[i] * data.v[static_cast<size_t>(key * op.dv + c)];
        }
        const Quad y = sum / weights.total;
        const auto i = static_cast<size_t>(row * op.dv + c);
        golden.value[i] = static_cast<double>(y);
        if (!golden.value_lo.empty()) {
          golden.value_lo[i] = std::isfinite(golden.value[i]) ? static_cast<double>(y - golden.value[i]) : 0;
        }
        golden.error.Set(row * op.dv + c, kInfinity);
      }
    }
  });
}

}  // namespace assay

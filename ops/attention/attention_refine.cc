// SPDX-License-Identifier: Apache-2.0
// Golden attention of the reproducible tier: a query's scores, exponentials and sums in double-double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "golden/dd/dd.h"
#include "ops/attention/attention_work.h"

namespace assay {
namespace {

DD Sigmoidal(DD x) {  // tanh; its error is absolute, 2^-92, which is all that a score needs
  if (std::abs(x.hi) > 40) return {std::copysign(1.0, x.hi), 0};
  const DD e = Exp(Scale(x, -2));
  return (DD{1, 0} - e) / (e + 1.0);
}

// Powers of two that keep quotients of the largest numbers, and what is computed on the way, within range.
std::vector<double> ScaleOfColumns(const AttentionArgs& op, const RowWork& w) {
  std::vector<double> scale(static_cast<size_t>(op.dv), 1.0);
  for (const auto& key : w.keys) {
    for (int64_t c = 0; c < op.dv; ++c) {
      if (std::abs(key.v[c]) > 0x1p1000) scale[c] = 0x1p-64;
    }
  }
  return scale;
}

double PlainScore(const AttentionArgs& op, const AttentionData& data, int64_t row, int64_t head, int64_t key) {
  double dot = 0;
  for (int64_t c = 0; c < op.d; ++c) dot += data.q[row * op.d + c] * data.K(head, c)[key];
  return dot * op.scale;
}

}  // namespace

void RefineRow(const AttentionArgs& op, const AttentionData& data, RowWork& w) {
  if (w.keys.empty()) return;
  const AttentionRow& r = w.weights;
  const int64_t row = w.row, head = op.KeyHead(row);
  std::vector<DD> scores(r.keys.size());
  const auto top = static_cast<size_t>(std::max_element(r.t.begin(), r.t.end()) - r.t.begin());
  for (size_t i = 0; i < scores.size(); ++i) {
    DD dot;
    for (int64_t c = 0; c < op.d; ++c) {
      dot = dot + TwoProd(data.q[row * op.d + c], data.K(head, c)[r.keys[i]]);
    }
    dot = dot * op.scale;
    // A score beyond double's range has no low part; the plain score is then infinite, or capped.
    if (!std::isfinite(dot.hi) || !std::isfinite(dot.lo)) dot = {PlainScore(op, data, row, head, r.keys[i]), 0};
    if (op.softcap > 0 && std::isinf(dot.hi)) dot = {std::copysign(0x1p1000, dot.hi), 0};
    scores[i] = op.softcap > 0 ? Sigmoidal(dot / DD{op.softcap, 0}) * op.softcap : dot;
  }
  DD total;
  const std::vector<double> scale = ScaleOfColumns(op, w);
  std::vector<DD> o(static_cast<size_t>(op.dv));
  for (size_t i = 0; i < scores.size(); ++i) {
    DD t = scores[i] - scores[top];
    if (op.mask == MaskKind::kAdd) {
      const double* mask = data.mask.data() + op.MaskOffset(row);
      t = t + TwoSum(mask[r.keys[i]], -mask[r.keys[top]]);
    }
    if (!(t.hi > -700)) continue;
    const DD e = Exp(t);
    total = total + e;
    for (int64_t c = 0; c < op.dv; ++c) o[c] = o[c] + e * (w.keys[i].v[c] * scale[c]);
  }
  for (int64_t c = 0; c < op.dv; ++c) {
    const DD y = o[c] / total * (1 / scale[c]);
    w.columns.o[c] = y.hi;
    w.columns.lo[c] = y.lo;
  }
}

}  // namespace assay

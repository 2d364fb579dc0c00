// SPDX-License-Identifier: Apache-2.0
// Values that a narrower input class rounds to infinity. Times a weight they are infinite, times one that has vanished
// NaN; a kernel that skips such weights stays finite.
#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "harness/core/base/parallel.h"
#include "ops/attention/attention.h"

namespace assay {

void AddLargestOperands(const AttentionArgs& op, const AttentionData& data, Golden& golden) {
  const auto finite = [](double x) { return std::isfinite(x) ? std::abs(x) : 0.0; };
  if (std::ranges::none_of(data.v, [&](double x) { return finite(x) >= kNarrowestOverflow; })) return;
  Plane plane(golden.size(), golden.magnitude.wide());
  ParallelFor(op.Rows(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const AttentionArgs::Range keys = op.KeysOf(row);
      std::vector<double> largest(static_cast<size_t>(op.dv));
      for (int64_t j = keys.first; j < keys.last; ++j) {
        // An added -inf leaves a weight of zero, which is multiplied.
        if (op.mask == MaskKind::kBool && data.mask[op.MaskOffset(row) + j] == 0) continue;
        const double* v = data.v.data() + (op.KeyHead(row) * op.s + j) * op.dv;
        for (int64_t c = 0; c < op.dv; ++c) largest[c] = std::max(largest[c], finite(v[c]));
      }
      for (int64_t c = 0; c < op.dv; ++c) plane.Set(row * op.dv + c, largest[c]);
    }
  });
  golden.extra.emplace_back("largest_operand", std::move(plane));
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Infinities and NaN in conv where correct kernels differ: zeros of the padding that are multiplied or skipped, and
// subnormals that are flushed before an infinity meets them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/base/parallel.h"
#include "ops/conv.h"

namespace assay {

// Elements with a padded tap whose weight is infinite or NaN.
void FreePaddedNonFinite(const ConvCase& op, const Tensor& w, Golden& golden) {
  const std::vector<double> weights = w.ToDoubles();
  for (int64_t k = 0; k < std::ssize(weights); ++k) {
    if (std::isfinite(weights[k])) continue;
    const int64_t channel = k / op.Terms();
    const ConvCase::Extents t = ConvCase::Split(k % op.Taps(), op.kernel);
    for (int64_t position = 0; position < op.Positions(); ++position) {
      const ConvCase::Extents p = ConvCase::Split(position, op.out);
      if (op.Sees(0, p[0], t[0]) && op.Sees(1, p[1], t[1]) && op.Sees(2, p[2], t[2])) continue;
      for (int64_t image = 0; image < op.n; ++image) {
        golden.error.Set((image * op.o + channel) * op.Positions() + position, std::numeric_limits<double>::infinity());
      }
    }
  }
}

void AddLostInfinities(const ConvCase& op, std::span<const Tensor> inputs, Golden& golden) {
  if (std::ranges::none_of(golden.value, [](double y) { return std::isinf(y); })) return;
  const std::vector<double> x = inputs[0].ToDoubles(), w = inputs[1].ToDoubles();
  const double min_normal = FormatOf(inputs[0].dtype()).MinNormal();
  const auto is_subnormal = [&](double v) { return v != 0 && std::abs(v) < min_normal; };
  if (std::ranges::none_of(x, is_subnormal) && std::ranges::none_of(w, is_subnormal)) return;
  Plane flags(golden.size(), false);
  ParallelFor(golden.size(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!std::isinf(golden.value[i])) continue;
      flags.Set(i, std::ranges::any_of(VisibleTerms(op, i), [&](const ConvTerm& term) {
                  const double a = x[term.x], b = w[term.w];
                  return (std::isinf(a) && is_subnormal(b)) || (is_subnormal(a) && std::isinf(b));
                }));
    }
  });
  golden.extra.emplace_back("lost_infinity", std::move(flags));
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Infinities and NaN in conv where correct kernels differ: zeros of the padding that are multiplied or skipped,
// subnormals that are flushed before an infinity meets them, and operands that a narrower class rounds to infinity.
#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/dd/dd.h"
#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/conv/conv.h"

namespace assay {

namespace {

// Element i over the taps that are not padding: without the products of zeros and infinities or NaN.
void SumVisible(const ConvArgs& op, std::span<const double> x, std::span<const double> w, int64_t i, Golden& golden) {
  DD sum{0, 0};
  double nonfinite = 0;
  for (const ConvTerm& term : VisibleTerms(op, i)) {
    const double a = x[term.x], b = w[term.w];
    if (std::isfinite(a) && std::isfinite(b)) {
      sum = sum + TwoProd(a, b);
    } else {
      nonfinite += a * b;
    }
  }
  // Error bound from GoldenRowSums: 3 * 2^-106 of S per addition, and f64 products whose low parts underflow.
  const auto terms = static_cast<double>(op.Terms());
  double error = golden.magnitude[i] * (terms + 32) * 0x1p-103;
  if (golden.error.wide()) error += (2 * terms + 2) * 0x1p-1074;
  if (!(golden.magnitude[i] < 0x1p1022)) {
    error = std::numeric_limits<double>::infinity();  // a partial sum may have left double's range
    if (!std::isfinite(sum.hi)) sum = {0, 0};
  }
  const bool finite = nonfinite == 0 && std::isfinite(sum.hi);
  golden.value[i] = nonfinite == 0 ? sum.hi : nonfinite;
  if (golden.value_lo.empty()) {
    error += finite ? std::abs(sum.lo) : 0;
  } else {
    golden.value_lo[i] = finite ? sum.lo : 0;
  }
  golden.error.SetUp(i, error);
}

}  // namespace

Plane SkipPaddedNonFinite(const ConvArgs& op, const Tensor& x_tensor, const Tensor& w, Golden& golden) {
  Plane flags;
  const std::vector<double> weights = w.ToDoubles();
  if (std::ranges::all_of(weights, [](double v) { return std::isfinite(v); })) return flags;
  const std::vector<double> x = x_tensor.ToDoubles();
  for (int64_t k = 0; k < std::ssize(weights); ++k) {
    if (std::isfinite(weights[k])) continue;
    const int64_t channel = k / op.Terms();
    const ConvArgs::Extents t = ConvArgs::Split(k % op.Taps(), op.kernel);
    for (int64_t position = 0; position < op.Positions(); ++position) {
      const ConvArgs::Extents p = ConvArgs::Split(position, op.out);
      if (op.Sees(0, p[0], t[0]) && op.Sees(1, p[1], t[1]) && op.Sees(2, p[2], t[2])) continue;
      for (int64_t image = 0; image < op.n; ++image) {
        const int64_t i = (image * op.o + channel) * op.Positions() + position;
        if (flags.empty()) flags = Plane(golden.size(), false);
        if (flags[i] != 0) continue;
        flags.Set(i, 1);
        SumVisible(op, x, weights, i, golden);
      }
    }
  }
  return flags;
}

void AddLostInfinities(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  if (AllFinite(golden.value) || std::ranges::none_of(golden.value, [](double y) { return std::isinf(y); })) return;
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

void AddLargestOperands(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  if (LargestFinite(inputs[0]) < kNarrowestOverflow && LargestFinite(inputs[1]) < kNarrowestOverflow) return;
  const std::vector<double> x = inputs[0].ToDoubles(), w = inputs[1].ToDoubles();
  const auto finite = [](double v) { return std::isfinite(v) ? std::abs(v) : 0.0; };
  std::vector<double> weights(static_cast<size_t>(op.o));
  for (int64_t k = 0; k < std::ssize(w); ++k) {
    double& largest = weights[k / op.Terms()];
    largest = std::max(largest, finite(w[k]));
  }
  Plane plane(golden.size(), golden.magnitude.wide());
  ParallelFor(golden.size(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double largest = weights[i / op.Positions() % op.o];
      for (const ConvTerm& term : VisibleTerms(op, i)) largest = std::max(largest, finite(x[term.x]));
      plane.SetUp(i, largest);
    }
  });
  golden.extra.emplace_back("largest_operand", std::move(plane));
}

}  // namespace assay

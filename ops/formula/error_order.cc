// SPDX-License-Identifier: Apache-2.0
// Errors along an axis: recurrences, moved elements, and stored intermediates.
#include <algorithm>
#include <bit>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"
#include "ops/formula/recurrence.h"

namespace assay::formula {
namespace {

// Tracks the values of a recurrence with factors that are certain in every association, from the first operand that is
// not finite. A NaN makes each product and sum NaN that it enters. An infinity stays one while no product of the
// factors behind it can be zero; and nothing is certain any more once an intermediate may have overflowed.
class NonFinite {
 public:
  enum class Is { kFinite, kInfinite, kNan, kOpen };
  struct Step {
    double a = 0, reach_a = 0, b = 0, reach_b = 0;
    bool is_first = false;  // its factor has nothing to multiply
  };

  // `range`: of intermediates; their smallest normal number is above the reciprocal of it, by less than 8.
  explicit NonFinite(double range) : range_(range), least_(8 / range) {}

  void Advance(const Step& step) {
    const bool known_a = std::isfinite(step.reach_a), known_b = std::isfinite(step.reach_b);
    if (is_ == Is::kNan) return;
    if ((known_b && std::isnan(step.b)) || (known_a && std::isnan(step.a) && !step.is_first)) {
      is_ = Is::kNan;
      return;
    }
    if (is_ == Is::kOpen) return;
    if (!known_a || !known_b || !std::isfinite(step.a)) {
      is_ = Is::kOpen;
      return;
    }
    if (step.is_first) {
      is_ = std::isinf(step.b) ? Is::kInfinite : Is::kFinite;
      return;
    }
    Multiply(std::fabs(step.a) - step.reach_a, std::fabs(step.a) + step.reach_a);
    if (is_ == Is::kFinite && std::isinf(step.b)) is_ = Is::kInfinite, smallest_ = 1;
  }

  // A result whose terms have this much magnitude, with their errors.
  void Reach(double magnitude) {
    if (is_ != Is::kNan && !(magnitude < range_ && largest_ < range_)) is_ = Is::kOpen;
  }

  // The largest product of neighbouring factors so far, at least 1.
  double growth() const { return growth_; }

  // The error of the result `h`, where `error` is that of finite ones.
  double ErrorOf(double h, double error) const {
    if (is_ == Is::kFinite) return error;
    const bool is_certain = (is_ == Is::kNan && std::isnan(h)) || (is_ == Is::kInfinite && !std::isfinite(h));
    return is_certain ? 0 : kInfinity;
  }

 private:
  // Tracks products of neighbouring factors up to this one: the largest, and the smallest behind an infinity.
  void Multiply(double least, double most) {
    largest_ = std::max(largest_, 1.0) * most;
    growth_ = std::max(growth_, largest_);
    if (is_ != Is::kInfinite) return;
    if (most == 0) {  // nothing but zero
      is_ = Is::kNan;
      return;
    }
    smallest_ = std::min(smallest_, 1.0) * least;
    if (!(smallest_ > least_)) is_ = Is::kOpen;
  }

  double range_, least_, largest_ = 1, growth_ = 1, smallest_ = 1;
  Is is_ = Is::kFinite;
};

}  // namespace

// h_t = a_t h_(t-1) + b_t, in any association that keeps neighbours together. Without factors a result is the sum of
// its terms in some order: gamma_t. With factors, one after the other,
//   S_t = |a_t| S_(t-1) + |b_t|,    D_t = |a_t| (D_(t-1) + (u + rel a_t) S_(t-1)) + d b_t + u (|h_t| + D_t),
// and a tree of associations rounds each result once more per level, u S_t log2 t, and loses up to lambda to underflow
// in each of its t - 1 products of factors: with P the largest such product, or 1, t lambda P^2 max S in all.
void Propagation::Recur(int index, const double* a, std::span<const double> b, std::span<const double> h,
                        const std::vector<Expansion>& expansions) {
  const Node& node = NodeAt(index);
  NodeError& error = errors_[static_cast<size_t>(index)];
  const bool plain = node.args.size() == 1;
  const NodeError &of_a = At(node.args[0]), &of_b = At(node.args.back());
  const int64_t n = std::ssize(h);
  const double* reach_a = of_a.zero ? Zeros(n) : Expanded(of_a.reach, expansions[0], 0, n);
  const double* reach_b = of_b.zero ? Zeros(n) : Expanded(of_b.reach, expansions.back(), 1, n);
  error.r.assign(h.size(), 0);
  const double u = rules_.sum, lost = rules_.lambda, exact_integers = ExactIntegers(node);
  ForRecurrences(*plan_, node, lanes_, [&](int64_t first, int64_t stride, int64_t steps) {
    double magnitude = 0, deviation = 0, terms = 0, largest = 0;
    NonFinite special(rules_.range);
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t i = first + t * stride;
      const double reach = reach_b[i], size = std::fabs(b[i]) + reach;
      if (rules_.quadrature) {
        const double factor = plain ? 1 : t == 0 ? 0 : a[i], own = kRoundingDeviation * u * h[i];
        const double of_factor = plain || t == 0 ? 0 : reach_a[i] * h[i - stride];
        const double product = plain || t == 0 ? 0 : kRoundingDeviation * u * factor * h[i - stride];
        deviation = factor * factor * deviation + reach * reach + of_factor * of_factor + product * product +
                    (t > 0 ? own * own : 0);
        error.r[i] = std::isfinite(h[i]) ? std::sqrt(deviation) : 0;
        continue;
      }
      if (plain) {
        magnitude += std::isfinite(size) ? size : 0, terms += reach;
        const auto additions = static_cast<double>(t);
        const bool is_exact = magnitude <= exact_integers;
        error.r[i] = terms + (t > 0 && !is_exact ? SumError(additions, u) * magnitude : 0);
        if (rules_.additions_underflow && !is_exact) error.r[i] += additions * lost;
      } else {
        special.Advance({a[i], reach_a[i], b[i], reach, t == 0});
        if (t > 0 && std::isfinite(a[i]) && std::isfinite(reach_a[i])) {
          const double of_factor = reach_a[i], factor = std::fabs(a[i]);
          deviation = (factor + of_factor) * deviation + (factor * u + of_factor * (1 + u)) * magnitude;
          magnitude *= factor + of_factor;
        }
        if (std::isfinite(size)) deviation += reach, magnitude += size;
        if (t > 0) deviation += u * ((std::isfinite(h[i]) ? std::fabs(h[i]) : 0) + deviation) + 2 * lost;
        const double of_products = static_cast<double>(t) * lost * special.growth() * special.growth() * largest;
        const double of_finite = deviation + u * magnitude * std::bit_width(static_cast<uint64_t>(t)) + of_products;
        largest = std::max(largest, magnitude);
        if (t > 0) special.Reach(magnitude + of_finite);  // the first is a copy
        error.r[i] = special.ErrorOf(h[i], of_finite);
        continue;
      }
      if (t > 0 && !(magnitude + error.r[i] < rules_.range)) error.r[i] = kInfinity;  // the first is a copy
      // An infinity is certain unless the sum before it may have overflowed to the other one.
      const bool overflows = error.r[i] == kInfinity;
      if (!std::isfinite(h[i]) && std::isfinite(reach) && !overflows) error.r[i] = 0;
    }
  });
  StoreWhereRead(index, h, error);
  Finish(index, h, error);
}

// Symbols of results that themselves stand elsewhere now are no longer the same number.
void Propagation::Move(int index, std::span<const int64_t> source) {
  const Node& node = NodeAt(index);
  NodeError& error = errors_[static_cast<size_t>(index)];
  const NodeError& operand = At(node.args[0]);
  if (operand.zero) return;
  const int64_t width = plan_->HasLanes(node.axes) ? lanes_ : 1;
  const auto gather = [&](const std::vector<double>& from) {
    std::vector<double> to(source.size() * static_cast<size_t>(width));
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] >= 0)
        std::copy_n(from.data() + source[i] * width, width, to.data() + i * static_cast<size_t>(width));
    }
    return to;
  };
  error.r = gather(operand.r);
  for (const NodeError::Symbol& symbol : operand.symbols) {
    std::vector<double> g = gather(symbol.g);
    if ((symbol.axes & (SetOf(node.from_axis) | SetOf(node.more_from))) == 0) {
      error.symbols.push_back({symbol.id, symbol.axes, std::move(g)});
      continue;
    }
    for (size_t i = 0; i < g.size(); ++i) error.r[i] = Joined(rules_.quadrature, error.r[i], g[i]);
  }
  Finish(index, {}, error);
}

// Golden values are not rounded in between: what a kernel stores is off by half a spacing of the format, which is
// uniform.
void Propagation::Round(int index, std::span<const double> v) {
  const Node& node = NodeAt(index);
  NodeError& error = errors_[static_cast<size_t>(index)];
  error = At(node.args[0]);
  if (!rules_.stores) return;
  const FloatFormat& format = FormatOf(node.format);
  const bool zero = error.zero;
  if (zero) error.r.assign(v.size(), 0);
  for (size_t i = 0; i < v.size(); ++i) {
    if (!std::isfinite(v[i])) continue;
    const double reach = zero ? 0 : error.reach[i], gap = UlpAt(format, std::fabs(v[i]) + reach);
    // Deviations are in units of the accumulator's roundoff, of which a stored number's is no fixed multiple.
    if (rules_.quadrature && (reach > 0 || RoundTo(format, v[i]) != v[i])) error.r[i] = kInfinity;
    if (rules_.quadrature) continue;
    error.r[i] = std::isfinite(reach) ? error.r[i] + gap * 0.5 : kInfinity;
    if (std::fabs(v[i]) + reach >= format.OverflowThreshold()) error.r[i] = kInfinity;
  }
  Finish(index, v, error);
}

}  // namespace assay::formula

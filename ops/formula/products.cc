// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/products.h"

#include <algorithm>
#include <cmath>

#include "harness/data/infinity.h"

namespace assay::formula {

Products::Products(const BlockPlan& plan, const ErrorRules& rules)
    : range_(rules.range),
      tiny_(rules.tiny),
      lambda_(std::max(rules.lambda, rules.function_lambda)),
      slack_(1 + 16 * rules.multiply) {
  const std::vector<Node>& nodes = plan.graph().nodes;
  for (size_t at = 0; at < nodes.size(); ++at) {
    std::vector<Factor>& factors = factors_.emplace_back();
    if (!Maps(nodes[at], Function::kMul) && !Maps(nodes[at], Function::kDiv)) continue;
    Collect(plan, static_cast<int>(at), static_cast<int>(at), false, factors);
    if (factors.size() < 3) factors.clear();
  }
}

void Products::Collect(const BlockPlan& plan, int product, int node, bool divides, std::vector<Factor>& factors) {
  const Graph& graph = plan.graph();
  const Node& info = graph.At(node);
  const bool is_quotient = Maps(info, Function::kDiv);
  if (Maps(info, Function::kNegate)) return Collect(plan, product, info.args[0], divides, factors);
  if (is_quotient || Maps(info, Function::kMul)) {
    Collect(plan, product, info.args[0], divides, factors);
    return Collect(plan, product, info.args[1], divides != is_quotient, factors);
  }
  factors.push_back({node, divides, Expansion(plan, info.axes, graph.At(product).axes)});
}

void Products::Partial::Multiply(double value, double reach, bool divides) {
  const double size = std::fabs(value);
  if (std::isnan(size) || std::isnan(reach)) {
    has_nan = true;
    return;
  }
  double upper = size + reach, lower = std::max(size - reach, 0.0);
  if (divides) upper = 1 / lower, lower = size == 0 ? 0 : 1 / (size + reach);
  const bool is_infinite = divides ? size == 0 && reach == 0 : std::isinf(size);
  const bool is_zero = divides ? std::isinf(size) : size == 0 && reach == 0;
  has_infinity = has_infinity || is_infinite, has_zero = has_zero || is_zero;
  if (is_infinite || is_zero) return;
  most *= std::max(upper, 1.0), least *= std::min(lower, 1.0);
}

// NaN is NaN in every order, and so is infinity times zero.
double Products::CostOf(const Partial& partial, size_t factors) const {
  if (partial.has_nan || (partial.has_zero && partial.has_infinity)) return 0;
  const bool may_overflow = partial.most * slack_ >= range_, may_underflow = partial.least < tiny_ * slack_;
  if (partial.has_infinity) return may_underflow ? kInfinity : 0;
  if (may_overflow) return kInfinity;
  return may_underflow && !partial.has_zero ? static_cast<double>(factors - 2) * lambda_ * partial.most * slack_ : 0;
}

// Whether sizes alone show that no order costs anything.
bool Products::StaysWithin(const std::vector<Factor>& factors, const BlockValues& values,
                           const Propagation& errors) const {
  double most = 1, least = 1;
  for (const Factor& factor : factors) {
    const std::span<const double> v = values.Hi(factor.node);
    const NodeError& error = errors.At(factor.node);
    double largest = 0, smallest = kInfinity;
    for (size_t i = 0; i < v.size(); ++i) {
      const double size = std::fabs(v[i]), reach = error.ReachAt(i);
      if (!(size + reach < kInfinity)) return false;
      largest = std::max(largest, size + reach), smallest = std::min(smallest, size - reach);
    }
    if (smallest <= 0) return false;
    if (factor.divides) std::swap(largest, smallest), largest = 1 / largest, smallest = 1 / smallest;
    most *= std::max(largest, 1.0), least *= std::min(smallest, 1.0);
  }
  return most * slack_ < range_ && least >= tiny_ * slack_;
}

std::vector<double> Products::CostOf(int node, const BlockValues& values, const Propagation& errors,
                                     int64_t lanes) const {
  const std::vector<Factor>& factors = factors_[static_cast<size_t>(node)];
  if (factors.empty() || StaysWithin(factors, values, errors)) return {};
  const size_t size = values.Hi(node).size();
  std::vector<Partial> partial(size);
  std::vector<double> wide, reach;
  for (const Factor& factor : factors) {
    const NodeError& error = errors.At(factor.node);
    const double* v = factor.expansion.Of(values.Hi(factor.node), lanes, size, wide);
    const double* r = error.zero ? nullptr : factor.expansion.Of(error.reach, lanes, size, reach);
    for (size_t i = 0; i < size; ++i) partial[i].Multiply(v[i], r == nullptr ? 0 : r[i], factor.divides);
  }
  std::vector<double> costs(size);
  std::ranges::transform(partial, costs.begin(), [&](const Partial& one) { return CostOf(one, factors.size()); });
  return std::ranges::any_of(costs, [](double cost) { return cost > 0; }) ? costs : std::vector<double>();
}

}  // namespace assay::formula

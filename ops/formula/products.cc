// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/products.h"

#include <algorithm>
#include <cmath>

#include "harness/data/infinity.h"

namespace assay::formula {
Products::Products(const BlockPlan& plan, const ErrorRules& rules)
    : plan_(&plan),
      range_(rules.range),
      tiny_(rules.tiny),
      lambda_(std::max(rules.lambda, rules.function_lambda)),
      slack_(1 + 16 * rules.multiply) {
  const Graph& graph = plan.graph();
  placed_.resize(graph.nodes.size());
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    if (!Maps(node, Function::kMul) && !Maps(node, Function::kDiv)) continue;
    std::vector<Factor> factors;
    Collect(static_cast<int>(at), false, factors);
    if (factors.size() < 3) continue;
    for (const Factor& factor : factors) {
      placed_[at].push_back({factor, Expansion(plan, graph.At(factor.node).axes, node.axes)});
    }
  }
}

void Products::Collect(int node, bool divides, std::vector<Factor>& factors) const {
  const Node& info = plan_->graph().At(node);
  if (Maps(info, Function::kNegate)) return Collect(info.args[0], divides, factors);
  if (Maps(info, Function::kMul) || Maps(info, Function::kDiv)) {
    Collect(info.args[0], divides, factors);
    return Collect(info.args[1], divides != Maps(info, Function::kDiv), factors);
  }
  factors.push_back({node, divides});
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
bool Products::StaysWithin(const std::vector<Placed>& factors, const BlockValues& values,
                           const Propagation& errors) const {
  double most = 1, least = 1;
  for (const auto& [factor, expansion] : factors) {
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
  const std::vector<Placed>& factors = placed_[static_cast<size_t>(node)];
  if (factors.empty() || StaysWithin(factors, values, errors)) return {};
  const size_t size = values.Hi(node).size();
  std::vector<Partial> partial(size);
  std::vector<double> wide(size), reach(size);
  for (const auto& [factor, expansion] : factors) {
    const NodeError& error = errors.At(factor.node);
    const auto expanded = [&](const double* from, std::vector<double>& to) {
      if (expansion.trivial()) return from;
      expansion.Run(from, lanes, to.data());
      return static_cast<const double*>(to.data());
    };
    const double* v = expanded(values.Hi(factor.node).data(), wide);
    const double* r = error.zero ? nullptr : expanded(error.reach.data(), reach);
    for (size_t i = 0; i < size; ++i) partial[i].Multiply(v[i], r == nullptr ? 0 : r[i], factor.divides);
  }
  std::vector<double> costs(size);
  std::ranges::transform(partial, costs.begin(), [&](const Partial& one) { return CostOf(one, factors.size()); });
  return std::ranges::any_of(costs, [](double cost) { return cost > 0; }) ? costs : std::vector<double>();
}

}  // namespace assay::formula

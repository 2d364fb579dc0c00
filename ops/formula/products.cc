// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/products.h"

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"

namespace assay::formula {
namespace {

bool IsProductOrQuotient(const Node& node) {
  return Maps(node, Function::kMul) || Maps(node, Function::kDiv);
}

bool GoesIntoProductsAlone(const WholeFormula& whole, int node) {
  if (node == whole.output) return false;
  const std::vector<Node>& nodes = whole.graph->nodes;
  for (size_t at = 0; at < nodes.size(); ++at) {
    if (std::ranges::find(nodes[at].args, node) == nodes[at].args.end() || IsProductOrQuotient(nodes[at])) continue;
    const bool is_seen_further = Maps(nodes[at], Function::kNegate);
    if (!is_seen_further || !GoesIntoProductsAlone(whole, static_cast<int>(at))) return false;
  }
  return true;
}

}  // namespace

void CollectFactors(const Graph& graph, int node, bool divides, std::vector<ProductFactor>& factors) {
  constexpr size_t kMostFactors = 64;  // squares of squares would double them without end
  if (factors.size() >= kMostFactors) return factors.push_back({node, divides});
  const Node& info = graph.At(node);
  const bool is_quotient = Maps(info, Function::kDiv);
  if (Maps(info, Function::kNegate)) return CollectFactors(graph, info.args[0], divides, factors);
  if (is_quotient || Maps(info, Function::kMul)) {
    CollectFactors(graph, info.args[0], divides, factors);
    return CollectFactors(graph, info.args[1], divides != is_quotient, factors);
  }
  factors.push_back({node, divides});
}

void SizeRange::Add(std::span<const double> values, const NodeError& error) {
  for (size_t i = 0; i < values.size(); ++i) {
    const double size = std::fabs(values[i]), reach = error.ReachAt(i);
    has_zero = has_zero || (size == 0 && reach == 0);
    const bool is_finite = size + reach < kInfinity;
    all_finite = all_finite && is_finite;
    if (!is_finite || (size == 0 && reach == 0)) continue;
    most = std::max(most, size + reach), least = std::min(least, std::max(size - reach, 0.0));
  }
}

void SizeRange::Join(const SizeRange& other) {
  most = std::max(most, other.most), least = std::min(least, other.least);
  all_finite = all_finite && other.all_finite, has_zero = has_zero || other.has_zero;
}

void OrderRange::Multiply(const SizeRange& factor, bool divides) {
  is_known = is_known && !(divides && factor.has_zero);
  double upper = factor.most, lower = factor.least;
  if (divides) {
    ++divisors;
    most_divisor *= std::max(upper, 1.0), least_divisor *= std::min(lower, 1.0);
    std::swap(upper, lower);
    upper = 1 / upper, lower = 1 / lower;
  }
  most *= std::max(upper, 1.0), least *= std::min(lower, 1.0);
}

double Products::MostCost(const OrderRange& range, const ErrorRules& rules, size_t factors) {
  const double slack = 1 + 16 * rules.multiply;
  if (!range.is_known || !(range.most * slack < rules.range)) return kInfinity;
  if (range.least >= rules.tiny * slack) return 0;
  const bool divisors_stay = range.most_divisor * slack < rules.range && range.least_divisor >= rules.tiny * slack;
  if (range.divisors > 1 && !divisors_stay) return kInfinity;
  const double lambda = std::max(rules.lambda, rules.function_lambda);
  return static_cast<double>(factors - 2) * lambda * range.most * slack;
}

Products::Products(const BlockPlan& plan, const ErrorRules& rules, const WholeFormula& whole)
    : range_(rules.range),
      tiny_(rules.tiny),
      lambda_(std::max(rules.lambda, rules.function_lambda)),
      slack_(1 + 16 * rules.multiply) {
  const std::vector<Node>& nodes = plan.graph().nodes;
  for (size_t at = 0; at < nodes.size(); ++at) {
    std::vector<Factor>& factors = factors_.emplace_back();
    std::vector<ProductFactor> found;
    if (IsProductOrQuotient(nodes[at])) CollectFactors(plan.graph(), static_cast<int>(at), false, found);
    if (found.size() < 3) continue;
    for (const ProductFactor& factor : found) {
      factors.push_back({factor, Expansion(plan, plan.graph().At(factor.node).axes, nodes[at].axes)});
    }
  }
  // Factors of a product that is part of a larger one are handled there.
  for (size_t at = 0; at < nodes.size(); ++at) {
    if (GoesIntoProductsAlone(whole, static_cast<int>(at))) factors_[at].clear();
  }
}

void Products::Partial::Multiply(double value, double reach, bool divides) {
  const double size = std::fabs(value);
  if (std::isnan(size) || std::isnan(reach)) {
    has_nan = true;
    return;
  }
  double upper = size + reach, lower = std::max(size - reach, 0.0);
  if (divides) {
    ++divisors;
    most_divisor *= std::max(upper, 1.0), least_divisor *= std::min(lower, 1.0);
  }
  if (divides) upper = 1 / lower, lower = size == 0 ? 0 : 1 / (size + reach);
  const bool is_infinite = divides ? size == 0 && reach == 0 : std::isinf(size);
  const bool is_zero = divides ? std::isinf(size) : size == 0 && reach == 0;
  has_infinity = has_infinity || is_infinite, has_zero = has_zero || is_zero;
  if (is_infinite || is_zero) return;
  most *= std::max(upper, 1.0), least *= std::min(lower, 1.0);
}

// NaN is NaN in every order, and so is infinity times zero. Else a product that leaves the range stays there: the
// result is infinite, unless some other partial product is zero, which makes it NaN, or one of divisors alone, which
// end it.
Products::Cost Products::CostOf(const Partial& partial, size_t factors, double size) const {
  if (partial.has_nan || (partial.has_zero && partial.has_infinity)) return {};
  const bool may_overflow = partial.most * slack_ >= range_, loses_digits = partial.least < tiny_ * slack_;
  const bool may_vanish = partial.least <= lambda_ * slack_;
  const bool divisors_stay = partial.most_divisor * slack_ < range_ && partial.least_divisor >= tiny_ * slack_;
  if (partial.divisors > 1 && !divisors_stay) return {kInfinity};
  if (partial.has_infinity) return {0, may_vanish ? kBesideNan : kNothingBeside};
  if (partial.has_zero) return {0, may_overflow ? kBesideNan : kNothingBeside};
  if (may_overflow && may_vanish) return {kInfinity};
  Cost cost{0, may_overflow ? kBesideInfinity : kNothingBeside};
  if (!loses_digits) return cost;
  const auto losses = static_cast<double>(factors - 2);
  cost.further = losses * lambda_ * partial.most * slack_;
  if (!may_vanish) {
    const double of_each = std::log1p(lambda_ * slack_ / partial.least);
    cost.further = std::min(cost.further, size * std::expm1(losses * of_each) * slack_);
  }
  return cost;
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

Products::Costs Products::CostsOf(int node, const BlockValues& values, const Propagation& errors, int64_t lanes) const {
  const std::vector<Factor>& factors = factors_[static_cast<size_t>(node)];
  if (factors.empty() || StaysWithin(factors, values, errors)) return {};
  const std::span<const double> products = values.Hi(node);
  const size_t size = products.size();
  std::vector<Partial> partial(size);
  std::vector<double> wide, reach;
  for (const Factor& factor : factors) {
    const NodeError& error = errors.At(factor.node);
    const double* v = factor.expansion.Of(values.Hi(factor.node), lanes, size, wide);
    const double* r = error.zero ? nullptr : factor.expansion.Of(error.reach, lanes, size, reach);
    for (size_t i = 0; i < size; ++i) partial[i].Multiply(v[i], r == nullptr ? 0 : r[i], factor.divides);
  }
  Costs costs{std::vector<double>(size), std::vector<Beside>(size)};
  for (size_t i = 0; i < size; ++i) {
    const Cost cost = CostOf(partial[i], factors.size(), std::fabs(products[i]));
    costs.further[i] = cost.further, costs.beside[i] = cost.beside;
  }
  if (std::ranges::none_of(costs.further, [](double cost) { return cost > 0; })) costs.further.clear();
  return costs;
}

}  // namespace assay::formula

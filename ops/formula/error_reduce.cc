// SPDX-License-Identifier: Apache-2.0
// Errors of reductions. The whole error of a result is one number, whatever uses it: it becomes a symbol of its own,
// beside the symbols that are constant along the reduced axes, whose coefficients are added with their signs.
#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "golden/sums/ranks.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"

namespace assay::formula {
namespace {

// Calls visit(operand element, result element) for all, lanes innermost.
template <class Visit>
void ForTerms(const std::vector<int64_t>& to, int64_t width, const Visit& visit) {
  for (size_t k = 0; k < to.size(); ++k) {
    const int64_t from = static_cast<int64_t>(k) * width, at = to[k] * width;
    for (int64_t lane = 0; lane < width; ++lane) visit(from + lane, at + lane);
  }
}

// Sums per result that the roundings of a sum depend on.
struct TermSums {
  explicit TermSums(size_t m) : magnitude(m), running(m), squares(m), partial(m), partial_squares(m) {}
  std::vector<double> magnitude;                 // of finite terms, with their reach
  std::vector<double> running, squares;          // the running sum; sum of squared terms
  std::vector<double> partial, partial_squares;  // sums of running sums and of their squares
};

// sigma^2 in units of u^2: of random orders, and of the two along the terms (golden/sigma.md).
double Energy(const TermSums& sums, size_t i, double y, double terms) {
  const double forward = sums.partial_squares[i];
  const double backward = terms * y * y - 2 * y * sums.partial[i] + forward;
  const double random = y * y + (terms - 1) * (y * y / 3 + sums.squares[i]);
  const double peak = (sums.magnitude[i] + std::fabs(y)) / 2;
  return kRoundingDeviation * kRoundingDeviation * std::min(std::max({forward, backward, random}), terms * peak * peak);
}

}  // namespace

void Propagation::MakeSymbol(int node, NodeError& error) {
  if (NodeAt(node).recomputed) return;
  error.symbols.push_back({node, NodeAt(node).axes, std::move(error.r)});
  error.r.assign(error.symbols.back().g.size(), 0);
  for (size_t i = 0; i < error.r.size(); ++i) {  // no sign to speak of
    double& g = error.symbols.back().g[i];
    if (std::isfinite(g)) continue;
    g = 0, error.r[i] = kInfinity;
  }
}

// A symbol that is one number along some of the reduced axes and others along the rest: its deviations are added as if
// it were one number along all of them, which is never too little.
void Propagation::AddSharedInPart(const NodeError::Symbol& symbol, const std::vector<int64_t>& to, NodeError& error) {
  std::vector<double> sum(error.r.size());
  ForTerms(to, std::ssize(symbol.g) / std::ssize(to),
           [&](int64_t i, int64_t at) { sum[at] += std::fabs(symbol.g[i]); });
  for (size_t at = 0; at < sum.size(); ++at) error.r[at] += sum[at] * sum[at];
}

void Propagation::Reduce(int index, std::span<const double> x, std::span<const double> v,
                         const std::vector<int64_t>& to) {
  const Node& node = NodeAt(index);
  NodeError& error = errors_[static_cast<size_t>(index)];
  error.r.assign(v.size(), 0);
  if (node.kind == Kind::kSum) {
    ReduceSum(node, x, v, to, error);
  } else if (node.kind == Kind::kProd) {
    ReduceProduct(node, x, v, to, error);
  } else {
    ReduceExtreme(node, x, v, to, error);
  }
  if (node.kind == Kind::kSum || node.kind == Kind::kProd) StoreWhereRead(index, v, error);
  MakeSymbol(index, error);
  Finish(index, v, error);
}

void Propagation::ReduceSum(const Node& node, std::span<const double> x, std::span<const double> v,
                            const std::vector<int64_t>& to, NodeError& error) {
  const NodeError& operand = At(node.args[0]);
  const int64_t width = std::ssize(x) / std::ssize(to);
  const double terms = static_cast<double>(plan_->graph().ExtentOf(node.reduced));
  TermSums sums(v.size());
  ForTerms(to, width, [&](int64_t i, int64_t at) {
    const double size = std::fabs(x[i]), reach = operand.zero ? 0 : operand.reach[i];
    sums.magnitude[at] += (std::isfinite(size) ? size : 0) + reach;
    if (rules_.quadrature) {
      const double s = sums.running[at] += x[i];
      sums.squares[at] += x[i] * x[i];
      sums.partial[at] += s, sums.partial_squares[at] += s * s;
    }
  });
  if (!operand.zero) {
    for (const NodeError::Symbol& symbol : operand.symbols) {
      const bool constant = (symbol.axes & node.reduced) == 0;
      if (rules_.quadrature && !constant && (node.reduced & ~symbol.axes) != 0) {
        AddSharedInPart(symbol, to, error);
        continue;
      }
      NodeError::Symbol passed{symbol.id, symbol.axes, std::vector<double>(constant ? v.size() : 0)};
      ForTerms(to, width, [&](int64_t i, int64_t at) {
        const double g = symbol.g[i];
        if (constant) passed.g[at] += g;
        error.r[at] += rules_.quadrature ? (constant ? 0 : g * g) : std::fabs(g) * (constant ? kResidue : 1);
      });
      if (constant) error.symbols.push_back(std::move(passed));
    }
    ForTerms(to, width, [&](int64_t i, int64_t at) {
      error.r[at] += rules_.quadrature ? operand.r[i] * operand.r[i] : operand.r[i];
    });
  }
  const double exact_integers = ExactIntegers(node);
  const std::vector<double> of_terms = exact_integers >= 0 ? error.r : std::vector<double>();
  if (rules_.lost_terms > 0 && plan_->graph().At(node.args[0]).non_negative) {
    AddLostTerms(node, x, to, sums.magnitude, error);
  }
  const double u = rules_.sum;
  const double gamma = terms > 1 ? SumError(terms - 1, u) : 0;
  const bool rescales = node.steps == Steps::kRescaled && rules_.rescale > 0 && terms > 1;
  const std::vector<double> rescaled = rescales ? Rescalings(node, x, to, sums.magnitude) : std::vector<double>();
  double lost = rules_.additions_underflow ? rules_.lambda : 0;  // of each addition
  if (node.steps == Steps::kRescaled) lost += 2 * rules_.lambda;
  lost = terms > 1 ? terms * lost : 0;
  for (size_t at = 0; at < v.size(); ++at) {
    if (!of_terms.empty() && sums.magnitude[at] <= exact_integers) {
      error.r[at] = rules_.quadrature ? std::sqrt(of_terms[at]) : of_terms[at];
      continue;
    }
    if (rules_.quadrature) {
      const double energy = terms > 1 ? Energy(sums, at, v[at], terms) : 0;
      error.r[at] = std::isfinite(v[at]) ? std::sqrt(error.r[at] + u * u * energy) : 0;
      continue;
    }
    const double magnitude = sums.magnitude[at], more = rescales ? rescaled[at] : 0;
    error.r[at] += (terms > 1 ? rules_.sum_lean : 0) * magnitude + gamma * magnitude + (1 + gamma) * more + lost;
    // No partial sum is larger; an infinite term decides alone.
    const bool is_copy = terms == 1 && error.r[at] == 0;
    const double largest = is_copy ? magnitude : (1 + gamma) * (magnitude + more);
    if (!(is_copy ? largest <= rules_.range : largest < rules_.range)) error.r[at] = kInfinity;
    if (!std::isfinite(v[at]) && error.r[at] < kInfinity) {
      error.r[at] = 0;
      for (NodeError::Symbol& symbol : error.symbols) symbol.g[at] = 0;
    }
  }
}

// Cost of rescaling a sum. A term is multiplied by exp(old maximum - new one) for each larger term that comes after
// it and is a new maximum; where the maximum stays the factor is 1. (1 + rescale)^k - 1 is convex in k, so that k times
// a share of its largest value covers it. Where the largest term is not 1, the formula subtracts another number than
// the maximum, so that the sum is multiplied once more. Terms that are no exponentials alone do not say how many come.
std::vector<double> Propagation::Rescalings(const Node& node, std::span<const double> x, const std::vector<int64_t>& to,
                                            std::span<const double> magnitude) const {
  const Node& operand = plan_->graph().At(node.args[0]);
  const double most = static_cast<double>(plan_->graph().ExtentOf(node.reduced)) - 1;
  const double worst = std::expm1(most * std::log1p(rules_.rescale));
  std::vector<double> costs(magnitude.begin(), magnitude.end());
  if (operand.kind != Kind::kMap || operand.function != Function::kExp) {
    for (double& cost : costs) cost *= worst;
    return costs;
  }
  std::vector<std::vector<double>> terms(costs.size());
  std::vector<double> sums(costs.size());
  ForTerms(to, std::ssize(x) / std::ssize(to), [&](int64_t i, int64_t at) {
    if (!std::isfinite(x[i])) return;
    terms[at].push_back(x[i]);
    sums[at] += x[i];
  });
  for (size_t at = 0; at < costs.size(); ++at) {
    const double size = costs[at], reach = std::max(0.0, size - sums[at]) + kResidue * size;
    const bool has_one = std::ranges::find(terms[at], 1.0) != terms[at].end();
    const double rises = worst * (SumOfRanks(terms[at]) / most + reach) * (1 + 0x1p-30);
    costs[at] = has_one ? rises : rises + rules_.rescale * (size + rises);
  }
  return costs;
}

// Terms below the spacing of the running sum are lost whole, others err by the square of the spacing over eight times
// themselves; and the sawtooth of a smooth density (golden/bound/bound.h, AddGridBias): 1.5 K sigma^2 of a sum that
// grows evenly, sigma = 0.425 u sqrt(K / 3).
void Propagation::AddLostTerms(const Node& node, std::span<const double> x, const std::vector<int64_t>& to,
                               std::span<const double> magnitude, NodeError& error) const {
  const double u = rules_.lost_terms, half_grid = u * u / 2;
  const auto terms = static_cast<double>(plan_->graph().ExtentOf(node.reduced));
  std::vector<double> lost(magnitude.size());
  ForTerms(to, std::ssize(x) / std::ssize(to), [&](int64_t i, int64_t at) {
    const double share = std::isfinite(x[i]) && x[i] > 0 ? x[i] / magnitude[at] : 0;
    if (share > 0) lost[at] += std::min(share, half_grid / share);
  });
  const double grid = 0.0905 * terms * terms * u * u;
  const double common = IsNarrowSquare(plan_->graph(), rules_, node.args[0]) ? kNarrowSquareLoss * terms * u : 0;
  for (size_t at = 0; at < lost.size(); ++at) {
    error.r[at] += magnitude[at] * ((lost[at] >= u ? lost[at] : 0) + std::min(grid, terms * u) + common);
  }
}

bool IsNarrowSquare(const Graph& graph, const ErrorRules& rules, int node) {
  const Node& square = graph.At(node);
  if (!Maps(square, Function::kMul) || square.args[0] != square.args[1]) return false;
  const Node& factor = graph.At(square.args[0]);
  const auto input = static_cast<size_t>(factor.input);
  return factor.kind == Kind::kIn && input < rules.inputs.size() && rules.inputs[input].narrow;
}

// |prod (x + e) - prod x| <= prod (|x| + a) - prod |x|. Orders differ in their partial products: where one of them may
// overflow or lose digits below the normal numbers, nothing is said.
void Propagation::ReduceProduct(const Node& node, std::span<const double> x, std::span<const double> v,
                                const std::vector<int64_t>& to, NodeError& error) {
  const NodeError& operand = At(node.args[0]);
  const int64_t width = std::ssize(x) / std::ssize(to);
  const double terms = static_cast<double>(plan_->graph().ExtentOf(node.reduced));
  std::vector<double> relative(v.size()), up(v.size(), 1), down(v.size(), 1);
  std::vector<bool> special(v.size());
  ForTerms(to, width, [&](int64_t i, int64_t at) {
    const double size = std::fabs(x[i]), reach = operand.zero ? 0 : operand.reach[i];
    if (size == 0 || !std::isfinite(size)) {
      special[at] = true;
      if (reach > 0) relative[at] = kInfinity;
      return;
    }
    const double share = reach / size;
    relative[at] += rules_.quadrature ? share * share : std::log1p(share);
    up[at] *= std::max(size + reach, 1.0);
    down[at] *= std::min(std::max(size - reach, 0.0), 1.0);
  });
  for (size_t at = 0; at < v.size(); ++at) {
    if (rules_.quadrature) {
      const bool is_exact = up[at] <= ExactIntegers(node);
      const double own = is_exact ? 0 : kRoundingDeviation * rules_.multiply;
      error.r[at] = std::isfinite(v[at]) ? std::fabs(v[at]) * std::sqrt(relative[at] + terms * own * own) : 0;
      continue;
    }
    const bool is_exact = up[at] <= ExactIntegers(node);
    const double gamma = terms > 1 && !is_exact ? SumError(terms - 1, rules_.multiply) : 0;
    const double spread = std::expm1(relative[at]);
    const bool is_copy = terms == 1 && relative[at] == 0;
    const bool leaves = !is_copy && (up[at] * (1 + gamma) >= rules_.range || down[at] < rules_.tiny * (1 + gamma));
    error.r[at] = leaves ? kInfinity : special[at] ? 0 : std::fabs(v[at]) * (spread + gamma + spread * gamma);
    if (std::isinf(relative[at])) error.r[at] = kInfinity;
  }
}

// The largest reach of a term that can win; of integers, how far the ends of what may win are away.
void Propagation::ReduceExtreme(const Node& node, std::span<const double> x, std::span<const double> v,
                                const std::vector<int64_t>& to, NodeError& error) {
  const NodeError& operand = At(node.args[0]);
  if (operand.zero) return;
  const int64_t width = std::ssize(x) / std::ssize(to);
  const double sign = node.kind == Kind::kMax ? 1 : -1;
  std::vector<double> least(v.size(), -kInfinity);  // the winner reaches at least that far
  ForTerms(to, width, [&](int64_t i, int64_t at) {
    const double surely = sign * x[i] - operand.reach[i];
    if (surely > least[at]) least[at] = surely;
  });
  const bool is_integer = node.numbers != Numbers::kReal && !rules_.quadrature;
  for (size_t at = 0; is_integer && at < v.size(); ++at) error.r[at] = sign * v[at] - least[at];
  ForTerms(to, width, [&](int64_t i, int64_t at) {
    const double most = sign * x[i] + operand.reach[i];
    if (is_integer) {
      error.r[at] = std::max(error.r[at], most - sign * v[at]);
      return;
    }
    if (most >= least[at]) error.r[at] = std::max(error.r[at], operand.reach[i]);
  });
}

}  // namespace assay::formula

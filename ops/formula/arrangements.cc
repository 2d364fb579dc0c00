// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/arrangements.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/core/data/infinity.h"

namespace assay::formula {
namespace {

bool IsLooseSum(const Node& node) {
  return (Maps(node, Function::kAdd) || Maps(node, Function::kSub)) && node.strictness == Strictness::kLoose;
}

// A square is that of one number: x x - 2 x mean + mean mean is another formula (Definition::Schedule).
bool IsProduct(const Node& node) {
  return Maps(node, Function::kMul) && node.args[0] != node.args[1];
}

// Where nothing is, nothing is added.
double Times(double x, double y) {
  return x == 0 || y == 0 ? 0 : x * y;
}

// Factor of a number in the bound on sizes of partial products.
double FactorOf(double size) {
  return std::isfinite(size) ? std::max(size, 1.0) : 1;
}

}  // namespace

KnownSums::KnownSums(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const auto has_sum = [&](size_t arg) {
      return arg < node.args.size() && is_sum[static_cast<size_t>(node.args[arg])];
    };
    const bool is_scaled =
        (IsProduct(node) && (has_sum(0) || has_sum(1))) || (Maps(node, Function::kDiv) && has_sum(0));
    distributes = distributes || is_scaled;
    const bool passes = (Maps(node, Function::kNegate) || node.kind == Kind::kSum) && has_sum(0);
    is_sum.push_back(IsLooseSum(node) || is_scaled || passes);
  }
}

Arrangements::Arrangements(const BlockPlan& plan, const NodeSpaces& spaces, const ErrorRules& rules,
                           const WholeFormula& whole, std::vector<double> stored_most)
    : plan_(&plan),
      spaces_(&spaces),
      range_(rules.range),
      slack_(1 + 16 * rules.multiply),
      overflows_at_(rules.range * (1 + rules.add / 4)),
      lost_(rules.lambda),
      sums_(*whole.graph),
      stored_most_(std::move(stored_most)) {
  elements_.resize(plan.graph().nodes.size());
}

std::vector<bool> Arrangements::Open(const BlockValues& values, const Propagation& errors, int64_t lanes) {
  if (!sums_.distributes || StaysWithin(BoundSizes(values, errors))) return {};
  for (size_t at = 0; at < elements_.size(); ++at) {
    lacks_terms_ = lacks_terms_ || (sums_.is_sum[at] && plan_->graph().nodes[at].kind == Kind::kIn);
  }
  lanes_ = lanes;
  const auto count = static_cast<int>(plan_->graph().nodes.size());
  for (int node = 0; node < count; ++node) {
    const std::span<const double> v = values.Hi(node);
    const NodeError& error = errors.At(node);
    Elements& elements = elements_[static_cast<size_t>(node)];
    elements.assign(v.size(), {});
    for (size_t i = 0; i < v.size(); ++i) {
      elements[i] = Number(v[i], error.ReachAt(i));
    }
    if (NodeAt(node).kind == Kind::kMap) {
      FindMap(node);
    } else if (NodeAt(node).kind == Kind::kSum) {
      FindSum(node);
    } else {
      FindOther(node);
    }
  }
  std::vector<bool> open;
  for (const Element& e : elements_[static_cast<size_t>(plan_->output().node)]) open.push_back(e.is_open);
  return open;
}

// Whether sizes alone show that no arrangement leaves the range.
bool Arrangements::StaysWithin(const std::vector<double>& most) const {
  for (size_t at = 0; at < most.size(); ++at) {
    if (sums_.is_sum[at] && !(most[at] * slack_ < range_)) return false;
  }
  return true;
}

std::vector<double> Arrangements::BoundSizes(const BlockValues& values, const Propagation& errors) const {
  std::vector<double> most;
  for (int node = 0; node < static_cast<int>(plan_->graph().nodes.size()); ++node) {
    most.push_back(MostOf(node, values, errors, most));
  }
  return most;
}

// It follows from the operands' bounds.
double Arrangements::MostOf(int node, const BlockValues& values, const Propagation& errors,
                            const std::vector<double>& most) const {
  const Node& info = NodeAt(node);
  const auto of_arg = [&](size_t arg) { return most[static_cast<size_t>(info.args[arg])]; };
  if (IsSum(node) && info.kind == Kind::kIn) return stored_most_[static_cast<size_t>(node)];
  if (IsSum(node) && info.kind != Kind::kConst) {  // a constant stands for what the plan does not need
    if (IsLooseSum(info)) return of_arg(0) + of_arg(1);
    if (IsProduct(info)) return of_arg(0) * of_arg(1);
    if (info.kind == Kind::kSum) return of_arg(0) * static_cast<double>(plan_->graph().ExtentOf(info.reduced));
    if (Maps(info, Function::kNegate)) return of_arg(0);
    double least = kInfinity;  // of the divisor
    const std::span<const double> divisor = values.Hi(info.args[1]);
    for (size_t i = 0; i < divisor.size(); ++i) {
      least = std::min(least, std::fabs(divisor[i]) - errors.At(info.args[1]).ReachAt(i));
    }
    return least > 0 ? of_arg(0) * std::max(1.0, 1 / least) : kInfinity;
  }
  double largest = 1;
  const std::span<const double> v = values.Hi(node);
  const NodeError& error = errors.At(node);
  for (size_t i = 0; i < v.size(); ++i) {
    const double size = std::fabs(v[i]) + error.ReachAt(i);
    largest = size <= largest ? largest : size;  // NaN too
    if (std::isnan(size)) return kInfinity;
  }
  return largest;
}

Arrangements::Element Arrangements::Number(double value, double reach) {
  const double size = std::fabs(value) + reach, other = reach > std::fabs(value) ? reach - std::fabs(value) : 0;
  Element e{.value = value, .reach = reach, .positive = size, .negative = other};
  if (value < 0) std::swap(e.positive, e.negative);
  e.factors = FactorOf(size), e.unscaled = std::isfinite(size) ? size : 0;
  e.least = std::max(std::fabs(value) - reach, 0.0);
  e.is_nan = std::isnan(value), e.is_open = reach == kInfinity;
  return e;
}

void Arrangements::FindMap(int node) {
  const Node& info = NodeAt(node);
  Elements& to = elements_[static_cast<size_t>(node)];
  std::vector<double> own[3], wide[3];
  const double* places[3] = {};
  for (size_t k = 0; k < info.args.size(); ++k) {
    own[k].resize(elements_[static_cast<size_t>(info.args[k])].size());
    std::iota(own[k].begin(), own[k].end(), 0);
    places[k] = spaces_->expansions[static_cast<size_t>(node)][k].Of(own[k], lanes_, to.size(), wide[k]);
  }
  for (size_t i = 0; i < to.size(); ++i) {
    Element x[3];
    for (size_t k = 0; k < info.args.size(); ++k) {
      x[k] = elements_[static_cast<size_t>(info.args[k])][static_cast<size_t>(places[k][i])];
    }
    to[i] = Mapped(node, to[i], x);
  }
}

// `result`: as a number of its own.
Arrangements::Element Arrangements::Mapped(int node, const Element& result, const Element* x) const {
  const Node& info = NodeAt(node);
  bool any_open = false, any_nan = false, all_by_factor = true, has_infinite_factor = false;
  for (size_t k = 0; k < info.args.size(); ++k) {
    const bool is_left = info.function == Function::kSelect && k > 0 && !x[0].is_open && x[0].reach == 0 &&
                         (k == 1) != (x[0].value != 0);
    if (is_left) continue;
    any_open = any_open || x[k].is_open, any_nan = any_nan || x[k].is_nan;
    all_by_factor = all_by_factor && (!x[k].is_nan || x[k].by_factor);
    has_infinite_factor = has_infinite_factor || (!IsSum(info.args[k]) && std::isinf(x[k].value));
  }
  Element e = result;
  if (std::isnan(result.value)) {
    e.is_open = (any_open || result.is_open) && !any_nan, e.is_nan = !e.is_open;
    e.by_factor = IsSum(node) && all_by_factor && (any_nan || (has_infinite_factor && !IsLooseSum(info)));
    return e;
  }
  e.is_open = result.is_open || any_open;
  if (e.is_open || any_nan || !IsSum(node)) return e;
  if (IsLooseSum(info)) {
    e = Joined(info, result, x);
    if (IsSum(info.args[0]) || IsSum(info.args[1])) e.is_open = Leaves(e);
    return e;
  }
  if (info.function == Function::kNegate) {
    e = x[0];
    e.value = result.value, e.positive = x[0].negative, e.negative = x[0].positive;
    return e;
  }
  if (info.function == Function::kDiv) {
    const double least = std::fabs(x[1].value) - x[1].reach, inverse = 1 / x[1].value;
    return Distributed(result, x[0], Number(inverse, least > 0 ? 1 / least - std::fabs(inverse) : 0));
  }
  if (!IsSum(info.args[1])) return Distributed(result, x[0], x[1]);
  if (!IsSum(info.args[0])) return Distributed(result, x[1], x[0]);
  return ProductOfSums(result, x[0], x[1]);
}

Arrangements::Element Arrangements::Joined(const Node& sum, const Element& result, const Element* x) const {
  const bool subtracts = sum.function == Function::kSub;
  Element e = result;
  e.positive = SumOf(x[0].positive, subtracts ? x[1].negative : x[1].positive);
  e.negative = SumOf(x[0].negative, subtracts ? x[1].positive : x[1].negative);
  const double size = std::min(std::fabs(result.value), range_);  // as it stands; beyond is propagation's affair
  e.factors = std::max({FactorOf(size), x[0].factors, x[1].factors});
  e.unscaled = std::max({size, x[0].unscaled, x[1].unscaled});
  e.least = std::min(x[0].least, x[1].least);
  return e;
}

// Over one of two sums at a time: the other is a number then, or its own factors go to the first one before it does.
Arrangements::Element Arrangements::ProductOfSums(const Element& result, const Element& x, const Element& y) const {
  const auto as_factor = [](const Element& sum) {
    Element factor = Number(sum.value, sum.reach);
    factor.factors = std::max(factor.factors, sum.factors);
    return factor;
  };
  const Element first = Distributed(result, x, as_factor(y)), second = Distributed(result, y, as_factor(x));
  Element e = result;
  e.positive = std::max(first.positive, second.positive), e.negative = std::max(first.negative, second.negative);
  e.factors = std::max(first.factors, second.factors), e.unscaled = std::max(first.unscaled, second.unscaled);
  e.least = std::min(first.least, second.least), e.is_open = first.is_open || second.is_open;
  return e;
}

Arrangements::Element Arrangements::Distributed(const Element& result, const Element& terms,
                                                const Element& factor) const {
  Element e = result;
  e.positive = slack_ * (Times(terms.positive, factor.positive) + Times(terms.negative, factor.negative));
  e.negative = slack_ * (Times(terms.positive, factor.negative) + Times(terms.negative, factor.positive));
  const double growth = factor.factors > 1 ? factor.factors * slack_ : 1;
  e.factors = terms.factors * growth, e.unscaled = terms.unscaled * growth;
  e.least = Times(terms.least, factor.least);
  e.by_factor = terms.by_factor || (std::isinf(factor.value) && std::isfinite(terms.value));
  const bool of_zero = (std::isinf(factor.value) && MayVanish(terms)) ||
                       (MayVanish(factor) && std::isinf(terms.positive + terms.negative));
  e.is_open = of_zero || Leaves(e);
  return e;
}

// Some term may be zero.
bool Arrangements::MayVanish(const Element& e) const {
  return e.least < lost_;
}

// Terms of one sign alone have no partial sum beyond the result, which propagation judges.
bool Arrangements::Leaves(const Element& e) const {
  if (e.factors > range_ || e.unscaled > range_) return true;
  if (std::isinf(e.value)) return (e.value > 0 ? e.negative : e.positive) >= overflows_at_;
  return std::max(e.positive, e.negative) >= overflows_at_ && std::min(e.positive, e.negative) > 0;
}

// A small summand does not make a number near the largest one overflow.
double Arrangements::SumOf(double x, double y) const {
  return std::max(x, y) + slack_ * std::min(x, y);
}

// If the node is no known sum of terms (IsSum), Propagation already covers its range.
void Arrangements::FindSum(int node) {
  const Node& info = NodeAt(node);
  const Elements& terms = elements_[static_cast<size_t>(info.args[0])];
  Elements& to = elements_[static_cast<size_t>(node)];
  const std::vector<int64_t>& places = spaces_->places[static_cast<size_t>(node)];
  const bool is_sum = IsSum(node);
  if (is_sum) {
    for (Element& e : to) e.positive = e.negative = e.unscaled = 0, e.factors = 1, e.least = 0;
  }
  const size_t width = terms.size() / places.size();
  std::vector<bool> is_nan(to.size()), any_open(to.size());            // NaN: with factors behind the sum as well
  std::vector<bool> has_positive(to.size()), has_negative(to.size());  // infinities that no factor makes
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t at = static_cast<size_t>(places[i / width]) * width + i % width;
    Element& e = to[at];
    const Element& term = terms[i];
    any_open[at] = any_open[at] || term.is_open;
    const bool is_own = !is_sum || !term.by_factor;
    is_nan[at] = is_nan[at] || (term.is_nan && is_own);
    has_positive[at] = has_positive[at] || (term.value == kInfinity && is_own);
    has_negative[at] = has_negative[at] || (term.value == -kInfinity && is_own);
    if (!is_sum) continue;
    e.positive += term.positive, e.negative += term.negative, e.unscaled += term.unscaled;
    e.factors = std::max(e.factors, term.factors);
    e.least = std::max(e.least, term.least), e.by_factor = e.by_factor || term.by_factor;
  }
  for (size_t at = 0; at < to.size(); ++at) {
    Element& e = to[at];
    if (std::isnan(e.value)) {
      e.is_nan = is_nan[at] || (has_positive[at] && has_negative[at] && !any_open[at]);
      e.is_open = !e.is_nan, e.by_factor = false;
      continue;
    }
    if (is_sum && places.size() > to.size() / width) e.unscaled *= slack_, e.positive *= slack_, e.negative *= slack_;
    e.is_open = e.is_open || any_open[at] || (is_sum && Leaves(e));
  }
}

// Numbers of their own, which may come from any of the operands', but where it is known from which.
void Arrangements::FindOther(int node) {
  const Node& info = NodeAt(node);
  Elements& to = elements_[static_cast<size_t>(node)];
  if (IsReduction(info.kind) || info.kind == Kind::kAt || info.kind == Kind::kRound) return FindPlaced(node);
  for (const int arg : info.args) {
    const Elements& from = elements_[static_cast<size_t>(arg)];
    if (!std::ranges::any_of(from, [](const Element& e) { return e.is_open; })) continue;
    for (Element& e : to) e.is_open = true;
  }
}

void Arrangements::FindPlaced(int node) {
  const Node& info = NodeAt(node);
  const Elements& from = elements_[static_cast<size_t>(info.args[0])];
  Elements& to = elements_[static_cast<size_t>(node)];
  const auto pass = [&](size_t i, size_t at) { to[at].is_open = to[at].is_open || from[i].is_open; };
  if (info.kind == Kind::kRound) {
    for (size_t i = 0; i < from.size(); ++i) pass(i, i);
    return;
  }
  const std::vector<int64_t>& places = spaces_->places[static_cast<size_t>(node)];
  const bool moves = info.kind == Kind::kAt;  // places are the operand's then, else the result's
  const size_t width = (moves ? to : from).size() / places.size();
  for (size_t k = 0; k < places.size(); ++k) {
    if (places[k] < 0) continue;
    for (size_t lane = 0; lane < width; ++lane) {
      const size_t here = k * width + lane, there = static_cast<size_t>(places[k]) * width + lane;
      moves ? pass(there, here) : pass(here, there);
    }
  }
}

}  // namespace assay::formula

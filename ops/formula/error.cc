// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/error.h"

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/error_loops.h"
#include "ops/formula/integers.h"

namespace assay::formula {
namespace {

// Whether zero and infinities are these, or NaN, in the result.
bool KeepsZeroAndInfinity(const Node& node) {
  if (node.kind == Kind::kAt || node.kind == Kind::kGather || node.kind == Kind::kRound) return true;
  return node.kind == Kind::kMap && (node.function == Function::kMul || node.function == Function::kNegate);
}

// Whether an infinity in the place of a number too large is compared or added as that number would be: where a result
// is cut off at a limit, overflow on the way to it changes nothing.
bool KeepsInfinities(const Graph& graph, const Node& node) {
  if (node.kind != Kind::kMap) return false;
  const auto is_constant = [&](int arg) { return graph.At(arg).kind == Kind::kConst; };
  switch (node.function) {
    case Function::kMaximum:
    case Function::kMinimum:
      return std::ranges::any_of(node.args, is_constant);
    case Function::kAdd:
      return std::ranges::any_of(node.args, is_constant) ||
             std::ranges::all_of(node.args, [&](int arg) { return graph.At(arg).non_negative; });
    case Function::kNegate:
      return true;
    default:
      return false;
  }
}

// Whether numbers that no accumulator holds have the same result as infinities: 0 or infinity.
bool EndsInfinities(const Node& node) {
  return node.kind == Kind::kMap && node.function == Function::kExp;
}

// Larger graphs count all operands as sharing errors.
constexpr size_t kMostSharing = 2000;

// By node: whether two of its operands follow from one computed number at the same index, whose error is in both, so
// that it does not average out: a square, or x + f(x).
std::vector<bool> FindShared(const Graph& graph) {
  const size_t n = graph.nodes.size();
  std::vector<bool> shared(n, n > kMostSharing);
  if (n > kMostSharing) return shared;
  std::vector<std::vector<bool>> computed(n, std::vector<bool>(n));
  for (size_t i = 0; i < n; ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != Kind::kMap && node.kind != Kind::kRound) continue;
    for (const int arg : node.args) {
      const std::vector<bool>& of_arg = computed[static_cast<size_t>(arg)];
      for (size_t k = 0; k < i; ++k) {
        shared[i] = shared[i] || (computed[i][k] && of_arg[k]);
        computed[i][k] = computed[i][k] || of_arg[k];
      }
    }
    computed[i][i] = node.kind == Kind::kMap && Info(node.function).rounding != Rounding::kNone;
  }
  return shared;
}

}  // namespace

Propagation::Propagation(const BlockPlan& plan, const ErrorRules& rules, const WholeFormula& whole, int stored_later)
    : plan_(&plan),
      rules_(rules),
      result_(whole.output),
      stored_later_(stored_later),
      errors_(plan.graph().nodes.size()),
      integers_(FindHeldIntegers(plan.graph())),
      last_(plan.graph().nodes.size(), true) {
  if (rules.quadrature) shares_ = FindShared(plan.graph());
  const std::vector<Node>& nodes = whole.graph->nodes;
  for (size_t i = nodes.size(); i-- > 0;) {
    const bool harmless = EndsInfinities(nodes[i]) || (last_[i] && KeepsInfinities(*whole.graph, nodes[i]));
    for (const int arg : nodes[i].args) last_[static_cast<size_t>(arg)] = last_[static_cast<size_t>(arg)] && harmless;
  }
}

void Propagation::StoreWhereRead(int node, std::span<const double> v, NodeError& error) const {
  if (rules_.store == 0 || node == result_ || node == stored_later_) return;
  const double exact_integers = ExactIntegers(NodeAt(node));
  for (size_t i = 0; i < v.size(); ++i) {
    const double size = std::fabs(v[i]) + error.r[i];
    if (std::isfinite(size) && size > exact_integers) error.r[i] += rules_.store * size + rules_.store_lambda;
  }
}

void Propagation::Begin(int64_t lanes) {
  lanes_ = lanes;
  for (NodeError& error : errors_) {
    ClearSymbols(error);
    error.r.clear();
    error.reach.clear();
    error.beside.clear();
    error.zero = true;
  }
}

void Propagation::ClearSymbols(NodeError& error) {
  for (NodeError::Symbol& symbol : error.symbols) spare_.push_back(std::move(symbol.g));
  error.symbols.clear();
}

NodeError::Symbol& Propagation::SymbolOf(NodeError& error, const NodeError::Symbol& like, int64_t n) {
  for (NodeError::Symbol& symbol : error.symbols) {
    if (symbol.id == like.id) return symbol;
  }
  std::vector<double> g;
  if (!spare_.empty()) {
    g = std::move(spare_.back());
    spare_.pop_back();
  }
  g.assign(static_cast<size_t>(n), 0);
  error.symbols.push_back({like.id, like.axes, std::move(g)});
  return error.symbols.back();
}

const double* Propagation::Zeros(int64_t n) {
  if (std::ssize(zeros_) < n) zeros_.resize(static_cast<size_t>(n));
  return zeros_.data();
}

const double* Propagation::Expanded(const std::vector<double>& array, const Expansion& expansion, int slot, int64_t n) {
  return expansion.Of(array, lanes_, static_cast<size_t>(n), scratch_[slot]);
}

void Propagation::Constant(int node) {
  const double value = NodeAt(node).constant, rest = std::fabs(NodeAt(node).constant_lo);
  if (std::fabs(value) <= ExactIntegers(NodeAt(node))) return;
  const bool rounds = rules_.constants != nullptr && (rest != 0 || RoundTo(*rules_.constants, value) != value);
  double off = rules_.constants_lack * rest;
  if (rounds) off += rules_.constants->UnitRoundoff() * std::fabs(value) + rules_.constants->MinSubnormal() + rest;
  if (off == 0) return;
  NodeError& error = errors_[static_cast<size_t>(node)];
  error.r = {off};
  Finish(node, {}, error);
}

void Propagation::Input(int node, std::span<const double> values) {
  const auto input = static_cast<size_t>(NodeAt(node).input);
  if (plan_->graph().inputs[input].places_along >= 0) return;  // places are no numbers of any format
  const InputRule rule = input < rules_.inputs.size() ? rules_.inputs[input] : InputRule{};
  NodeError& error = errors_[static_cast<size_t>(node)];
  // Larger integers may be rounded when they become numbers of the arithmetic.
  const bool is_real = NodeAt(node).numbers == Numbers::kReal;
  const double exact = is_real ? rules_.range : std::min(rules_.exact_integers, rules_.range);
  if (rule.relative == 0 && rule.lost_below == 0 && rule.overflow_at == 0) {
    const bool is_exact =
        std::ranges::all_of(values, [&](double x) { return !std::isfinite(x) || std::fabs(x) <= exact; });
    if (is_exact) return;
  }
  error.r.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double size = std::fabs(values[i]);
    if (!std::isfinite(size)) continue;
    error.r[i] = (rule.relative + (size > exact ? rules_.add : 0)) * size + (size < rule.lost_below ? size : 0);
    if ((rule.overflow_at > 0 && size >= rule.overflow_at) || size > rules_.range) error.r[i] = kInfinity;
  }
  Finish(node, {}, error);
}

void Propagation::Restore(int node, const NodeError& found, const std::vector<int64_t>& offsets) {
  if (found.zero) return;
  NodeError& error = errors_[static_cast<size_t>(node)];
  const auto take = [&](const std::vector<double>& from, std::vector<double>& to) {
    for (size_t i = 0; i < offsets.size(); ++i) to[i] = from[static_cast<size_t>(offsets[i])];
  };
  error.r.resize(offsets.size());
  take(found.r, error.r);
  for (const NodeError::Symbol& symbol : found.symbols) {
    take(symbol.g, SymbolOf(error, symbol, std::ssize(offsets)).g);
  }
  Finish(node, {}, error);
}

void Propagation::Map(const MapStep& step, const std::vector<Expansion>& expansions) {
  const Node& node = NodeAt(step.node);
  NodeError& error = errors_[static_cast<size_t>(step.node)];
  const int64_t n = step.n;
  const size_t size = static_cast<size_t>(n);
  Operands reach{};
  bool exact = true;
  for (size_t k = 0; k < node.args.size(); ++k) {
    const NodeError& operand = At(node.args[k]);
    reach[k] = operand.zero ? Zeros(n) : Expanded(operand.reach, expansions[k], static_cast<int>(k), n);
    exact = exact && operand.zero;
  }
  error.r.assign(size, 0);
  if (!exact) {
    for (int slot = 3; slot < 8; ++slot) scratch_[slot].resize(size);
    scratch_[9].assign(size, 0);
    Slopes slopes{{scratch_[3].data(), scratch_[4].data(), scratch_[5].data()}, scratch_[6].data(), scratch_[7].data()};
    FindSlopes(step, reach, slopes);
    const bool shares = rules_.quadrature && shares_[static_cast<size_t>(step.node)];
    for (size_t k = 0; k < node.args.size(); ++k) {
      const NodeError& operand = At(node.args[k]);
      if (operand.zero) continue;
      for (const NodeError::Symbol& symbol : operand.symbols) {
        const double* g = Expanded(symbol.g, expansions[k], 8, n);
        AddScaled(slopes.slope[k], g, SymbolOf(error, symbol, n).g.data(), scratch_[9].data(), n);
      }
      const double* r = Expanded(operand.r, expansions[k], 8, n);
      (rules_.quadrature && !shares ? AddSquares : AddMagnitudes)(slopes.slope[k], r, error.r.data(), n);
    }
    for (int64_t i = 0; shares && i < n; ++i) error.r[i] *= error.r[i];
    std::vector<double>& linear = scratch_[10];
    linear.assign(size, 0);
    for (const NodeError::Symbol& symbol : error.symbols) {
      AddSizes(rules_.quadrature, symbol.g.data(), linear.data(), n);
    }
    JoinParts(rules_.quadrature, scratch_[9].data(), slopes.curve, slopes.amplify, linear.data(), error.r.data(), n);
  } else {
    scratch_[10].assign(size, 0);
  }
  const double exact_integers = ExactIntegers(node);
  const std::vector<double> before = exact_integers >= 0 ? error.r : std::vector<double>();
  AddRounding(node, step, reach, error);
  for (size_t i = 0; i < before.size(); ++i) {
    double most = std::fabs(step.z[i]) + scratch_[10][i] + before[i];
    for (size_t k = 0; k < node.args.size(); ++k) most = std::max(most, std::fabs(step.x[k][i]) + reach[k][i]);
    if (most <= exact_integers) error.r[i] = before[i];
  }
  MarkNonFinite(step, reach, error);
  Finish(step.node, {step.z, size}, error);
}

// The largest integer that the operation gives without a rounding; below zero: each result rounds.
double Propagation::ExactIntegers(const Node& node) const {
  constexpr double kIndices = 0x1p24;  // where kernels compute with indices they have f32 at least
  switch (integers_[static_cast<size_t>(&node - plan_->graph().nodes.data())]) {
    case Held::kRounded:
      return -1;
    case Held::kStored:
      return rules_.exact_integers;
    case Held::kIndex:
      return std::max(rules_.exact_integers, kIndices);
  }
  return -1;
}

// A number compared with itself, as NaN is found, has one error on both sides.
void Propagation::FindSlopes(const MapStep& step, Operands reach, const Slopes& to) {
  const Node& node = NodeAt(step.node);
  const bool is_unknown = rules_.quadrature && (IsCondition(node.function) || IsStep(node.function));
  const bool is_same = IsComparison(node.function) && node.args[0] == node.args[1];
  for (size_t k = 0; (is_unknown || is_same) && k < node.args.size(); ++k) {
    std::vector<double>& other = scratch_[11 + k];
    other.assign(reach[k], reach[k] + step.n);
    for (double& one : other) one = is_same && std::isfinite(one) ? 0 : one * kCoarsestDeviations;
    reach[k] = other.data();
  }
  MapSlopes(node.function, step.x, reach, step.z, LeastOf(plan_->graph().At(node.args[0])), to, step.n);
  for (int64_t i = 0; is_unknown && i < step.n; ++i) to.curve[i] = to.curve[i] > 0 ? kInfinity : 0;
}

// Half of it, which is less than any roundings leave; what may be flushed is zero.
double Propagation::LeastOf(const Node& node) const {
  if (!node.non_negative) return -1;
  return node.least >= rules_.tiny ? node.least / 2 : 0;
}

void Propagation::Finish(int node, std::span<const double> v, NodeError& error) {
  error.reach = error.r;
  const int64_t n = std::ssize(error.reach);
  for (const NodeError::Symbol& symbol : error.symbols) {
    JoinSymbol(rules_.quadrature, symbol.g.data(), error.reach.data(), n);
  }
  const bool checks_range = !v.empty() && !rules_.quadrature;
  const double range = !checks_range ? kInfinity : last_[static_cast<size_t>(node)] ? rules_.last_range : rules_.range;
  const double* values = checks_range ? v.data() : Zeros(n);
  double most = 0;
  if (!AllWithin(values, error.reach.data(), range, n, most)) {
    for (int64_t i = 0; i < n; ++i) {
      double& reach = error.reach[static_cast<size_t>(i)];
      // An exact value may be the largest number itself.
      const double size = std::fabs(values[i]);
      const bool fits = reach == 0 ? size <= range : size + reach < range;
      const bool overflows = std::isfinite(size) && std::isfinite(range) && !fits;
      if (std::isfinite(reach) && !overflows) continue;
      NoteOpen(node, values[i]);
      for (NodeError::Symbol& symbol : error.symbols) symbol.g[static_cast<size_t>(i)] = 0;
      reach = error.r[static_cast<size_t>(i)] = kInfinity;
    }
    most = *std::ranges::max_element(error.reach);
  }
  error.zero = most == 0;
  if (error.zero) ClearSymbols(error);
}

void Propagation::NoteOpen(int node, double value) {
  if (std::isnan(value) && !KeepsZeroAndInfinity(NodeAt(node))) any_instead_of_nan_ = true;
}

void Propagation::Open(int node, std::span<const double> v, const std::vector<bool>& which) {
  NodeError& error = errors_[static_cast<size_t>(node)];
  if (std::ranges::find(which, true) == which.end()) return;
  if (error.zero) error.r.assign(which.size(), 0), error.reach.assign(which.size(), 0);
  for (size_t i = 0; i < which.size(); ++i) {
    if (!which[i]) continue;
    error.r[i] = error.reach[i] = kInfinity;
    NoteOpen(node, v[i]);
  }
  error.zero = false;
}

void Propagation::Widen(int node, const std::vector<double>& costs) {
  if (costs.empty()) return;
  NodeError& error = errors_[static_cast<size_t>(node)];
  if (error.zero) error.r.assign(costs.size(), 0), error.reach.assign(costs.size(), 0);
  for (size_t i = 0; i < costs.size(); ++i) error.r[i] += costs[i], error.reach[i] += costs[i];
  error.zero = false;
}

void Propagation::MarkBeside(int node, size_t i, Beside beside, NodeError& error) const {
  if (beside == kNothingBeside) return;
  if (node != result_) {
    error.r[i] = kInfinity;
    return;
  }
  if (error.beside.empty()) error.beside.resize(error.r.size());
  error.beside[i] |= beside;
}

void Propagation::Admit(int node, std::span<const double> v, const std::vector<Beside>& beside) {
  if (std::ranges::none_of(beside, [](Beside bits) { return bits != kNothingBeside; })) return;
  NodeError& error = errors_[static_cast<size_t>(node)];
  if (error.zero) error.r.assign(beside.size(), 0), error.reach.assign(beside.size(), 0);
  for (size_t i = 0; i < beside.size(); ++i) {
    MarkBeside(node, i, beside[i], error);
    if (error.r[i] < kInfinity || error.reach[i] == kInfinity) continue;
    error.reach[i] = kInfinity;
    error.zero = false;
    NoteOpen(node, v[i]);
  }
}

}  // namespace assay::formula

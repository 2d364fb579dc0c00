// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/error.h"

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/error_loops.h"
#include "ops/formula/integers.h"

namespace assay::formula {
namespace {

bool IsPowerOfTwo(const Node& node) {
  int exponent = 0;
  return node.kind == Kind::kConst && node.constant != 0 && std::fabs(std::frexp(node.constant, &exponent)) == 0.5;
}

// Whether implementations that store partial results have stored this one. Inputs have formats of their own.
bool IsStored(const Node& node) {
  if (node.kind == Kind::kSum || node.kind == Kind::kProd || node.kind == Kind::kRecur) return true;
  return node.kind == Kind::kMap && Info(node.function).rounding != Rounding::kNone;
}

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

bool IsReciprocal(const Node& node) {
  if (node.kind != Kind::kMap) return false;
  return node.function == Function::kSigmoid || node.function == Function::kOneMinusTanh ||
         node.function == Function::kRsqrt || node.function == Function::kDiv;
}

double ErrorRules::Of(Rounding rounding) const {
  switch (rounding) {
    case Rounding::kNone:
      return 0;
    case Rounding::kAdd:
      return add;
    case Rounding::kMultiply:
      return multiply;
    case Rounding::kDivide:
      return divide;
    case Rounding::kRoot:
      return root;
    case Rounding::kFunction:
      return function;
    case Rounding::kComposition:
      return composition;
    case Rounding::kTail:
      return 0;  // TailOf
  }
  return 0;
}

// 1 - tanh may be made of an exponential, as sigmoid is.
TailTerms ErrorRules::TailOf(Function of) const {
  return {of == Function::kOneMinusTanh ? std::max(tail, composition) : tail, complement, from_one};
}

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

// A power of an integer may be a product of so many factors, each of which rounds.
double Propagation::ErrorOfProducts(const Node& node) const {
  if (node.function != Function::kPow || rules_.as_written) return 0;
  const Node& exponent = plan_->graph().At(node.args[1]);
  constexpr double kMostFactors = 1024;
  const double n = exponent.kind == Kind::kConst ? exponent.constant : 0, factors = std::fabs(n);
  if (n != std::trunc(n) || factors < 2 || factors > kMostFactors) return 0;
  return SumError(factors - 1, rules_.multiply) + (n < 0 ? rules_.divide : 0);
}

void Propagation::AddRounding(const Node& node, const MapStep& step, const Operands& reach, NodeError& error) {
  const Rounding rounding = Info(node.function).rounding;
  if (rounding == Rounding::kNone) return;
  RoundingTerms terms{.relative = rules_.Of(rounding), .tiny = rules_.tiny};
  terms.relative = std::max(terms.relative, ErrorOfProducts(node));
  const bool multiplies = rounding == Rounding::kMultiply, divides = rounding == Rounding::kDivide;
  const auto is_scale = [&](size_t k) {
    const Node& arg = plan_->graph().At(node.args[k]);
    return IsPowerOfTwo(arg) || (multiplies && arg.numbers == Numbers::kCondition);
  };
  // Scaling is exact, but what is scaled may be stored after it for the first time.
  const auto scaled = [&](size_t k) { return IsStored(plan_->graph().At(node.args[k])) ? 0 : rules_.store; };
  if (multiplies && is_scale(0)) terms.relative = scaled(1);
  if ((multiplies || divides) && is_scale(1)) terms.relative = scaled(0);
  const bool additive = rounding == Rounding::kAdd;
  terms.loose = additive && node.strictness == Strictness::kLoose && !rules_.as_written;
  const bool basic = additive || multiplies;
  terms.lambda = basic ? rules_.lambda : rules_.function_lambda;
  if (additive && !rules_.additions_underflow) terms.lambda = rules_.store_lambda;
  // x times 1 / y may be x / y.
  const auto divides_other = [&](int arg) { return IsReciprocal(plan_->graph().At(arg)); };
  if (multiplies && std::ranges::any_of(node.args, divides_other)) terms.lambda = rules_.function_lambda;
  const bool is_log = node.function == Function::kLog || node.function == Function::kLog1p ||
                      node.function == Function::kLog2 || node.function == Function::kLog10;
  terms.absolute = is_log ? rules_.logarithm_absolute : 0;
  terms.vanishes = basic || divides || rounding == Rounding::kRoot;
  terms.multiplies = multiplies;
  terms.regroups = terms.loose && rules_.additions_underflow;    // (x - m) s + b as x s + (b - m s)
  if (rounding == Rounding::kComposition && rules_.range > 0) {  // its exponential may overflow, so that it is zero
    const double least = (1 + 8 * terms.relative) / rules_.range;
    terms.lambda = std::max(terms.lambda, least);
    terms.tiny = std::max(terms.tiny, least);
  }
  const double* linear = scratch_[10].data();
  if (rounding == Rounding::kTail) {
    RoundTail(rules_.quadrature, rules_.TailOf(node.function), step, linear, error.r.data());
  }
  if (rules_.quadrature) return RoundInQuadrature(terms, step, error.r.data());
  const bool may_divide_exactly = rules_.faithful_bits > 0 && divides;
  const std::vector<double> before = may_divide_exactly ? error.r : std::vector<double>();
  RoundEach(terms, step, reach, linear, error.r.data());
  // exp(-infinity) is 0 whatever the function is off elsewhere, by ISO C (F.10.3.1).
  for (int64_t i = 0; node.function == Function::kExp && i < step.n; ++i) {
    if (step.x[0][i] == -kInfinity && reach[0][i] == 0) error.r[i] = 0;
  }
  // A product with a reciprocal that lies below the normal numbers.
  for (int64_t i = 0; divides && rules_.tiny > 0 && i < step.n; ++i) {
    const bool lost = std::fabs(step.x[1][i]) * rules_.tiny > 0.5 && std::isfinite(step.x[1][i]);
    if (lost) error.r[i] += std::fabs(step.x[0][i]) * rules_.function_lambda;
  }
  for (int64_t i = 0; may_divide_exactly && i < step.n; ++i) {
    const double size = std::fabs(step.z[i]), divisor = std::fabs(step.x[1][i]);
    const bool is_held = size == 0 || (size >= rules_.tiny && HasBits(size, rules_.faithful_bits));
    const bool has_reciprocal = divisor >= rules_.tiny && divisor * rules_.tiny <= 1;
    if (reach[1][i] == 0 && is_held && has_reciprocal && HasBits(divisor, 1)) error.r[i] = before[i];
  }
  // One with a reciprocal that overflows.
  for (int64_t i = 0; divides && rules_.by_reciprocals && i < step.n; ++i) {
    const double size = std::fabs(step.x[1][i]), least = size - reach[1][i];
    if (size > 0 && !(least * rules_.range > 1)) error.r[i] = kInfinity;
  }
}

}  // namespace assay::formula

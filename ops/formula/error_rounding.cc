// SPDX-License-Identifier: Apache-2.0
// How far the rounding of one operation may move its result.
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"
#include "ops/formula/error_loops.h"

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

// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

double Join(double x, double y) {
  return x + y + x * y;
}

// Twice the unit roundoff covers accumulators that truncate, as in SumBound (golden/bound/bound.h).
double OperationRoundoff(const Contract& contract) {
  return 2 * contract.AccUnitRoundoff();
}

double FunctionError(const Contract& contract) {
  return std::max(contract.math_ulp, 0.5) * OperationRoundoff(contract);
}

// The error of a hyperbolic tangent or error function that is taken off 1, where next to nothing may be left of it. No
// specification is wider than 16 ulp of f32 (OpenCL C 3.0, 7.4: erf; tanh 5); that of a contract that grants more is
// for results of functions, and this is none: 256 ulp of erf(-3.2) would be four times 1 + erf(-3.2).
constexpr double kMostUlpOffOne = 16;
double ErrorOffOne(const Contract& contract) {
  return std::min(FunctionError(contract), kMostUlpOffOne * OperationRoundoff(contract));
}

const FloatFormat* FormatOfAccumulator(const Contract& contract) {
  switch (contract.acc) {
    case Accumulator::kF64:
    case Accumulator::kI32:
      return &FormatOf(DType::kF64);
    case Accumulator::kF16:
      return &FormatOf(DType::kF16);
    case Accumulator::kBF16:
      return &FormatOf(DType::kBF16);
    default:
      return &FormatOf(DType::kF32);
  }
}

// An input that is rounded to a narrower class has no relative bound among its subnormals.
InputRule RuleOf(const Contract& contract, DType type) {
  InputRule rule;
  if (!IsFloat(type)) return rule;
  rule.narrow = FormatOf(type).precision <= FormatOf(DType::kF16).precision;
  rule.relative = InputRoundoff(contract, type);
  const bool flushes = contract.FlushesInputs();
  if (flushes || rule.relative > 0) rule.lost_below = FormatOf(type).MinNormal();
  const double overflow = OperandOverflow(contract, type);
  rule.overflow_at = std::isfinite(overflow) ? overflow : 0;
  return rule;
}

// Implementations are held against computed values: the errors of computing these come on top of theirs.
void AddGoldenErrors(bool double_double, ErrorRules& rules) {
  if (double_double) return;  // far below what double-precision bounds resolve
  const ErrorRules golden = GoldenRules(false);
  rules.add += golden.add;
  rules.multiply += golden.multiply;
  rules.sum += golden.sum;
  rules.divide += golden.divide;
  rules.root += golden.root;
  rules.function += golden.function;
  rules.composition += golden.composition;
  rules.tail += golden.tail;
}

}  // namespace

ErrorRules GoldenRules(bool double_double) {
  const auto error = double_double ? MapErrorDD : MapErrorDouble;
  ErrorRules rules;
  rules.add = rules.sum = error(Function::kAdd);
  rules.multiply = error(Function::kMul);
  rules.divide = error(Function::kDiv);
  rules.root = error(Function::kSqrt);
  rules.function = error(Function::kExp);
  rules.composition = error(Function::kSigmoid);
  rules.tail = error(Function::kOneMinusErf);
  rules.constants_lack = double_double ? 0 : 1;
  rules.logarithm_absolute = double_double ? 0x1p-92 : 0;
  rules.lambda = rules.function_lambda = 0x1p-1070;  // the low part of a double-double underflows far above
  rules.tiny = double_double ? 0x1p-960 : 0x1p-1020;
  rules.range = std::numeric_limits<double>::max();
  rules.faithful_bits = FormatOf(DType::kF64).precision;
  rules.exact_integers = 0x1p53;
  rules.as_written = true;
  return rules;
}

ErrorRules ContractRules(const Contract& contract, const std::vector<DType>& inputs, bool double_double) {
  const double u = OperationRoundoff(contract), eps = FunctionError(contract);
  ErrorRules rules;
  double mid = 0, mid_absolute = 0;
  rules.range = contract.AccMaxFinite();
  rules.exact_integers = std::ldexp(1.0, contract.AccExactBits());
  rules.constants = FormatOfAccumulator(contract);
  const bool flushes = contract.ftz != Flush::kNone;
  if (contract.mid != Intermediate::kNone) {
    const FloatFormat& format = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16);
    mid = format.UnitRoundoff();
    mid_absolute = flushes ? format.MinNormal() : format.MinSubnormal();
    rules.range = std::min(rules.range, format.max_finite);
    rules.constants = &format;
    rules.exact_integers = std::min(rules.exact_integers, std::ldexp(1.0, format.precision));
    rules.tiny = format.MinNormal();
  }
  rules.add = rules.multiply = Join(u, mid);
  rules.store = mid, rules.store_lambda = mid_absolute;
  rules.sum = u;
  rules.rescale = Join(u, eps);
  rules.divide = Join(Join(eps, u), Join(mid, mid));  // or a product with a reciprocal, which is rounded, too
  rules.by_reciprocals = rules.rearranges = rules.stores = true;
  if (contract.math_ulp <= 1 && contract.mid == Intermediate::kNone) rules.faithful_bits = contract.AccExactBits();
  rules.root = rules.function = Join(eps, mid);
  // An exponential, a sum and a quotient, each of which kernels may store.
  rules.composition = Join(Join(Join(eps, eps), Join(u, u)), Join(Join(mid, mid), mid));
  rules.tail = rules.function;  // or a difference
  rules.complement = Join(ErrorOffOne(contract), mid), rules.from_one = rules.add;
  rules.lambda = (flushes ? contract.AccMinNormal() : contract.AccMinSubnormal()) + mid_absolute;
  // Errors below the normal numbers are counted in their spacing.
  rules.function_lambda = std::max(contract.math_ulp, 1.0) * contract.AccMinSubnormal() +
                          (flushes ? contract.AccMinNormal() : 0) + mid_absolute;
  rules.tiny = std::max(rules.tiny, contract.AccMinNormal());
  rules.additions_underflow = flushes;
  for (const DType type : inputs) rules.inputs.push_back(RuleOf(contract, type));
  AddGoldenErrors(double_double, rules);
  return rules;
}

ErrorRules SystematicRules(const Contract& contract, const std::vector<DType>& inputs, bool double_double) {
  const ErrorRules all = ContractRules(contract, inputs, double_double);
  ErrorRules rules;
  rules.inputs = all.inputs;  // what is flushed is so everywhere
  rules.additions_underflow = all.additions_underflow;
  rules.divide = rules.root = rules.function = all.function;
  rules.composition = all.composition;
  rules.tail = all.tail, rules.complement = all.complement;
  rules.lambda = all.lambda;
  rules.function_lambda = all.function_lambda;
  rules.tiny = all.tiny;
  rules.range = all.range;
  rules.exact_integers = all.exact_integers;
  rules.lost_terms = contract.AccUnitRoundoff();
  return rules;
}

ErrorRules LeanRules(const ErrorRules& systematic, const Contract& contract, const std::vector<bool>& is_common,
                     double sum_lean) {
  ErrorRules rules = systematic;
  rules.lost_terms = 0, rules.sum_lean = sum_lean;
  // Operations may round alike in all rows: of weights, of few different numbers, of equal mean squares.
  rules.add = rules.multiply = contract.AccUnitRoundoff();
  rules.constants = FormatOfAccumulator(contract);
  for (size_t k = 0; k < rules.inputs.size(); ++k) {
    if (is_common[k]) rules.inputs[k].relative += contract.AccUnitRoundoff();
  }
  return rules;
}

// A function's error is taken as uniform within 1 ulp = 2 u, the variance of which is 4/3 u^2.
ErrorRules SigmaRules() {
  ErrorRules rules;
  rules.quadrature = rules.stores = true;
  rules.add = rules.multiply = kRoundingDeviation * kSigmaUnit;
  rules.sum = kSigmaUnit;  // times the deviation's own constant
  rules.divide = rules.root = rules.function = std::sqrt(4.0 / 3) * kSigmaUnit;
  rules.composition = 2 * rules.function;
  rules.tail = rules.complement = rules.function, rules.from_one = rules.add;
  rules.exact_integers = 0x1p8;  // of the coarsest accumulator
  rules.range = std::numeric_limits<double>::max();
  return rules;
}

}  // namespace assay::formula

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/formula/exact.h"

#include <algorithm>

#include "tests/support/formula/interpret.h"

namespace assay::test {
namespace {

using formula::Function;
using formula::Kind;
using formula::Node;

struct OfMpfr {
  Function function;
  int (*exact)(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t);
};
// mpfr_neg and mpfr_abs are macros beside functions of their names.
const OfMpfr kOfMpfr[] = {
    {Function::kNegate, (mpfr_neg)},       {Function::kAbs, (mpfr_abs)},     {Function::kSqrt, (mpfr_sqrt)},
    {Function::kRsqrt, (mpfr_rec_sqrt)},   {Function::kExp, (mpfr_exp)},     {Function::kLog, (mpfr_log)},
    {Function::kLog1p, (mpfr_log1p)},      {Function::kTanh, (mpfr_tanh)},   {Function::kErf, (mpfr_erf)},
    {Function::kOneMinusErf, (mpfr_erfc)}, {Function::kExp2, (mpfr_exp2)},   {Function::kExpm1, (mpfr_expm1)},
    {Function::kLog2, (mpfr_log2)},        {Function::kLog10, (mpfr_log10)}, {Function::kErfc, (mpfr_erfc)},
    {Function::kTan, (mpfr_tan)},          {Function::kAsin, (mpfr_asin)},   {Function::kAcos, (mpfr_acos)},
    {Function::kAtan, (mpfr_atan)},        {Function::kSinh, (mpfr_sinh)},   {Function::kCosh, (mpfr_cosh)},
    {Function::kAsinh, (mpfr_asinh)},      {Function::kAcosh, (mpfr_acosh)}, {Function::kAtanh, (mpfr_atanh)},
    {Function::kCbrt, (mpfr_cbrt)},        {Function::kSin, (mpfr_sin)},     {Function::kCos, (mpfr_cos)},
};

struct ExactMachine {
  using Number = Real;
  static Real Input(int, double value) { return value; }
  static Real Constant(double value) { return value; }
  static Real ConstantOf(const Node& node) {
    Real value = node.constant;
    mpfr_add_d(value.x, value.x, node.constant_lo, MPFR_RNDN);
    return value;
  }
  static Real Map(const Node& node, std::span<const Real* const> x) { return ExactMap(node.function, x); }
  static bool IsLarger(const Node&, const Real& a, const Real& b) {
    if (mpfr_nan_p(a.x) != 0 || mpfr_nan_p(b.x) != 0) return mpfr_nan_p(a.x) != 0 && mpfr_nan_p(b.x) == 0;
    return mpfr_greater_p(a.x, b.x) != 0;
  }
  static int64_t PlaceOf(const Real& x) { return static_cast<int64_t>(x.Rounded()); }
  static Real Store(const Node&, const Real& value) { return value; }

  static Real Reduce(const Node& node, const std::vector<const Real*>& terms) {
    Real result = *terms[0];
    for (size_t k = 1; k < terms.size(); ++k) {
      if (node.kind == Kind::kSum || node.kind == Kind::kScatterAdd)
        mpfr_add(result.x, result.x, terms[k]->x, MPFR_RNDN);
      if (node.kind == Kind::kProd) mpfr_mul(result.x, result.x, terms[k]->x, MPFR_RNDN);
      if (node.kind == Kind::kMax) mpfr_max(result.x, result.x, terms[k]->x, MPFR_RNDN);
      if (node.kind == Kind::kMin) mpfr_min(result.x, result.x, terms[k]->x, MPFR_RNDN);
    }
    return result;
  }

  static Real Step(const Node&, const Real* a, const Real* h, const Real& b, int64_t) {
    Real result = b;
    if (h == nullptr) return result;
    Real carried = *h;
    if (a != nullptr) mpfr_mul(carried.x, carried.x, a->x, MPFR_RNDN);
    mpfr_add(result.x, result.x, carried.x, MPFR_RNDN);
    return result;
  }
};

}  // namespace

double Real::DistanceFrom(double value, double value_lo) const {
  Real distance = *this;
  mpfr_sub_d(distance.x, distance.x, value, MPFR_RNDN);
  mpfr_sub_d(distance.x, distance.x, value_lo, MPFR_RNDN);
  mpfr_abs(distance.x, distance.x, MPFR_RNDN);
  return mpfr_get_d(distance.x, MPFR_RNDU);
}

Real ExactMap(Function function, std::span<const Real* const> x) {
  Real z;
  const auto* a = x[0]->x;
  const auto* b = x.size() > 1 ? x[1]->x : nullptr;
  switch (function) {
    case Function::kAdd:
      mpfr_add(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kSub:
      mpfr_sub(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kMul:
      mpfr_mul(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kDiv:
      mpfr_div(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kMaximum:
      mpfr_max(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kMinimum:
      mpfr_min(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kLess:
      return mpfr_less_p(a, b) != 0 ? 1 : 0;
    case Function::kLessEqual:
      return mpfr_lessequal_p(a, b) != 0 ? 1 : 0;
    case Function::kEqual:
      return mpfr_equal_p(a, b) != 0 ? 1 : 0;
    case Function::kAnd:
      return mpfr_zero_p(a) == 0 && mpfr_zero_p(b) == 0 ? 1 : 0;
    case Function::kOr:
      return mpfr_zero_p(a) == 0 || mpfr_zero_p(b) == 0 ? 1 : 0;
    case Function::kSelect:
      return mpfr_zero_p(a) != 0 ? *x[2] : *x[1];
    case Function::kOneMinusTanh:
      mpfr_mul_ui(z.x, a, 2, MPFR_RNDN);
      mpfr_exp(z.x, z.x, MPFR_RNDN);
      mpfr_add_ui(z.x, z.x, 1, MPFR_RNDN);
      mpfr_ui_div(z.x, 2, z.x, MPFR_RNDN);
      break;
    case Function::kFloorDivide:
      mpfr_div(z.x, a, b, MPFR_RNDD);
      mpfr_floor(z.x, z.x);
      break;
    case Function::kNearest:
      mpfr_roundeven(z.x, a);
      break;
    case Function::kPow:
      mpfr_pow(z.x, a, b, MPFR_RNDN);
      break;
    case Function::kSigmoid:
      mpfr_neg(z.x, a, MPFR_RNDN);
      mpfr_exp(z.x, z.x, MPFR_RNDN);
      mpfr_add_ui(z.x, z.x, 1, MPFR_RNDN);
      mpfr_ui_div(z.x, 1, z.x, MPFR_RNDN);
      break;
    default:
      std::ranges::find(kOfMpfr, function, &OfMpfr::function)->exact(z.x, a, MPFR_RNDN);
  }
  return z;
}

std::vector<Real> EvaluateExactly(const formula::Graph& graph, const formula::OutputInfo& output,
                                  std::span<const std::vector<double>> inputs) {
  ExactMachine machine;
  return Interpret(graph, output, inputs, machine);
}

}  // namespace assay::test

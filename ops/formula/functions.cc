// SPDX-License-Identifier: Apache-2.0
// Values in double. Exponentials are portable_math.h's, below 1 ulp; the other functions are the C library's, which
// claims at most 2 ulp for them, and 4 for cbrt.
#include "ops/formula/functions.h"

#include <cmath>

#include "harness/core/base/multiversion.h"
#include "harness/core/data/fill/portable_math.h"
#include "ops/formula/floor_quotients.h"
#include "ops/formula/library_functions.h"

namespace assay::formula {
namespace {

constexpr FunctionInfo kInfo[] = {
    {"+", 2, Rounding::kAdd, true},
    {"-", 2, Rounding::kAdd, true},
    {"*", 2, Rounding::kMultiply, true},
    {"/", 2, Rounding::kDivide, true},
    {"-", 1, Rounding::kNone},
    {"abs", 1, Rounding::kNone},
    {"max", 2, Rounding::kNone},
    {"min", 2, Rounding::kNone},
    {"less", 2, Rounding::kNone},
    {"select", 3, Rounding::kNone},
    {"sqrt", 1, Rounding::kRoot},
    {"rsqrt", 1, Rounding::kFunction},
    {"exp", 1, Rounding::kFunction},
    {"log", 1, Rounding::kFunction},
    {"log1p", 1, Rounding::kFunction},
    {"tanh", 1, Rounding::kFunction},
    {"erf", 1, Rounding::kFunction},
    {"1 - tanh", 1, Rounding::kTail},
    {"1 - erf", 1, Rounding::kTail},
    {"sigmoid", 1, Rounding::kComposition},
    {"sin", 1, Rounding::kFunction},
    {"cos", 1, Rounding::kFunction},
    {"pow", 2, Rounding::kFunction},
    {"less or equal", 2, Rounding::kNone},
    {"equal", 2, Rounding::kNone},
    {"and", 2, Rounding::kNone},
    {"or", 2, Rounding::kNone},
    {"floor divide", 2, Rounding::kNone},
    {"nearest", 1, Rounding::kNone},
    {"exp2", 1},
    {"expm1", 1},
    {"log2", 1},
    {"log10", 1},
    {"erfc", 1},
    {"tan", 1},
    {"asin", 1},
    {"acos", 1},
    {"atan", 1},
    {"sinh", 1},
    {"cosh", 1},
    {"asinh", 1},
    {"acosh", 1},
    {"atanh", 1},
    {"cbrt", 1},
};

ASSAY_MULTIVERSION void ArithmeticValues(Function function, const double* x, const double* y, double* z, int64_t n) {
  switch (function) {
    case Function::kAdd:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
      break;
    case Function::kSub:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] - y[i];
      break;
    case Function::kMul:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
      break;
    case Function::kDiv:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] / y[i];
      break;
    case Function::kPow:
      for (int64_t i = 0; i < n; ++i) z[i] = std::pow(x[i], y[i]);
      break;
    case Function::kFloorDivide:
      FloorQuotients(x, y, z, n);
      break;
    case Function::kMaximum:  // NaN wins
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i];
      break;
    case Function::kMinimum:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] < y[i] || x[i] != x[i] ? x[i] : y[i];
      break;
    case Function::kLessEqual:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] <= y[i] ? 1.0 : 0.0;
      break;
    case Function::kEqual:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] == y[i] ? 1.0 : 0.0;
      break;
    case Function::kAnd:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] != 0 && y[i] != 0 ? 1.0 : 0.0;
      break;
    case Function::kOr:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] != 0 || y[i] != 0 ? 1.0 : 0.0;
      break;
    default:
      for (int64_t i = 0; i < n; ++i) z[i] = x[i] < y[i] ? 1.0 : 0.0;
  }
}

ASSAY_MULTIVERSION void ExponentialValues(const double* x, double* z, int64_t n) {
  internal::ExpKernels(x, z, n);
}

// Uses exp(-|x|), which does not overflow.
ASSAY_MULTIVERSION void SigmoidValues(const double* x, double* z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = -std::fabs(x[i]);
  internal::ExpKernels(z, z, n);
  for (int64_t i = 0; i < n; ++i) z[i] = (x[i] < 0 ? z[i] : 1.0) / (1 + z[i]);
}

// 1 - tanh(x) = 2 sigmoid(-2 x).
ASSAY_MULTIVERSION void OneMinusTanhValues(const double* x, double* z, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = -2 * std::fabs(x[i]);
  internal::ExpKernels(z, z, n);
  for (int64_t i = 0; i < n; ++i) z[i] = 2 * (x[i] > 0 ? z[i] : 1.0) / (1 + z[i]);
}

void UnaryValues(Function function, const double* x, double* z, int64_t n) {
  switch (function) {
    case Function::kNegate:
      for (int64_t i = 0; i < n; ++i) z[i] = -x[i];
      break;
    case Function::kAbs:
      for (int64_t i = 0; i < n; ++i) z[i] = std::fabs(x[i]);
      break;
    case Function::kSqrt:
      for (int64_t i = 0; i < n; ++i) z[i] = std::sqrt(x[i]);
      break;
    case Function::kRsqrt:
      for (int64_t i = 0; i < n; ++i) z[i] = 1 / std::sqrt(x[i]);
      break;
    case Function::kNearest:
      for (int64_t i = 0; i < n; ++i) z[i] = std::nearbyint(x[i]);
      break;
    default:
      for (int64_t i = 0; i < n; ++i) z[i] = InDouble(function, x[i]);
  }
}

}  // namespace

const FunctionInfo& Info(Function function) {
  return kInfo[static_cast<size_t>(function)];
}

void MapValues(Function function, const Operands& x, double* z, int64_t n) {
  if (function == Function::kExp) return ExponentialValues(x[0], z, n);
  if (function == Function::kSigmoid) return SigmoidValues(x[0], z, n);
  if (function == Function::kOneMinusTanh) return OneMinusTanhValues(x[0], z, n);
  if (function == Function::kSelect) {
    for (int64_t i = 0; i < n; ++i) z[i] = x[0][i] != 0 ? x[1][i] : x[2][i];
    return;
  }
  Info(function).arity == 2 ? ArithmeticValues(function, x[0], x[1], z, n) : UnaryValues(function, x[0], z, n);
}

double MapErrorDouble(Function function) {
  constexpr double kErrorOfErfc = 0x1p-49;  // glibc claims 5 ulp, which are 10 u
  if (function == Function::kErfc) return kErrorOfErfc;
  switch (Info(function).rounding) {
    case Rounding::kNone:
      return 0;
    case Rounding::kAdd:
    case Rounding::kMultiply:
    case Rounding::kDivide:
    case Rounding::kRoot:
      return 0x1p-53;
    case Rounding::kFunction:
    case Rounding::kComposition:
      return 0x1p-50;  // 8 u: 2 ulp are 4 u, and 4 ulp, of cbrt, are 8 u at most
    case Rounding::kTail:
      return kErrorOfErfc;
  }
  return 0;
}

}  // namespace assay::formula

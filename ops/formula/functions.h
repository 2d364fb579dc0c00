// SPDX-License-Identifier: Apache-2.0
// The functions of Map nodes on whole arrays: their values in double and in double-double, and how errors of operands
// reach the result. Loops go over arrays of equal length, so that the compiler makes vectors of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/formula/graph.h"

namespace assay::formula {

// How a correct implementation rounds the result.
enum class Rounding : uint8_t {
  kNone,      // exact: selections and signs
  kAdd,       // once; of loose sums each operand
  kMultiply,  // once
  kDivide,    // a division, or a product with a rounded reciprocal
  kRoot,
  kFunction,     // within the contract's math ulp
  kComposition,  // sigmoid: an exponential, an addition and a division
  // 1 - f, f with the limit 1: within the contract's math ulp of the result, however small that is; or f rounded, and
  // taken off 1
  kTail,
};

struct FunctionInfo {
  std::string_view name;
  int arity = 1;
  Rounding rounding = Rounding::kFunction;
  bool infix = false;
};
const FunctionInfo& Info(Function function);

using Operands = std::array<const double*, 3>;

// z[i] = f(x[i], ...)
void MapValues(Function function, const Operands& x, double* z, int64_t n);
// MapValues for unevaluated sums hi + lo. The relative error is at most MapErrorDD, for numbers far from double's
// limits.
void MapValuesDD(Function function, const Operands& hi, const Operands& lo, double* z_hi, double* z_lo, int64_t n);

// The relative error of a value in double, as the C library and portable_math.h have it, and in double-double.
double MapErrorDouble(Function function);
double MapErrorDD(Function function);

// Errors e_k of the operands, |e_k| <= reach[k], reach the result as sum slope[k] e_k with a rest of at most
// curve + amplify * (whatever bounds that sum). Infinite where nothing can be said.
struct Slopes {
  std::array<double*, 3> slope{};
  double* curve = nullptr;
  double* amplify = nullptr;
};
// `z`: the values. `least`: below which neither the operand lies nor what implementations have for it; negative: it is
// not known.
void MapSlopes(Function function, const Operands& x, const Operands& reach, const double* z, double least,
               const Slopes& to, int64_t n);

}  // namespace assay::formula

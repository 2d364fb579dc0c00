// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/library_functions.h"

#include <quadmath.h>

#include <algorithm>
#include <cmath>

namespace assay::formula {
namespace {

struct LibraryFunction {
  Function function;
  double (*in_double)(double);
  Quad (*in_quad)(Quad);
};

constexpr LibraryFunction kLibrary[] = {
    {Function::kLog, log, logq},       {Function::kLog1p, log1p, log1pq},     {Function::kTanh, tanh, tanhq},
    {Function::kErf, erf, erfq},       {Function::kOneMinusErf, erfc, erfcq}, {Function::kSin, sin, sinq},
    {Function::kCos, cos, cosq},       {Function::kExp2, exp2, exp2q},        {Function::kExpm1, expm1, expm1q},
    {Function::kLog2, log2, log2q},    {Function::kLog10, log10, log10q},     {Function::kErfc, erfc, erfcq},
    {Function::kTan, tan, tanq},       {Function::kAsin, asin, asinq},        {Function::kAcos, acos, acosq},
    {Function::kAtan, atan, atanq},    {Function::kSinh, sinh, sinhq},        {Function::kCosh, cosh, coshq},
    {Function::kAsinh, asinh, asinhq}, {Function::kAcosh, acosh, acoshq},     {Function::kAtanh, atanh, atanhq},
    {Function::kCbrt, cbrt, cbrtq},
};

const LibraryFunction& Find(Function function) {
  return *std::ranges::find(kLibrary, function, &LibraryFunction::function);
}

}  // namespace

double InDouble(Function function, double x) {
  return Find(function).in_double(x);
}

Quad InQuad(Function function, Quad x) {
  return Find(function).in_quad(x);
}

}  // namespace assay::formula

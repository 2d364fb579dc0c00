// SPDX-License-Identifier: Apache-2.0
// Functions of one number that the C library has in double and libquadmath in binary128: one table has both.
#pragma once

#include "ops/formula/functions.h"
#include "ops/formula/graph.h"

namespace assay::formula {

__extension__ using Quad = __float128;  // IEEE 754-2019, 3.6, in software: the same bits on every machine

// Precondition: the table has the function.
double InDouble(Function function, double x);
Quad InQuad(Function function, Quad x);

// MapSlopes (functions.h) of smooth functions of one number, by their derivatives.
//
// Precondition: one of the functions of library_functions.h that MapSlopes has no loop of its own for.
void LibrarySlopes(Function function, const double* x, const double* reach, const double* z, const Slopes& to,
                   int64_t n);

}  // namespace assay::formula

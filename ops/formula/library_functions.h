// SPDX-License-Identifier: Apache-2.0
// Functions of one number that the C library has in double and libquadmath in binary128: one table has both.
#pragma once

#include "ops/formula/graph.h"

namespace assay::formula {

__extension__ using Quad = __float128;  // IEEE 754-2019, 3.6, in software: the same bits on every machine

// Precondition: the table has the function.
double InDouble(Function function, double x);
Quad InQuad(Function function, Quad x);

}  // namespace assay::formula

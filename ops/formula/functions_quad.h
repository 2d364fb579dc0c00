// SPDX-License-Identifier: Apache-2.0
// Functions that few formulas have, in double-double, by way of libquadmath: binary128 in software (IEEE 754-2019,
// 3.6), the same bits on every machine, and sine and cosine reduced by as many digits of pi as any double needs.
#pragma once

#include "golden/dd/dd.h"
#include "ops/formula/graph.h"

namespace assay::formula {

// Relative errors are MapErrorDD's, of finite operands.
DD SinOf(DD x);
DD CosOf(DD x);
DD TanOf(DD x);
// Another function of library_functions.h. Digits of x below its 113th are lost, which matters where the function
// changes faster than its argument: near the zeros of logarithms.
DD ByQuad(Function function, DD x);
// x > 0, or y an integer.
DD PowOf(DD x, DD y);

}  // namespace assay::formula

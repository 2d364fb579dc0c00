// SPDX-License-Identifier: Apache-2.0
// MapSlopes (functions.h) of smooth functions of one number, by their derivatives.
#pragma once

#include "ops/formula/functions.h"

namespace assay::formula {

// Precondition: one of the functions of library_functions.h that MapSlopes has no loop of its own for.
void LibrarySlopes(Function function, const double* x, const double* reach, const double* z, const Slopes& to,
                   int64_t n);

}  // namespace assay::formula

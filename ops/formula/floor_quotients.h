// SPDX-License-Identifier: Apache-2.0
// z = the largest integer that is at most x / y, exactly, in a loop of its own file: see CMakeLists.txt.
#pragma once

#include <cstdint>

namespace assay::formula {

void FloorQuotients(const double* x, const double* y, double* z, int64_t n);

}  // namespace assay::formula

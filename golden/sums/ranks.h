// SPDX-License-Identifier: Apache-2.0
// How often the terms of a sum of exponentials can be rescaled.
#pragma once

#include <span>

namespace assay {

// The sum of positive terms, each times the number of different terms that are larger. A running sum of exp(x - largest
// x so far) multiplies a term once for each larger x that comes after it: in no order more often than that, and in
// ascending order exactly so often. Numbers that are not positive and finite count nothing.
double SumOfRanks(std::span<const double> terms);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Short names of the values that tests of bounds and verdicts use most.
#pragma once

#include <limits>

namespace assay {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace assay

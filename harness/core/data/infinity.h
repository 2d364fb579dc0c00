// SPDX-License-Identifier: Apache-2.0
// The one infinity that every layer means by an error or a margin without limit.
#pragma once

#include <limits>

namespace assay {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace assay

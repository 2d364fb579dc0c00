// SPDX-License-Identifier: Apache-2.0
// When repetitions suffice.
#pragma once

#include <span>

namespace assay {

// Whether the 95 % confidence interval of the median lies within `relative` of it on both sides. The interval is the
// distribution-free one between order statistics (ranks from the normal approximation of the binomial; David and
// Nagaraja, Order Statistics, 7.1): timings are skewed, so a standard error of their mean would say little. It takes
// the repetitions for independent; a machine whose speed drifts slowly is more uncertain than that.
bool MedianIsSettled(std::span<const double> seconds, double relative);

}  // namespace assay

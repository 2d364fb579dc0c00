// SPDX-License-Identifier: Apache-2.0
// How much of their bounds the elements of an output use.
#pragma once

#include <array>
#include <cstdint>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"

namespace assay {

inline constexpr int kMarginBins = 23;
inline constexpr int64_t kHistogramSamples = 65536;

// Counts of finite elements by margin (Judgement::Margin): exactly 0, as that of correctly rounded values is; below
// 2^-20; one bin for each power of two up to 1; 1 and above. A larger tensor is sampled at kHistogramSamples evenly
// spaced elements. Precondition: got has the golden's shape.
using MarginHistogram = std::array<int64_t, kMarginBins>;
MarginHistogram CountMargins(const Golden& golden, const BoundModel& bound, const Contract& contract,
                             const Tensor& got);

}  // namespace assay

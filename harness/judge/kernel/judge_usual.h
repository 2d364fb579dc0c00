// SPDX-License-Identifier: Apache-2.0
// The judging kernel for the usual case: f32 results read in place whose values, bounds and deviations are all far from
// where other rules begin. The sums, maxima and squares have the bits of judge_kernel.h's general pass, for fewer
// operations: products that are exact are fused, no element is asked by itself whether it is ordinary, and quotients
// are formed of those elements alone that may have the largest one.
#pragma once

#include <cstdint>

#include "harness/judge/kernel/judge_kernel.h"

namespace assay {

// Whether the contract allows it.
bool MayBeUsual(const JudgeTile& tile, const JudgeParams& params);

// JudgeWhole without the range of the outputs. False: the general pass has to decide, and `lanes` is unchanged.
// Preconditions: MayBeUsual; n is a positive multiple of kJudgeLanes; no entry of a plane (magnitudes, deviations,
// errors) is negative.
bool JudgeUsual(const JudgeTile& tile, const JudgeParams& params, int64_t n, JudgeLanes& lanes);

}  // namespace assay

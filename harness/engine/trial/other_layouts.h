// SPDX-License-Identifier: Apache-2.0
// A result once more in other layouts: with padded rows and an unaligned start, where kernels for dense and aligned
// data alone go wrong, and dense with the axes in another order (channels last, matrices transposed).
#pragma once

#include "harness/engine/device/device.h"
#include "harness/engine/trial/trial_context.h"

namespace assay {

// May turn a result that holds into one that does not. A backend that does not take the layout is not asked twice: no
// contract promises every layout. Precondition: the attempt was judged by `by`.
void JudgeOtherLayouts(TrialContext& context, const Device& device, const ContractData& by, Attempt& attempt);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Random rows of a norm, computed again by the orders of its sums and each usual way to go on from these.
#pragma once

#include "harness/tools/fingerprint/passport.h"

namespace assay {

// Sets `predicted`, `formula` and `is_welford` where some way gives half of the rows to the bit. Takes rms_norm, reduce
// with kind=l2 and the norms that subtract a mean, with weights of 1. Errors: the backend's.
Status PredictNorm(Prober& prober, Passport& passport);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Random sums, computed again as a passport says.
#pragma once

#include <vector>

#include "harness/tools/fingerprint/passport.h"

namespace assay {

// Sums of normal deviates, rounded to the operands' type; the same at each call.
std::vector<ProbeSum> RandomSums(const Prober& prober, int count);

// A sum as the passport's prediction computes it, in the type of the output. Precondition: it has one.
double PredictSum(const Passport& passport, const ProbeSum& terms, DType out);

// Sets `predicted` where order and rounding are known, and the sums are of the terms as they are. Errors: the
// backend's.
Status Predict(Prober& prober, Passport& passport);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A bundle's statement of conformance, made again from what the bundle holds.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/conform/finding.h"
#include "harness/evidence/verify.h"

namespace assay {

// Nothing where the bundle states none. It has to be of a profile that this program has, or of `own_profile`, a path;
// the plan has to have the profile's cases, with the seed that follows from the draw; sentence and control have to
// follow from the records.
void VerifyConformance(const BundleFiles& files, const Plan& plan, const RecordView& records,
                       const std::string& own_profile, Verification& found);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A bundle's statement of conformance, made again from what the bundle holds.
#pragma once

#include <string>

#include "harness/evidence/conform/finding.h"
#include "harness/evidence/verify/bundle_contents.h"

namespace assay {

// Nothing where the bundle states none. It has to be of a profile that this program has, or of `own_profile`, a path;
// the plan has to have the profile's cases, with the seed that follows from the draw; sentence and control have to
// follow from the records. It is confirmed where nothing of the bundle is contradicted, with the share of its results
// whose outputs were judged again.
void VerifyConformance(const BundleContents& bundle, const Recomputed& recomputed, const std::string& own_profile,
                       Verification& found);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A bundle's statement of conformance, made again from what the bundle holds.
#pragma once

#include <string>

#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {

// Verifies the conformance that a bundle states, if any. Its profile must be one of this program, or that of the path
// `own_profile`; the plan must have the profile's cases, with the seed that follows from the draw; sentence and control
// must follow from the records. It is confirmed if nothing of the bundle is contradicted, with the share of its results
// whose outputs were judged again.
void VerifyConformance(const BundleContents& bundle, const Recomputed& recomputed, const std::string& own_profile,
                       Verification& found);

}  // namespace assay

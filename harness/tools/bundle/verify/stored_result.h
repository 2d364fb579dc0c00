// SPDX-License-Identifier: Apache-2.0
// The stored outputs of one result, judged again, and its record held against what comes out. Private to
// recompute_cases.cc.
#pragma once

#include "harness/engine/trial/trial_context.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {

// Precondition: the bundle has the file, and inputs and golden values are those of the record. `same_bits`: the golden
// values have the recorded bits, so that every figure can be compared.
void JudgeStoredResult(const BundleContents& bundle, TrialContext& context, const Record& record, bool same_bits,
                       Recomputed& tally, Verification& found);

}  // namespace assay

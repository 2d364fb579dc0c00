// SPDX-License-Identifier: Apache-2.0
// The stored outputs of one case, judged again. Private to verify.cc.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/evidence/verify.h"
#include "harness/model/record.h"

namespace assay {

struct Tally {
  size_t inputs = 0, goldens = 0, other_goldens = 0, judged = 0;
};

// `records` are of one case, and each has its outputs at folder/StoredOutputFile(record).
void JudgeAgain(std::span<const Record* const> records, const std::filesystem::path& folder, Tally& tally,
                Verification& found);

}  // namespace assay

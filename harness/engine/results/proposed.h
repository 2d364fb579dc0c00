// SPDX-License-Identifier: Apache-2.0
// A list of expectations for what failed in a run, for a person to complete: it waives no case but those that failed,
// and its reasons and owners are empty, which a run refuses.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// TOML in the form of plan/expectations.h. `today` ("2026-11-25") is when it was made. "" where nothing failed that a
// rule may cover.
std::string ProposeExpectations(const RecordView& records, const std::string& today);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a reader of any report must know of how the run was made: another seed, rounds of timing that were not finished,
// times that cannot be true, an interruption.
#pragma once

#include <string>
#include <vector>

#include "harness/model/record_list.h"

namespace assay {

// Sentences, from the text of environment.json (which may be empty) and the records.
std::vector<std::string> RunNotes(const RecordView& records, const std::string& environment_json);

}  // namespace assay

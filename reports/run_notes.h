// SPDX-License-Identifier: Apache-2.0
// Notes on the run that every report shows: another seed, rounds of timing that were not finished, times that cannot be
// true, an interruption.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// Sentences, from the text of environment.json (which may be empty) and the records.
std::vector<std::string> RunNotes(const RecordView& records, const std::string& environment_json);

}  // namespace assay

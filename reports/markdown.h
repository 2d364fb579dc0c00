// SPDX-License-Identifier: Apache-2.0
// summary.md.
#pragma once

#include <string>

#include "harness/core/model/record_list.h"

namespace assay {

// summary.md: the console report's content, and the profile of a run that was asked for one, as GitHub Markdown, kept
// under the 1 MiB limit of a step summary.
std::string MarkdownReport(const RecordView& records, const std::string& environment_json = "",
                           const std::string& profile_json = "");

}  // namespace assay

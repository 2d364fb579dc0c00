// SPDX-License-Identifier: Apache-2.0
// report.html.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// report.html: one self-contained page that loads nothing. It embeds one JSON object, which its script renders; text
// from records only ever becomes text nodes.
std::string HtmlReport(const RecordView& records, const std::string& environment_json,
                       const std::string& profile_json = "");

}  // namespace assay

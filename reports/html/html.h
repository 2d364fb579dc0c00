// SPDX-License-Identifier: Apache-2.0
// report.html, and the frame of every page.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/json.h"
#include "harness/core/model/record_list.h"

namespace assay {

namespace html {
// One self-contained page that loads nothing. It embeds one JSON object, which its script renders; text from records
// only ever becomes text nodes. `elsewhere`: a sentence on where the same stands for those whose browser runs no
// scripts.
std::string MakePage(const std::string& title, std::string_view elsewhere, const Json& data, std::string_view script);
}  // namespace html

std::string HtmlReport(const RecordView& records, const std::string& environment_json,
                       const std::string& profile_json = "");

}  // namespace assay

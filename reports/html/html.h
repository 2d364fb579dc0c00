// SPDX-License-Identifier: Apache-2.0
// report.html.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// report.html: one self-contained page that loads nothing. Header, verdict matrix, failures, performance, reasons and
// environment, and the profile of a run that was asked for one, are plain HTML; the table of all results with its
// drill-down is built by the script from the embedded records. Everything that comes from records is escaped.
std::string HtmlReport(const RecordView& records, const std::string& environment_json,
                       const std::string& profile_json = "");

}  // namespace assay

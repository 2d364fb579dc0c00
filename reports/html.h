// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/base/record.h"

namespace assay {

// report.html: one self-contained page that loads nothing. Header, verdict matrix, failures, performance, reasons and
// environment are plain HTML; the table of all results with its drill-down is built by the script from the embedded
// records. Everything that comes from records is escaped.
std::string HtmlReport(const std::vector<Record>& records, const std::string& environment_json);

}  // namespace assay

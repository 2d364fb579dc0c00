// SPDX-License-Identifier: Apache-2.0
// The style sheet and script of report.html, files of reports/assets/ turned into text at configure time.
#pragma once

#include <string_view>

namespace assay::html {

extern const std::string_view kStyleSheet;
extern const std::string_view kScript;

}  // namespace assay::html

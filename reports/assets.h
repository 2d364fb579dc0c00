// SPDX-License-Identifier: Apache-2.0
// The frame, style sheet and script of report.html, files of reports/assets/ turned into text at configure time.
#pragma once

#include <string_view>

namespace assay::html {

extern const std::string_view kPage;  // a format of title, style sheet, data and script
extern const std::string_view kStyleSheet;
extern const std::string_view kScript;

// Tables of reports/README.md, as they stand there.
extern const std::string_view kTermTable;
extern const std::string_view kClassTable;

}  // namespace assay::html

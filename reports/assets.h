// SPDX-License-Identifier: Apache-2.0
// The frame, style sheet and scripts of pages, files of reports/assets/ turned into text at configure time.
#pragma once

#include <string_view>

namespace assay::html {

extern const std::string_view kPage;  // see html::MakePage
extern const std::string_view kStyleSheet;
extern const std::string_view kScript, kHistoryScript;

// Tables of reports/README.md, as they stand there.
extern const std::string_view kTermTable;
extern const std::string_view kClassTable;

}  // namespace assay::html

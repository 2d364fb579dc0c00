// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace assay {

// Whether arrays and objects of a text lie deeper within each other than kMostNestedJson (harness/base/json_text.h).
bool IsNestedTooDeep(std::string_view text);

}  // namespace assay

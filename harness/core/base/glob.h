// SPDX-License-Identifier: Apache-2.0
// The globs of filters and expectations.
#pragma once

#include <string_view>

namespace assay {

// '*' any text, '?' one character; everything else is itself.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Where this user keeps what can be computed again.
#pragma once

#include <filesystem>
#include <string_view>

namespace assay {

// $XDG_CACHE_HOME, else ~/.cache; empty where neither is known. A relative path in the variable is ignored, as the XDG
// Base Directory Specification asks for.
std::filesystem::path UserCaches();
// assay/<name> there; empty where there is none.
std::filesystem::path CacheFolder(std::string_view name);

}  // namespace assay

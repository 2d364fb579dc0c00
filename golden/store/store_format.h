// SPDX-License-Identifier: Apache-2.0
// File names and format version of the golden store, for its reader and its garbage collection.
#pragma once

#include <filesystem>
#include <string_view>

#include "golden/store/store.h"

namespace assay {

inline constexpr std::string_view kStoreFormat = "assay-golden-1";
inline constexpr std::string_view kStoreExtension = ".safetensors";

// Relative to the store's folder.
std::filesystem::path StoreFileName(const GoldenKey& key, int generator_version, int golden_version);

}  // namespace assay

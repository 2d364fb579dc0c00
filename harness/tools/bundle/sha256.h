// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

std::string Sha256Hex(std::string_view bytes);  // 64 digits, as sha256sum prints them
Result<std::string> Sha256OfFile(const std::filesystem::path& path);

}  // namespace assay

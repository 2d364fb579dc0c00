// SPDX-License-Identifier: Apache-2.0
// A file as one piece of memory.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

// Errors (kIo) name the path and the system's reason.
Result<std::string> ReadWholeFile(const std::filesystem::path& path);

// Also reads files without a known size, such as pipes. Meant for texts that a user names.
Result<std::string> ReadStream(const std::filesystem::path& path);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Reads the exported symbols of a shared library from its file.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

// The defined symbols of the dynamic table that other libraries can bind to, without versions, in the file's order.
// 64-bit ELF of this machine's byte order only.
Result<std::vector<std::string>> ReadExportedSymbols(const std::string& path);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The calls that IREE's generators of end-to-end tests write (tests/e2e/matmul, tests/e2e/attention, option
// --output_calls_mlir): one function for each case, whose name and description say what it computes.
#pragma once

#include <filesystem>

#include "harness/tools/import/imports.h"

namespace assay {

// Errors: the file cannot be read.
Status ImportIree(const std::filesystem::path& file, Imports& imports);

}  // namespace assay

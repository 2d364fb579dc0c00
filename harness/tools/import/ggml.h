// SPDX-License-Identifier: Apache-2.0
// The cases of ggml's test-backend-ops, as it prints them: NAME(key=value,...), with whatever stands around.
#pragma once

#include <filesystem>

#include "harness/tools/import/imports.h"

namespace assay {

// `near_types`: an operator here that takes its operands in one type alone stands for one of mixed types. Errors: the
// file cannot be read, or is no text.
Status ImportGgml(const std::filesystem::path& file, bool near_types, Imports& imports);

}  // namespace assay

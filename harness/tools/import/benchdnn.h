// SPDX-License-Identifier: Apache-2.0
// The cases of oneDNN's benchdnn: batch files, files of shapes, and what it prints after __REPRO.
#pragma once

#include <filesystem>
#include <string>

#include "harness/tools/import/imports.h"

namespace assay {

// `driver`: of files that name none and lie in no folder of a driver's name; "": such files' problems are not mapped.
// One of benchdnn's cases is here a problem with one choice of those options that change what is computed: memory
// formats and the like make no further cases. Errors: the file cannot be read, or is no text.
Status ImportBenchdnn(const std::filesystem::path& file, const std::string& driver, Imports& imports);

}  // namespace assay

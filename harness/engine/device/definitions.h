// SPDX-License-Identifier: Apache-2.0
// Operators that a user defines, in a file of data or of Python functions.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

// The definitions of a Python file as data. The file runs in the interpreter that ChoosePython names, outside of any
// sandbox and no longer than a minute. Errors: the interpreter cannot be run, or takes longer; what the file defines
// cannot be traced, with its line.
Result<std::string> TraceDefinitions(const std::filesystem::path& file, const std::string& python = "");

// The file or folder that --operators names: a path, or the word compositions for the shipped ones.
std::filesystem::path FindDefinitions(const std::string& name_or_path);

// Registers the operators of a file, .py or else data (ops/definition_file.h), or of all files .py in a folder but
// those whose name begins with _. `python`: as in TraceDefinitions.
Status AddOperatorsIn(const std::filesystem::path& file_or_folder, const std::string& python = "");

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Helpers of case files of all kinds: names, folders and tensors below a folder with manifest.json. Private to
// case_files.cc and given_files.cc.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/base/json.h"
#include "harness/tools/check/case_files.h"

namespace assay {

inline constexpr const char* kOutputFolder = "out";  // below the folder of a case

const char* GetFileEnding(TensorFiles files);
Status MakeFolder(const std::filesystem::path& path);
Status CheckEmptyFolder(const std::filesystem::path& dir);
Status WriteTensorFile(const std::filesystem::path& folder, const Operand& operand, const Tensor& tensor,
                       TensorFiles files);

// Adds "folder", and to each of "inputs" and "outputs" its "file" and, where that does not say the type, "stored_as".
void AddFileNames(Json& described, const std::string& folder, TensorFiles files);

Status WriteManifest(const std::filesystem::path& dir, const Plan& plan, Json cases, TensorFiles files);

// The first of the files in which a tensor may be; "" where there is none.
std::string TensorFileOf(const std::filesystem::path& folder, const std::string& name);

}  // namespace assay

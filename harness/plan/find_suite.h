// SPDX-License-Identifier: Apache-2.0
// Where suites lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

// The file of a suite. "smoke" and "models/llama" are names, looked up as <directory>/<name>.suite, first match wins;
// anything that ends in .suite or starts with '/' or '.' is a path. The current directory is never searched for names.
Result<std::string> FindSuite(const std::string& name_or_path, const std::vector<std::string>& directories);

// Whether a suite, by name or path, is `conformance`: its runs are strict, with golden values of the reproducible tier.
bool IsConformance(std::string_view name_or_path);

// The names that FindSuite knows in these directories, sorted.
std::vector<std::string> ListSuites(const std::vector<std::string>& directories);

}  // namespace assay

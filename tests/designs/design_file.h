// SPDX-License-Identifier: Apache-2.0
// A file of ops/designs: the line that says what it combines, and the cases of that covering design, one a line.
//   # design: triples matmul max_elements=4096 max_flops=1e5 thorough=2
// Without limits those of CoverLimits hold; `thorough` is the word of suites.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "tests/designs/cover.h"

namespace assay {

struct DesignFile {
  std::string recipe;  // "triples matmul max_elements=4096"
  const Operator* op = nullptr;
  CoverOptions options;
  std::string thorough;  // "": of all cases
};

// Errors name the file and say how its line is written.
Result<DesignFile> ReadDesignFile(const std::filesystem::path& path);

// Returns the whole text of the file.
std::string WriteDesign(const DesignFile& file, const Cover& cover);

// Returns how many combinations the design has, and those of which nobody knows whether a case can have them.
std::string SummariseDesign(const DesignFile& file, const Cover& cover);

// Names the combinations of one set that the search gave up on.
std::vector<std::string> ListNotFound(const DesignFile& file, const CoveredSet& set);

}  // namespace assay

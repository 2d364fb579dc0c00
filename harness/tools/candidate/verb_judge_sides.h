// SPDX-License-Identifier: Apache-2.0
// The two files of `assay judge`, each in workers of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/options.h"
#include "harness/plan/suite.h"

namespace assay::cli {

struct JudgeSide {
  std::filesystem::path file;
  std::vector<Device> devices;  // that can be used
  std::string problem;          // why there are none; "": there are

  std::string Version() const;  // of what computes: "CPython 3.11.2, numpy 1.24.2"
};

// Its workers see no file of `hidden`.
JudgeSide OpenSide(const std::filesystem::path& file, const std::string& name, BackendOptions options,
                   const std::vector<std::filesystem::path>& hidden);

// A file of Python and what its interpreter may have compiled of it.
std::vector<std::filesystem::path> FilesOf(const std::filesystem::path& file);

// Whether any of its devices offers to run the case.
bool Takes(const JudgeSide& side, const PlannedCase& planned);

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// The tensor files of a failure folder (failure_folder.h). Errors: a file cannot be written.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/run/case_runner.h"

namespace assay {

Status WriteOperands(const std::filesystem::path& path, const Problem& problem, const std::vector<Tensor>& inputs);
Status WriteGoldenPlanes(const std::filesystem::path& path, const Problem& problem, const Golden& golden);

struct GotFile {
  const Attempt& attempt;
  const KeptOutput& kept;
  const Problem& problem;
  std::filesystem::path path;
};
// The output; `bound`: what the error of each of its values may be (Judgement::Tolerance), 0 where it must be exact,
// infinity where nothing is promised; `rounding`: how much of that is the output's own rounding.
Status WriteGot(const GotFile& file, const Golden& golden, const BoundModel& bound);

// Of the first two files, without their headers.
uint64_t BytesOfSet(const Problem& problem, const Golden& golden);

}  // namespace assay

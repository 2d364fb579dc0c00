// SPDX-License-Identifier: Apache-2.0
// The tensor files of a failure folder (failure_folder.h). Errors: a file cannot be written.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/engine/trial/trial_runner.h"

namespace assay {

Status WriteOperands(const std::filesystem::path& path, const Problem& problem, const std::vector<Tensor>& inputs);
// Golden value of each output.
using Goldens = std::vector<const Golden*>;
using Bounds = std::vector<const BoundModel*>;
Status WriteGoldenPlanes(const std::filesystem::path& path, const Problem& problem, const Goldens& goldens);

struct GotFile {
  const Attempt& attempt;
  const KeptOutputSet& kept;
  const Problem& problem;
  std::filesystem::path path;
};
// The outputs, and of each value `bound`: what its error may be (Judgement::Tolerance), 0 where it must be exact,
// infinity where nothing is promised, and `rounding`: how much of that is the output's own rounding.
Status WriteGot(const GotFile& file, const Goldens& goldens, const Bounds& bounds);

// Size of the files of WriteOperands and WriteGoldenPlanes together, without their headers.
uint64_t BytesOfSet(const Problem& problem, const Goldens& goldens);

}  // namespace assay

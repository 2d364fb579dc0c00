// SPDX-License-Identifier: Apache-2.0
// failures/<hash of the case id>/ of a run: what is needed to look at a failure without the device that made it.
//   inputs.safetensors   the operands, by name
//   golden.safetensors   value, value_lo (reproducible tier), magnitude, sigma, error; where there are several outputs,
//                        of each: mean.value, ...
//   got-B-I.safetensors  of implementation I of backend B: the outputs, and `bound` (mean.bound, ...), the tolerance
//                        per element that its contract gives; -run2, -timed when several differ
//   *-B-I-twinN.*        the same three where the exact twin failed, whose inputs are others; -timed where the second
//                        set of a timed loop did
//   reproduce.txt        lines for a shell: the run again, and the tensors alone with assay check
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/engine/trial/trial_runner.h"

namespace assay {

// Beyond these a folder holds reproduce.txt alone, which says so.
struct FailureLimits {
  size_t cases = 50;                     // per run
  uint64_t bytes = uint64_t{256} << 20;  // of the tensors of one case
};

class FailureFolders {
 public:
  // `out`: the run's output folder; `program`: assay as a word of a shell command line.
  FailureFolders(std::filesystem::path out, std::string program, FailureLimits limits = {});

  // Writes the folder of a case with these failing attempts, beside those of earlier calls, and sets their records'
  // failure_dir. Errors: files that cannot be written; a run goes on without them.
  Status Write(const PreparedCase& data, const TrialRunner& runner, const std::vector<Attempt*>& failing);

 private:
  std::filesystem::path out_;
  std::string program_;
  FailureLimits limits_;
  struct Folder {
    std::string text;    // of reproduce.txt
    bool keeps_tensors;  // it is one of the first
  };
  std::map<std::string, Folder> folders_;  // by hash of the case id
};

}  // namespace assay

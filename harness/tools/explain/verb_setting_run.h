// SPDX-License-Identifier: Apache-2.0
// Runs one case under one setting, in processes of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/engine/device/program_group.h"
#include "harness/tools/explain/bisection.h"

namespace assay::cli {

struct CaseSetting {
  std::string name;                         // "ONEDNN_MAX_CPU_ISA=AVX2", "numpy==1.26.4", "8d3c0f1a2b4c shorter sums"
  std::vector<std::string> variables = {};  // "NAME=value"
  std::vector<std::string> words = {};      // options of `assay run`
  std::string problem = {};                 // why it cannot be tried; "": it can
  std::string folder = {};                  // of its runs; "": its name
};

// Runs `words` for at most so long. The text has the program's error output, too.
LimitedOutput RunWithErrors(double limit_s, const std::vector<std::string>& words);

// The last line that is not empty.
std::string LastLine(const std::string& text);

// Runs the case twice, into folders below `out`. `words`: the options of `assay run` that all settings share.
SettingTrial TryCase(const CaseSetting& setting, const std::vector<std::string>& words,
                     const std::filesystem::path& out);

}  // namespace assay::cli

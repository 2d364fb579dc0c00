// SPDX-License-Identifier: Apache-2.0
// Tells in what two runs differ that their results may depend on: versions, drivers, processor, options.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay {

// Properties that results may depend on, by name: "cpu", "onednn driver", "variable OMP_NUM_THREADS", "options".
using RunProperties = std::map<std::string, std::string>;

// From the text of environment.json; none where it holds no object.
RunProperties ReadRunProperties(const std::string& environment_json);

// "cpu: A -> B" for each that differs, "not set" where one run lacks it.
std::vector<std::string> ListDifferences(const RunProperties& before, const RunProperties& now);

}  // namespace assay

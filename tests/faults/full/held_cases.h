// SPDX-License-Identifier: Apache-2.0
// Cases of suites default and conformance on which the held-back part of the corpus is shown to be what it says.
#pragma once

#include <string>
#include <vector>

namespace assay {

// From small to large.
const std::vector<std::string>& HeldCasesOf(const std::string& op);

}  // namespace assay

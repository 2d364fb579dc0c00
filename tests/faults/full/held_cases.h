// SPDX-License-Identifier: Apache-2.0
// Cases of suites default and conformance on which the held-back and the fresh part of the corpus are shown to be what
// they say.
#pragma once

#include <string>
#include <vector>

namespace assay {

// From small to large.
const std::vector<std::string>& HeldCasesOf(const std::string& op);

}  // namespace assay

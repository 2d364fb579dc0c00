// SPDX-License-Identifier: Apache-2.0
// The single elements that a failing record names.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/core/model/record.h"

namespace assay {

struct WrongElements {
  std::array<std::string, 4> header;             // "element", "got", "golden", "tolerance"
  std::vector<std::array<std::string, 4>> rows;  // none: it failed by something else than single elements
};

// Only elements that are wrong: those of the exact twin that fails, else those of the case itself outside their bounds,
// the worst first.
WrongElements WrongElementsOf(const Record& record);

}  // namespace assay

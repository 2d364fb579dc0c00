// SPDX-License-Identifier: Apache-2.0
// The metamorphic channel (harness/judge/README.md#metamorphic-relations): whether an output is what another execution
// of the same implementation says that it must be. What nobody claims is a property: it is reported and fails nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay {

struct PropertyFinding {
  std::string name;  // of the relation
  bool claimed = false;
  int64_t broken = 0;  // elements
  double margin = 0;   // largest |difference| over the permitted one; 0 or infinity where none is permitted
  std::string where;   // the first broken element, and where they lie; "" when there are none

  bool Holds() const { return broken == 0; }
  bool Fails() const { return claimed && !Holds(); }
};

// One number per element of `shape`, or two for complex ones. NaN equals NaN, signed zeros are equal, tolerances may be
// infinite; none at all: values are equal. Precondition: as many values as expectations.
PropertyFinding CheckProperty(std::string name, const Shape& shape, std::span<const double> expected,
                              std::span<const double> tolerance, std::span<const double> got);

}  // namespace assay

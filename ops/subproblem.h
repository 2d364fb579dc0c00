// SPDX-License-Identifier: Apache-2.0
// Some slices of a case as a case of its own: each output element has the terms that it has in the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

struct Subproblem {
  Problem problem;
  std::vector<Tensor> inputs;
  struct Cut {
    int64_t axis = 0;              // of the output, along which slices were taken
    std::vector<int64_t> indices;  // of these slices, ascending
  };
  std::vector<Cut> cuts;  // one after the other

  Tensor TakeOutput(const Tensor& output) const;
};

// The slices that hold these output elements, and `more` others at even distances, along every axis that allows it,
// from the longest on. nullopt: the operator has no such axis, or none whose part would be below a quarter of it.
std::optional<Subproblem> TakePart(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, std::span<const int64_t> elements, int64_t more);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// A script for Python with NumPy that computes one element of an output exactly, without assay: sums, products and
// quotients in fractions, functions in 60 digits.
#pragma once

#include <optional>
#include <string>

#include "ops/operator.h"

namespace assay {

struct ScriptElement {
  size_t output = 0;
  int64_t element = 0;
  double got = 0, tolerance = 0;
};

// The script reads inputs.safetensors beside it, prints the exact value and exits with 1 where the result is further
// from it than its tolerance. nullopt: the case is not one of a formula that can be written so, as transforms,
// selections by data and complex or non-finite numbers are not. `outputs`: of the case, for their shapes.
std::optional<std::string> WriteExactScript(const Operator& op, const Problem& problem,
                                            const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                            const ScriptElement& element);

}  // namespace assay

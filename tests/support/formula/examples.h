// SPDX-License-Identifier: Apache-2.0
// Formulas that tests put through all domains.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/formula/expr.h"

namespace assay::test {

struct Example {
  std::string name;
  std::function<void(formula::Graph&, int64_t rows, int64_t n)> build;  // one output
  double center = 0;                                                    // inputs are normal around it
  bool positive = false;                                                // absolute values of them
};

const std::vector<Example>& AllExamples();
// Finds an example of AllExamples().
const Example& ExampleNamed(const std::string& name);

// Input elements as normal deviates, rounded to the type.
std::vector<std::vector<double>> ExampleInputs(const formula::Graph& graph, const Example& example, DType type,
                                               uint64_t seed);

}  // namespace assay::test

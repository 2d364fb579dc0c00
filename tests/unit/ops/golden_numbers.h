// SPDX-License-Identifier: Apache-2.0
// Golden values of operators on numbers that a reader can check: generic tests of formulas hold a definition against
// itself.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/operator_cases.h"

namespace assay {

using Numbers = std::vector<double>;

inline std::vector<Tensor> HoldOperands(const Problem& problem, const std::vector<Numbers>& values) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
    inputs.back().SetDoubles(values[k]);
  }
  return inputs;
}

inline Numbers ResultOf(const std::string& id, const std::vector<Numbers>& values, size_t output = 0) {
  const Problem problem = test::Bind(id + "/fill=normal/seed=0");
  return test::Op(problem.spec.op).ComputeGolden(problem, output, HoldOperands(problem, values), Tier::kFast).value;
}

// Inputs are rounded to f32.
inline void ExpectNear(const Numbers& got, const Numbers& expected) {
  EXPECT_THAT(got, testing::Pointwise(testing::DoubleNear(1e-6), expected));
}

}  // namespace assay

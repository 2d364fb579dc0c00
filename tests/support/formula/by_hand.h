// SPDX-License-Identifier: Apache-2.0
// A case of an operator that is written by hand, as its formula is held beside it.
#pragma once

#include "tests/support/operator_cases.h"

namespace assay::test {

// Stays where it is made: the bound points to the golden value.
struct ByHand {
  ByHand(std::string_view id, std::string_view declaration)
      : problem(Bind(id)),
        inputs(Op(problem.spec.op).MakeInputs(problem)),
        contract(Declared(declaration)),
        double_double(problem.inputs[0].dtype == DType::kF64),
        golden(
            Op(problem.spec.op).ComputeGolden(problem, 0, inputs, double_double ? Tier::kReproducible : Tier::kFast)),
        bound(Op(problem.spec.op).Bound(problem, 0, golden, contract)) {}
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  const Problem problem;
  const std::vector<Tensor> inputs;
  const Contract contract;
  const bool double_double;
  const Golden golden;
  const BoundModel bound;
};

}  // namespace assay::test

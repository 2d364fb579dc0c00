// SPDX-License-Identifier: Apache-2.0
// Shared by the generic checks: the cases that they draw, and how results are named, rounded and compared.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ops/formula_operator/cases.h"

namespace assay::test {

inline constexpr uint64_t kDrawSeed = 21;

// Cases of one list of types.
struct TypedCases {
  std::string types;
  DrawnSizes drawn;
};

// Lists of types that are computed in real numbers: integers that wrap around have tests of their own
// (tests/unit/ops/exact_integers_test.cc). An operator of integers alone has those that f32 holds.
std::vector<std::vector<DType>> RealTypes(const FormulaOperator& op);

// Drawn for exact arithmetic and executions, which go through every number one after the other.
std::vector<TypedCases> SmallCases(const FormulaOperator& op);

// One output of a case.
struct CaseOutput {
  Problem problem;
  size_t output = 0;
  DType dtype() const { return problem.outputs[output].dtype; }
  const Shape& shape() const { return problem.outputs[output].shape; }
};

// The cases that have an output, by its name.
std::map<std::string, std::vector<CaseOutput>> ByOutput(const std::vector<Problem>& cases);

std::vector<std::vector<double>> AllElements(std::span<const Tensor> inputs);
std::string NameOf(const CaseOutput& of, Algorithm schedule = Algorithm::kDirect);
bool IsDouble(const Problem& problem);  // of some operand
double RoundedToType(DType type, double x);
double LowPart(const Golden& golden, size_t i);

}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/formula/oracle/generic_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::test {

std::vector<std::vector<DType>> RealTypes(const FormulaOperator& op) {
  std::vector<std::vector<DType>> types = op.types();
  std::erase_if(types, [](const std::vector<DType>& row) { return IsInt(row.front()) && IsInt(row.back()); });
  if (!types.empty()) return types;
  types = op.types();
  std::erase_if(types, [](const std::vector<DType>& row) { return SizeOf(row.front()) > 2; });
  return types;
}

std::vector<TypedCases> SmallCases(const FormulaOperator& op) {
  std::vector<TypedCases> all;
  for (uint64_t seed = 0; seed < ASSAY_TEST_SEEDS; ++seed) {
    SizeDrawer drawer(op, {.fills = {"normal", "outlier", "lognormal"}}, kDrawSeed + seed);
    for (const std::vector<DType>& row : RealTypes(op)) all.push_back({DTypeListText(row), drawer.DrawFew({row}, 2)});
  }
  return all;
}

std::map<std::string, std::vector<CaseOutput>> ByOutput(const std::vector<Problem>& cases) {
  std::map<std::string, std::vector<CaseOutput>> all;
  for (const Problem& problem : cases) {
    for (size_t k = 0; k < problem.outputs.size(); ++k) all[problem.outputs[k].name].push_back({problem, k});
  }
  return all;
}

std::vector<std::vector<double>> AllElements(std::span<const Tensor> inputs) {
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  return elements;
}

std::string NameOf(const CaseOutput& of, Algorithm schedule) {
  const std::string name = of.problem.spec.Id() + " " + of.problem.outputs[of.output].name;
  return schedule == Algorithm::kDirect ? name : fmt::format("{} {}", name, AlgorithmName(schedule));
}

bool IsDouble(const Problem& problem) {
  return std::ranges::any_of(problem.inputs, [](const Operand& input) { return input.dtype == DType::kF64; });
}

double RoundedToType(DType type, double x) {
  return IsInt(type) ? std::nearbyint(x) : RoundTo(FormatOf(type), x);
}

double LowPart(const Golden& golden, size_t i) {
  return golden.value_lo.empty() ? 0 : golden.value_lo[i];
}

}  // namespace assay::test

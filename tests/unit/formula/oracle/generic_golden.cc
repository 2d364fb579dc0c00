// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "tests/support/formula/exact.h"
#include "tests/unit/formula/oracle/generic_cases.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

// Both so large that the output has infinity for them: golden values say no more of such numbers.
bool BothOverflow(DType type, double exact, double golden) {
  if (!IsFloat(type)) return false;
  const double held = RoundedToType(type, golden);
  return std::isinf(held) && RoundedToType(type, exact) == held;
}

void CheckGolden(const Subject& subject, const CaseOutput& of, Algorithm schedule, Findings& findings) {
  const std::vector<Tensor> inputs = subject.formula.MakeInputs(of.problem);
  const formula::Definition definition = subject.formula.DefinitionOf(of.problem, of.output, schedule);
  const auto exact = EvaluateExactly(definition.graph(), definition.graph().outputs[0], AllElements(inputs));
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = subject.judged.ComputeGolden(of.problem, of.output, inputs, tier);
    if (golden.value.size() != exact.size()) {
      findings.problems.push_back(
          fmt::format("{}: {} golden values of {}", NameOf(of, schedule), golden.value.size(), exact.size()));
      return;
    }
    for (size_t i = 0; i < exact.size(); ++i, ++findings.checked) {
      const double distance = exact[i].DistanceFrom(golden.value[i], LowPart(golden, i));
      const double error = golden.exact ? 0 : golden.error[static_cast<int64_t>(i)];  // integers alone have no plane
      const bool are_nan = std::isnan(exact[i].Rounded()) && std::isnan(golden.value[i]);
      if (distance <= error || are_nan || BothOverflow(of.dtype(), exact[i].Rounded(), golden.value[i])) continue;
      findings.problems.push_back(
          fmt::format("{} element {}: the golden value {} is {} from the exact one, more than "
                      "its error {}",
                      NameOf(of, schedule), i, golden.value[i], distance, error));
      return;
    }
  }
}

}  // namespace

Findings CheckCases(const FormulaOperator& op) {
  Findings findings;
  std::set<std::pair<std::string, std::string>> tried;
  for (const auto& [types, drawn] : SmallCases(op)) {
    findings.checked += std::ssize(drawn.cases);
    for (const RefusedValue& refused : drawn.refused) {
      if (refused.key == "dtypes" || refused.key == "fill") findings.problems.push_back(refused.why);
    }
    for (const Problem& problem : drawn.cases) {
      for (const AttrDef& attr : op.schema().attrs) {
        tried.emplace(attr.key, AttrReader(problem.spec, op.schema()).Text(attr.key));
      }
    }
  }
  for (const AttrDef& attr : op.schema().attrs) {
    for (const std::string& value : attr.choices) {
      if (tried.contains({attr.key, value})) continue;
      findings.problems.push_back(
          fmt::format("{}: the operator takes no case with {}={}", op.schema().op, attr.key, value));
    }
  }
  return findings;
}

Findings CheckGoldenValues(const Subject& subject) {
  Findings findings;
  for (const auto& [types, drawn] : SmallCases(subject.formula)) {
    for (const auto& [output, cases] : ByOutput(drawn.cases)) {
      for (const CaseOutput& of : cases) {
        for (const Algorithm schedule : subject.formula.traits().algorithms)
          CheckGolden(subject, of, schedule, findings);
      }
    }
  }
  return findings;
}

}  // namespace assay::test

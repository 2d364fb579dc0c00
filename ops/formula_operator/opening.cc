// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/opening.h"

#include "ops/formula/integers.h"
#include "ops/formula/rules.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/reach.h"

namespace assay {

std::optional<formula::Opening> FindOpening(const Operator& op, const Problem& problem, size_t output,
                                            std::span<const Tensor> inputs, const Contract& contract, Tier tier,
                                            int64_t element) {
  const auto* const formula = dynamic_cast<const FormulaOperator*>(&op);
  if (formula == nullptr) return std::nullopt;
  const formula::Definition definition = formula->DefinitionOf(problem, output, contract.alg);
  const std::vector<std::vector<double>> elements = ReadElements(inputs);
  const std::vector<DType> types = TypesOf(problem.inputs);
  const DType out = problem.outputs[output].dtype;
  if (formula::StaysInIntegers(definition.graph(), types, out)) {
    const formula::Graph limited = LimitToRegisters(definition.graph(), types, out);
    return FindOpening(limited, limited.outputs[0], elements, true, formula::GoldenRules(true), element);
  }
  const bool dd = tier == Tier::kReproducible;
  const formula::Graph& graph = definition.graph();
  return FindOpening(graph, graph.outputs[0], elements, dd, RulesFor(problem, output, contract, dd), element);
}

}  // namespace assay

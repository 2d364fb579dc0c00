// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/intermediates.h"

#include <algorithm>

#include "ops/definition_file.h"

namespace assay {

std::optional<Contract> WithNarrowIntermediates(const Operator& op, const Problem& problem, const Contract& contract) {
  const auto is_narrow = [](DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; };
  const auto narrow = std::ranges::find_if(problem.inputs, is_narrow, &Operand::dtype);
  // A mask says nothing of the type in which the numbers behind it are stored.
  const bool stores =
      narrow != problem.inputs.end() && std::ranges::any_of(problem.outputs, [&](const Operand& output) {
        return output.dtype == narrow->dtype || output.dtype == DType::kBool;
      });
  const ProblemTraits traits = op.TraitsOf(problem, 0);
  const bool is_one_function = problem.inputs.size() <= 2 && !traits.sums && FindDefinition(op.schema().op).empty();
  const bool refuses = traits.required_fields.find("mid=none") != std::string::npos;
  if (!stores || is_one_function || refuses || contract.mid != Intermediate::kNone) return std::nullopt;
  Contract weaker = contract;
  weaker.mid = narrow->dtype == DType::kBF16 ? Intermediate::kBF16 : Intermediate::kF16;
  return weaker;
}

}  // namespace assay

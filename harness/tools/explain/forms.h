// SPDX-License-Identifier: Apache-2.0
// Formulas for mistakes that no attribute or operand states: of operators that are made by hand, so that one place of
// the formula can differ, and other formulas that go by an operator's name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {

struct Form {
  std::string text;  // "query heads that read key heads in turn"; "": the operator's own formula
  std::shared_ptr<const FormulaOperator> op;
  Problem problem;
  std::vector<Tensor> inputs, got;  // in the shapes that the form has
};

// Whether an operator that is made by hand has a formula, too.
bool HasForm(std::string_view op);

// None for attributes that no form has, as heads of which some have no key head.
std::vector<Form> FormsOf(const Problem& problem, const std::vector<Tensor>& inputs, const std::vector<Tensor>& got);

// The formula of an operator that is made by hand.
std::optional<Form> OwnFormOf(const Problem& problem, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& got);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Causal masks that are off by one: the case is that of a mask which is an operand, whose queries are judged one by
// one.
#pragma once

#include <optional>
#include <vector>

#include "harness/tools/explain/case_change.h"

namespace assay {

// Adds those of causal attention without another mask.
void AddMasks(const Problem& problem, std::vector<CaseChange>& changes);
inline bool IsOfMask(const CaseChange& change) {
  return change.kind == OperandChange::kSeesOneMore || change.kind == OperandChange::kSeesOneLess;
}
// The case with such a mask behind its other operands.
std::optional<Problem> BindMasked(const Operator& op, const Problem& problem);
Tensor MakeMask(const std::vector<Tensor>& inputs, const CaseChange& change);

}  // namespace assay

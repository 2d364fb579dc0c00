// SPDX-License-Identifier: Apache-2.0
// Tables of cosines and sines, as rope reads them, of other positions or of another base: both operands are changed.
#pragma once

#include <vector>

#include "harness/tools/explain/case_change.h"

namespace assay {

// The first position is 1 more or less, and the usual bases: of operands `cos` and `sin` of positions and pairs.
void AddTables(const Problem& problem, std::vector<CaseChange>& changes);

inline bool IsOfTables(const CaseChange& change) {
  return change.kind == OperandChange::kLaterPositions || change.kind == OperandChange::kOtherBase;
}

// The operands as they are where the tables do not hold cosines and sines of multiples of an angle.
std::vector<Tensor> ChangeTables(const std::vector<Tensor>& inputs, const CaseChange& change);

}  // namespace assay

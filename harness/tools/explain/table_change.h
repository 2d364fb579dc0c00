// SPDX-License-Identifier: Apache-2.0
// Tables of cosines and sines, as rope reads them, of other positions or of another base: both operands are changed.
#pragma once

#include <string>
#include <vector>

#include "harness/tools/explain/case_change.h"

namespace assay {

// The first position is 1 more or less, the usual bases, and angles of other pairs or positions: of operands `cos` and
// `sin` of positions and pairs.
void AddTables(const Problem& problem, std::vector<CaseChange>& changes);

inline bool IsOfTables(const CaseChange& change) {
  using enum OperandChange;
  return change.kind == kLaterPositions || change.kind == kOtherBase || change.kind == kNarrowPositions ||
         change.kind == kOtherPairs || change.kind == kTablesShifted;
}

// "pair i / 2", of a change to kOtherPairs.
std::string DescribePairs(int64_t order);

// The operands as they are where the tables do not hold cosines and sines of multiples of an angle.
std::vector<Tensor> ChangeTables(const std::vector<Tensor>& inputs, const CaseChange& change);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Images that are padded by something else: the case is that of the padded image, with no padding.
#pragma once

#include <optional>
#include <vector>

#include "harness/tools/explain/case_change.h"

namespace assay {

// Adds the paddings of an operator with an attribute `pad` and images in its first operand.
void AddPaddings(const Problem& problem, std::vector<CaseChange>& changes);

// nullopt: the operator has no such case with outputs of these extents.
std::optional<Problem> BindPadded(const Operator& op, const Problem& problem, const CaseChange& change);

Tensor PadTensor(const Tensor& tensor, const CaseChange& change);

}  // namespace assay

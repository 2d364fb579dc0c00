// SPDX-License-Identifier: Apache-2.0
// The types in which an operator takes a user's tensors.
#pragma once

#include <vector>

#include "harness/tools/check/asker.h"
#include "ops/operator.h"

namespace assay {

// Whether tensors of `from` are taken where an operator has `to`, with the same values.
bool IsRelabelled(DType from, DType to);

// Binds the operator to operands in their types, or in those that they are relabelled to. The error says how to give
// operands whose types it does not take.
Result<Problem> BindTypes(const Operator& op, const CaseSpec& spec, const std::vector<Operand>& operands, Asker asker);

}  // namespace assay

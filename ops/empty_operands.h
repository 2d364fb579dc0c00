// SPDX-License-Identifier: Apache-2.0
// Problems of which an operand has an extent of 0. An output without elements has nothing to judge; one that is made of
// no terms is judged as what it is made of neutral ones.
#pragma once

#include "ops/operator.h"

namespace assay {

bool HasEmptyOperand(const Problem& problem);

// The operator that answers for this problem of `op`, which is registered: itself, unless an operand has no elements.
const Operator& OperatorFor(const Operator& op, const Problem& problem);

}  // namespace assay

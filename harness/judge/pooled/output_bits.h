// SPDX-License-Identifier: Apache-2.0
// Whether the last bits of results are there: outputs of 19 or 20 bits are within every bound of long sums, but nothing
// that adds in f32 leaves the last bits zero in all of them.
#pragma once

#include "harness/core/model/pooled_test.h"
#include "harness/judge/judge.h"

namespace assay {

// Outputs of f32 and c64, no wider than their accumulator, where S bounds the terms of the last addition.
bool HasOutputBits(const ElementJudge& judge);
// The answer is how often the last three bits are zero of results whose rounded golden value has others; by chance 1/8.
// Precondition: HasOutputBits(judge).
PooledTest OutputBitsOf(const ElementJudge& judge, const Tensor& got);

}  // namespace assay

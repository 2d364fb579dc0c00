// SPDX-License-Identifier: Apache-2.0
// How many results of a narrow type are not the nearest number to what exact arithmetic gives. A computation that is
// off by delta before it is rounded misses the nearest one in delta / spacing of its results, as the golden value may
// lie anywhere between two of them: errors of a thousandth of a rounding are counted in 100,000 results.
#pragma once

#include <span>

#include "harness/core/model/pooled_test.h"
#include "harness/judge/judge.h"
#include "harness/judge/pooled/values.h"

namespace assay {

// Outputs of f16 and bf16 that depend on many numbers: results of one or two narrow ones come again and again.
bool HasRoundings(const ElementJudge& judge);

// The answer is their share. `block` values err together; `drift` is how far they may lean, in deviations. Results of
// equal golden values are of the same numbers and count once. Precondition: HasRoundings(judge).
PooledTest RoundingsOf(std::span<const PooledValue> values, int64_t block, double drift);

}  // namespace assay

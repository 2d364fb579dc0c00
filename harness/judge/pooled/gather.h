// SPDX-License-Identifier: Apache-2.0
// Numbers of one result for the tests that pool all results of a run (harness/core/model/pooled_test.h).
#pragma once

#include <span>
#include <vector>

#include "harness/core/model/pooled_test.h"
#include "harness/judge/judge.h"
#include "harness/judge/pooled/effects.h"
#include "harness/judge/pooled/values.h"

namespace assay {

// d of a value is `got` less the rounded golden value: what its computation was off before it was rounded, in the mean,
// whatever the spacing of the output. Its deviation and systematic part are those of the bound's StatisticModel.
// Empty where that does not apply, or where outputs are not rounded to nearest. Precondition: the data are random;
// `got` is canonical.
std::vector<PooledTest> GatherPooled(const ElementJudge& judge, const Contract& contract, const Tensor& got,
                                     std::span<const Effect> effects);

// Whether the last bits of results are there: outputs of 19 or 20 bits are within every bound of long sums, but nothing
// that adds in f32 leaves the last bits zero in all of them.
//
// Outputs of f32 and c64, no wider than their accumulator, where S bounds the terms of the last addition.
bool HasOutputBits(const ElementJudge& judge);
// The answer is how often the last three bits are zero of results whose rounded golden value has others; by chance 1/8.
// Precondition: HasOutputBits(judge).
PooledTest OutputBitsOf(const ElementJudge& judge, const Tensor& got);

// How many results of a narrow type are not the nearest number to what exact arithmetic gives. A computation that is
// off by delta before it is rounded misses the nearest one in delta / spacing of its results, as the golden value may
// lie anywhere between two of them: errors of a thousandth of a rounding are counted in 100,000 results.
//
// Outputs of f16 and bf16 that depend on many numbers: results of one or two narrow ones come again and again.
bool HasRoundings(const ElementJudge& judge);

// The answer is their share. `block` values err together; `drift` is how far they may lean, in deviations. Results of
// equal golden values are of the same numbers and count once. Precondition: HasRoundings(judge).
PooledTest RoundingsOf(std::span<const PooledValue> values, int64_t block, double drift);

}  // namespace assay

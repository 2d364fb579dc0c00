// SPDX-License-Identifier: Apache-2.0
// Recognises errors of a weaker arithmetic by their distribution. Its bound alone is not enough: that of a narrow
// accumulator is wide enough for many wrong results.
#pragma once

#include <span>

#include "harness/judge/judge.h"
#include "harness/judge/metrics.h"
#include "ops/operator.h"

namespace assay {

// In all of these `judge` has the golden value and the contract of the class, `metrics` is of `got` by them.

// Errors of the size that the class permits, all over the tensor.
bool FillsEvenly(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics);

// Whether roundings of running sums explain the sizes of the errors better than what wrong factors, wrong operands or
// something added leave: errors in proportion to the results, to the terms, or equal everywhere. Each is a normal
// distribution with the scale that fits best; sums have to be 20 times as likely as any other. False where errors of a
// row are shared, or are no smaller than half the results: then sizes tell nothing.
bool FollowsRunningSums(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics);

// A narrow accumulator leaves results of its own precision in a wider output.
bool HoldsPrecision(const FloatFormat& format, const Tensor& got);

// Truncation makes results smaller: twice as many errors go toward zero as away from it.
bool IsBiased(const ElementJudge& judge, const Tensor& got);

// Whether most results are off, and by what a truncating unit loses in the mean.
bool LosesLikeUnit(const ElementJudge& judge, const Tensor& got);

// Whether errors scatter as those of a running sum of `terms` products do that are cut, `block` at a time, and lose
// between nothing and a unit each: a wrong factor, or something added, leaves less scatter, a lost term of sums of one
// sign more. True if nothing is known of the terms.
bool ScattersLikeTruncation(const ElementJudge& judge, const Tensor& got, double terms, double block);

// Whether the case is sums of products whose factors a truncating matrix unit takes: those of f32 it rounds to tf32
// first, and a sum of single elements has no factors.
bool FitsMatrixUnit(const Operator& op, const Problem& problem, size_t output, const Contract& weaker,
                    std::span<const Tensor> inputs);

// Whether errors are as cutting off the results leaves them: none goes away from zero, none is larger than an ulp, a
// good part is larger than half of one, and cutting off the golden values explains more of them than a common factor
// does.
bool RoundsTowardZero(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics);

// Every result below the smallest normal number is zero, and there are several.
bool FlushesResults(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics);

// Whether some result is wrong although the class computes it without any rounding: a sum of integers whose partial
// sums its accumulator holds. `sum` is the operator's, `contract` is of the class, `golden` of the operands as it sees
// them.
bool BreaksExactSum(const std::optional<SumForm>& sum, std::span<const Tensor> inputs, const Golden& golden,
                    const Contract& contract, const ElementJudge& judge, const Tensor& got);

}  // namespace assay

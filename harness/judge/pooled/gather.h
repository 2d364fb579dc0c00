// SPDX-License-Identifier: Apache-2.0
// JudgeInputs of one result for the tests that pool all results of a run (harness/core/model/pooled_test.h).
#pragma once

#include <span>
#include <vector>

#include "harness/core/model/pooled_test.h"
#include "harness/judge/judge.h"
#include "harness/judge/pooled/effects.h"

namespace assay {

// d of a value is `got` less the rounded golden value: what its computation was off before it was rounded, in the mean,
// whatever the spacing of the output. Its deviation and systematic part are those of the bound's StatisticModel.
// Empty where that does not apply, or where outputs are not rounded to nearest. Precondition: the data are random;
// `got` is canonical.
std::vector<PooledTest> GatherPooled(const ElementJudge& judge, const Contract& contract, const Tensor& got,
                                     std::span<const Effect> effects);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Evidence of one result for the tests that pool all results of a run (harness/model/pooled_evidence.h).
#pragma once

#include <span>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/pooled/effects.h"
#include "harness/model/pooled_evidence.h"

namespace assay {

// d of a value is `got` less the rounded golden value: what its computation was off before it was rounded, in the mean,
// whatever the spacing of the output. Its deviation and systematic part are those of the bound's StatisticModel.
// Empty where that does not apply, or where outputs are not rounded to nearest. Precondition: the data are random;
// `got` is canonical.
std::vector<PooledEvidence> GatherPooled(const ElementJudge& judge, const Contract& contract, const Tensor& got,
                                         std::span<const Effect> effects);

}  // namespace assay

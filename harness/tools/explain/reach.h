// SPDX-License-Identifier: Apache-2.0
// How much of a result another case explains: all of it, its wrong places, or nothing.
#pragma once

#include <vector>

#include "harness/tools/explain/cause.h"

namespace assay {

// Operands are copied before one of them is changed, which takes longest where single slices are computed.
void SpendOnCopies(const WrongResult& result);

// How other golden values explain one output. Sets `fit` if they do, and adds what says so to `bits`.
Reach FindReachOf(const Golden& golden, const WrongResult& result, const Problem& problem, size_t output,
                  const std::vector<Tensor>& inputs, Tensor got, const Golden* meant, ResultFit* fit, double& bits);

// Whether the changed case explains the result or some places of it, on slices around wrong elements first. Sets `fit`
// then.
Reach FindReach(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs,
                const Golden* meant = nullptr, ResultFit* fit = nullptr);

bool Holds(const WrongResult& result, const Problem& problem, const std::vector<Tensor>& inputs);

}  // namespace assay

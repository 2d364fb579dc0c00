// SPDX-License-Identifier: Apache-2.0
// An operator that no list knows: what tests, tools and `assay power` make of it follows from its definition. It has
// axes, choices and types of its own, alternative schedules, an output that is there with a flag alone, and refuses
// most of its cases. And variants of it with one mistake each, which those checks have to find.
#pragma once

#include "ops/formula/definition.h"

namespace assay::test {

// For each line of x: y = gate(x - mean) / sqrt(variance + floor) weight + shift, drift = exp(shift), and level = sum
// of x weight - largest x.
void Unlisted(formula::Definition& d);

// The mistake of an author who forgets `shift`.
void UnlistedWithoutShift(formula::Definition& d);
// The difference x - mean, which kernels distribute over factors, is said to be rounded once.
void UnlistedTooStrict(formula::Definition& d);

}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// Operands of powers.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"
#include "ops/formula/definition.h"

namespace assay {

// Makes a base (Role::kBase) or an exponent (Role::kExponent) of what a fill has written. Every fourth base may be
// below zero and has an integer beside it, odd or even. `is_special`: the fill has NaN and infinities. Then as many
// bases below zero have any exponent, and of 16 elements at most one, and of many one in a 16th of them, is a pair of
// both operands for which IEEE 754-2019 (9.2.1) has a rule of its own: -infinity, -0 or -1 with an exponent that
// decides what becomes of the sign.
struct PowersOperand {
  formula::Role role;
  bool is_special = false;
  bool is_shared = false;  // an exponent of several bases: every second one is an integer, and none of these 0
};
void MakePowers(const PowersOperand& operand, uint64_t seed, Tensor& tensor);

}  // namespace assay

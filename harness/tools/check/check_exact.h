// SPDX-License-Identifier: Apache-2.0
// Whether a user's data are such as `--exact-ulp` asks for.
#pragma once

#include "harness/tools/check/check_case.h"

namespace assay {

// Operands are multiples of one power of two each, of as many bits as the contract's accumulator holds or their own
// type has, and keep their values where the contract rounds operands; the partial sums of sums of products (matmul,
// conv, reduce of kind sum) are within the accumulator's bits. Of softmax, attention, fft and the kinds mean, prod, l2
// and logsumexp the operands alone are checked: that their functions and divisions are exact is the user's word.
// Selections (max, min, argmax, argmin) are exact on any data. A usage error names the first operand, or output, of
// which that is not so. Precondition: user.data has its golden values.
Status CheckExactData(const UserTensors& user);

}  // namespace assay

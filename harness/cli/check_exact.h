// SPDX-License-Identifier: Apache-2.0
// Whether a user's data are such as `--exact-ulp` asks for.
#pragma once

#include "harness/cli/check_case.h"

namespace assay::cli {

// Operands are multiples of one power of two each, of as many bits as the contract's accumulator holds or their own
// type has; so are, within the accumulator's, the partial sums of sums of products. A usage error names the first
// operand, or output, of which that is not so. Precondition: user.data has its golden values.
Status CheckExactData(const UserCase& user);

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// Configurations of operands that tables and ends point into: pages in another order, sequences packed otherwise.
#pragma once

#include <vector>

#include "harness/tools/align/configurations.h"

namespace assay {

// Empty where the operator has neither pages nor packed sequences. `inputs`: those of the whole case, which say where
// its sequences end.
std::vector<Configuration> ListIndirections(const Operator& op, const Problem& problem,
                                            const std::vector<Tensor>& inputs);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Softmax whose sums and functions are rows of tables.
#pragma once

#include <vector>

#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/softmax_plan.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

std::vector<Entry> SoftmaxHeldFaults();
std::vector<Entry> SoftmaxHeldLegal();

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Convolutions whose steps are rows of tables.
#pragma once

#include <vector>

#include "tests/faults/corpus/conv_kernel.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

std::vector<Entry> ConvHeldReads();   // sources, channels, taps
std::vector<Entry> ConvHeldPlaces();  // operands and outputs
std::vector<Entry> ConvHeldSums();    // terms, arithmetic, bias
std::vector<Entry> ConvHeldLegal();

}  // namespace corpus

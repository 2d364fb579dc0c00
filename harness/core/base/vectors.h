// SPDX-License-Identifier: Apache-2.0
// Selects one of the instruction sets that Highway's kernels are compiled for. Golden values, judge and fills choose
// the best of the processor; leaving the best ones out imitates a weaker processor. GCC's own clones (multiversion.h)
// are not affected.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

// Limits all kernels from now on to `best`, or to what the processor has below it. Call it before other threads run
// kernels.
Status LimitVectors(std::string_view best);
// "avx3", "avx2" or "scalar" on x86-64: the best that may be used now.
std::string VectorsInUse();

}  // namespace assay

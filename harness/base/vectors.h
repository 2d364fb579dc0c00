// SPDX-License-Identifier: Apache-2.0
// Which of the instruction sets that Highway's kernels are compiled for run. Golden values, judge and fills choose the
// best of the processor; a weaker processor can be had by leaving the best ones out. What GCC has cloned itself
// (multiversion.h) is not under this choice.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace assay {

// Limits all kernels from now on to `best`, or to what the processor has below it. Call it before other threads run
// kernels.
Status LimitVectors(std::string_view best);
// "avx3", "avx2" or "scalar" on x86-64: the best that may be used now.
std::string VectorsInUse();

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// What a case takes of the host's memory at its peak: the harness and its workers, with backends that keep their
// operands on this host. By the element of an input and the component of an output (a complex number has two), of
// `size` bytes, with what the operator says (OutputMemory); what stands in [] where golden values are reproducible, and
// only there:
//
//   judging what others computed   input 40 + 2 size, output `judgement` + 2 size [+ 24]
//   a run of what is right         input 58 + 2 size, output `run` + 6 size [+ 208], and twice as much again, up to
//                                  128 MiB: what is freed is kept, and twins are where a case is not large
//   a run of what is not           as judging, and the images of operands and the golden values of LadderGoldens
//
// A run needs the larger of its two. The numbers are of measurements of every operator at some million elements: none
// took more than this, and most more than half of it.
#pragma once

#include <cstdint>
#include <string>

#include "ops/operator.h"

namespace assay {

enum class MemoryUse : uint8_t { kRun, kJudgement };

// `tier` as in ChooseTier.
double BytesNeeded(const Problem& problem, MemoryUse use, const std::string& tier);

// What the program has in any case: nobody asks whether so much is available, which takes longer than a small case.
inline constexpr double kBytesNotAskedFor = 0x1p26;

}  // namespace assay

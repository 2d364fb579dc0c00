// SPDX-License-Identifier: Apache-2.0
// Peak memory of a case on the host: the harness and its workers, with backends that keep their operands on this host.
// The table has bytes per element of an input and per component of an output (a complex number has two), which take
// `size` bytes each. `judgement` and `run` come from the operator (OutputMemory). Numbers in [] count only if golden
// values are reproducible.
//
//   judging foreign tensors        input 40 + 2 size (2 size of ReducesInStretches), output `judgement` + 2 size [+ 24]
//   a run with right results       input 58 + 2 size, output `run` + 6 size [+ 208], and twice as much again, up to
//                                  128 MiB: what is freed is kept, and twins are where a case is not large
//   a run with wrong results       as judging, and the images of operands and the golden values of HypothesisGoldens
//
// A run needs the larger of its two. The numbers come from measurements of every operator at some million elements:
// none took more than this, and most took more than half of it.
#pragma once

#include <cstdint>
#include <string>

#include "ops/operator.h"

namespace assay {

enum class MemoryUse : uint8_t { kRun, kJudgement };

// `tier` as in ChooseTier; `sample` as in PrepareCase. Where a sample is judged, the operands of the whole case are
// there several times, as images and on a device of this host, and for timed runs in several sets; the sample is a case
// beside them.
double BytesNeeded(const Problem& problem, MemoryUse use, const std::string& tier, int64_t sample = 0);

// Timed runs hold several sets of operands: samples of larger cases are not timed.
inline constexpr double kMostTimedSampleBytes = 0x1p28;

// The program has this much anyway. Cases below it skip the query for available memory, which takes longer than they
// do.
inline constexpr double kBytesNotAskedFor = 0x1p26;

}  // namespace assay

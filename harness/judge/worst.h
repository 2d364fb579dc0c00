// SPDX-License-Identifier: Apache-2.0
// Finds single elements after the streaming pass, by looking again at the few chunks that can hold them.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/kernel/chunk.h"
#include "harness/judge/metrics.h"

namespace assay {

// Fills worst, worst_index and nonfinite_example.
void FindWorst(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
               ErrorMetrics& metrics);

// Where the failing elements lie, in words.
std::string FindFailures(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                         bool of_sample);

// "[3,4]"; of an imaginary part "[3,4] imag".
std::string PlaceText(const Shape& shape, const WorstElement& worst);

}  // namespace assay

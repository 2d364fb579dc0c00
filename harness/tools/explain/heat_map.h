// SPDX-License-Identifier: Apache-2.0
// A small picture of where an output is wrong, in characters.
#pragma once

#include <string>

#include "harness/judge/judge.h"

namespace assay {

inline constexpr int64_t kMapRows = 24, kMapColumns = 64;  // at most

// The last axis from left to right, all others from top to bottom; a character stands for the worst of its elements.
// Ends with a line that says what the characters mean. "" where nothing is wrong, or all is.
std::string HeatMap(const ElementJudge& judge, const Tensor& got);

}  // namespace assay

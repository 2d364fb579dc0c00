// SPDX-License-Identifier: Apache-2.0
// A small picture of where an output is wrong: the last axis from left to right, all others from top to bottom, each
// cell the worst of its elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace assay {

struct ErrorMap {
  std::vector<std::string> rows;          // a character of kErrorMarks for each cell; none: nothing is wrong, or all
  int64_t row_step = 1, column_step = 1;  // elements of a cell
};

// Right, off by up to kFarOff tolerances, by more, a wrong NaN or infinity.
inline constexpr std::string_view kErrorMarks = ".+#!";
inline constexpr double kFarOff = 10;

ErrorMap MapErrors(const ElementJudge& judge, const Tensor& got, int64_t most_rows, int64_t most_columns);

// The map for a terminal, with a line that says what the characters mean; "" of an empty one.
std::string ErrorMapText(const ElementJudge& judge, const Tensor& got);
// The map for a record: "2,5:..+/#.!", elements of a cell along both directions and the rows; "" of an empty one.
std::string ErrorMapField(const ElementJudge& judge, const Tensor& got);

}  // namespace assay

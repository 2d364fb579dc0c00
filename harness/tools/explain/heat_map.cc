// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/base/amounts.h"

namespace assay {
namespace {

constexpr std::string_view kMarks = ".+#!";  // ascending

size_t MarkOf(const Judgement& judged) {
  constexpr double kFar = 10;
  if (judged.accepted) return 0;
  if (!judged.finite) return 3;
  return std::fabs(judged.error) <= kFar * judged.Tolerance() ? 1 : 2;
}

// Elements for one character along an axis.
int64_t StepOf(int64_t extent, int64_t most) {
  return (extent + most - 1) / most;
}

std::string Legend(int64_t row_step, int64_t column_step) {
  const std::string cell = row_step * column_step == 1 ? "an element"
                                                       : fmt::format("the worst of {} by {}", Counted(row_step, "row"),
                                                                     Counted(column_step, "column"));
  return fmt::format("  each is {}: . right, + off by up to 10 tolerances, # by more, ! NaN or infinity\n", cell);
}

}  // namespace

std::string HeatMap(const ElementJudge& judge, const Tensor& got) {
  const std::vector<double> values = got.ToDoubles();
  const int64_t columns = got.shape().empty() ? 1 : got.shape().back();
  if (got.size() < 2 || columns == 0) return "";
  const int64_t rows = got.size() / columns, parts = std::ssize(values) / got.size();
  const int64_t row_step = StepOf(rows, kMapRows), column_step = StepOf(columns, kMapColumns);
  std::vector<std::vector<size_t>> cells(static_cast<size_t>(StepOf(rows, row_step)),
                                         std::vector<size_t>(static_cast<size_t>(StepOf(columns, column_step))));
  int64_t wrong = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t element = i / parts;
    size_t& cell =
        cells[static_cast<size_t>(element / columns / row_step)][static_cast<size_t>(element % columns / column_step)];
    const size_t mark = MarkOf(judge.Judge(i, values[static_cast<size_t>(i)]));
    wrong += mark > 0 ? 1 : 0;
    cell = std::max(cell, mark);
  }
  if (wrong == 0 || wrong == std::ssize(values)) return "";
  std::string text;
  for (const std::vector<size_t>& row : cells) {
    text += "  ";
    for (const size_t cell : row) text += kMarks[cell];
    text += '\n';
  }
  return text + Legend(row_step, column_step);
}

}  // namespace assay

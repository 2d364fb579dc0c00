// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/error_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/amounts.h"

namespace assay {
namespace {

constexpr int64_t kTerminalRows = 24, kTerminalColumns = 64, kRecordRows = 20, kRecordColumns = 40;

size_t MarkOf(const Judgement& judged) {
  if (judged.accepted) return 0;
  if (!judged.finite) return 3;
  return std::fabs(judged.error) <= kFarOff * judged.Tolerance() ? 1 : 2;
}

// Elements for one cell along an axis.
int64_t StepOf(int64_t extent, int64_t most) {
  return (extent + most - 1) / most;
}

}  // namespace

ErrorMap MapErrors(const ElementJudge& judge, const Tensor& got, int64_t most_rows, int64_t most_columns) {
  ErrorMap map;
  const int64_t columns = got.shape().empty() ? 1 : got.shape().back();
  if (got.size() < 2 || columns == 0) return map;
  const std::vector<double> values = got.ToDoubles();
  const int64_t rows = got.size() / columns, parts = std::ssize(values) / got.size();
  map.row_step = StepOf(rows, most_rows), map.column_step = StepOf(columns, most_columns);
  std::vector<std::vector<size_t>> cells(static_cast<size_t>(StepOf(rows, map.row_step)),
                                         std::vector<size_t>(static_cast<size_t>(StepOf(columns, map.column_step))));
  int64_t wrong = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t element = i / parts;
    size_t& cell = cells[static_cast<size_t>(element / columns / map.row_step)]
                        [static_cast<size_t>(element % columns / map.column_step)];
    const size_t mark = MarkOf(judge.Judge(i, values[static_cast<size_t>(i)]));
    wrong += mark > 0 ? 1 : 0;
    cell = std::max(cell, mark);
  }
  if (wrong == 0 || wrong == std::ssize(values)) return map;
  for (const std::vector<size_t>& row : cells) {
    std::string& text = map.rows.emplace_back();
    for (const size_t cell : row) text += kErrorMarks[cell];
  }
  return map;
}

std::string ErrorMapText(const ElementJudge& judge, const Tensor& got) {
  const ErrorMap map = MapErrors(judge, got, kTerminalRows, kTerminalColumns);
  if (map.rows.empty()) return "";
  const bool is_element = map.row_step * map.column_step == 1;
  const std::string cell = is_element ? "an element"
                                      : fmt::format("the worst of {} by {}", Counted(map.row_step, "row"),
                                                    Counted(map.column_step, "column"));
  return fmt::format("  {}\n  each is {}: . right, + off by up to {:g} tolerances, # by more, ! NaN or infinity\n",
                     fmt::join(map.rows, "\n  "), cell, kFarOff);
}

std::string ErrorMapField(const ElementJudge& judge, const Tensor& got) {
  const ErrorMap map = MapErrors(judge, got, kRecordRows, kRecordColumns);
  if (map.rows.empty()) return "";
  return fmt::format("{},{}:{}", map.row_step, map.column_step, fmt::join(map.rows, "/"));
}

}  // namespace assay

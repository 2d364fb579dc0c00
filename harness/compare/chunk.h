// SPDX-License-Identifier: Apache-2.0
// Judges a chunk of an output: the unit of work of the threads, and of the fixed order of summation.
#pragma once

#include <array>
#include <cstdint>

#include "harness/compare/judge_kernel.h"
#include "harness/compare/tile_reader.h"

namespace assay {

inline constexpr int64_t kJudgeChunk = 8 * kJudgeTile;

struct ChunkTotals {
  std::array<double, kJudgeSums> sum{};
  std::array<double, kJudgeMaxima> max{};
  int64_t finite = 0;
  int64_t nonfinite_mismatch = 0;
  int64_t special_inexact = 0;  // among elements that are not in the sums: not the rounded golden value

  ChunkTotals();
  explicit ChunkTotals(const JudgeLanes& lanes);
  void Add(const ChunkTotals& next);
};

// Golden values [first, end). Precondition: first is a multiple of kJudgeChunk, end - first <= kJudgeChunk.
ChunkTotals JudgeChunk(const ElementJudge& judge, TileReader& reader, int64_t first, int64_t end);

}  // namespace assay

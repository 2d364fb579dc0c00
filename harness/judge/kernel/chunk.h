// SPDX-License-Identifier: Apache-2.0
// Judges a chunk of an output: the unit of work of the threads, and of the fixed order of summation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "harness/judge/kernel/judge_kernel.h"
#include "harness/judge/kernel/tile_reader.h"
#include "harness/judge/statistic/groups.h"

namespace assay {

inline constexpr int64_t kJudgeChunk = 8 * kJudgeTile;

struct ChunkTotals {
  std::array<double, kJudgeSums> sum{};
  std::array<double, kJudgeMaxima> max{};
  int64_t finite = 0;
  int64_t nonfinite_mismatch = 0;
  int64_t special_inexact = 0;  // among elements that are not in the sums: not the rounded golden value

  ChunkTotals() { max[kMaxGot] = max[kMaxNegatedGot] = -std::numeric_limits<double>::infinity(); }
  explicit ChunkTotals(const JudgeLanes& lanes);
  void Add(const ChunkTotals& next);
};

// Golden values [first, end). Squared deviations go to `groups`, unless that is null. Precondition: first is a multiple
// of kJudgeChunk, end - first <= kJudgeChunk.
ChunkTotals JudgeChunk(const ElementJudge& judge, TileReader& reader, int64_t first, int64_t end,
                       GroupStripe* groups = nullptr);

// Elements are skipped in stretches of this length: the largest errors so far leave few of them to look at.
inline constexpr int64_t kSkipped = kJudgeTile / 8;

// Calls f(golden value index, got, judgement) for every element of a chunk, except in stretches for which skip(tile,
// count) says that they are of no interest.
template <class F, class Skip>
void ForEachInChunk(const ElementJudge& judge, TileReader& reader, int64_t chunk, const F& f, const Skip& skip) {
  const int64_t begin = chunk * kJudgeChunk;
  const int64_t end = std::min(begin + kJudgeChunk, judge.golden().size());
  for (int64_t at = begin; at < end; at += kSkipped) {
    const int64_t count = std::min(kSkipped, end - at);
    if (skip(reader.Read(at, count), count)) continue;
    for (int64_t i = 0; i < count; ++i) {
      f(at + i, reader.Got(i), judge.Judge(at + i, reader.Got(i), reader.GotLow(i)));
    }
  }
}

template <class F>
void ForEachInChunk(const ElementJudge& judge, TileReader& reader, int64_t chunk, const F& f) {
  ForEachInChunk(judge, reader, chunk, f, [](const JudgeTile&, int64_t) { return false; });
}

}  // namespace assay

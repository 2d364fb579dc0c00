// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/kernel/chunk.h"

#include <algorithm>
#include <cmath>

#include "golden/sums/lanes.h"

namespace assay {
namespace {

struct SpecialCounts {
  int64_t finite = 0, mismatch = 0, inexact = 0;
};

void CountViolation(JudgeLanes& lanes) {
  lanes.sum[kViolations][0] += 1;
  lanes.max[kMaxMargin][0] = std::numeric_limits<double>::infinity();
}

// One element by the full rules. Accepted infinities, and finite values accepted in an infinity's place, have no
// error to add.
void AddOne(const ElementJudge& judge, const TileReader& reader, const JudgeTile& tile, int64_t first, int64_t i,
            JudgeLanes& lanes, SpecialCounts& counts) {
  tile.r2[i] = 0;
  const double got = reader.Got(i);
  const Judgement judged = judge.Judge(first + i, got, reader.GotLow(i));
  // The sums would count an element that is right for other reasons than the bound's as an error.
  const bool right_anyway = judge.Open(first + i) && judged.accepted;
  const bool by_bound = judge.params().exact || judged.accepted == judged.Within() || judged.BreaksBound();
  if (judged.finite && !right_anyway && by_bound) {
    JudgeOne(tile, judge.params(), i, lanes);
    ++counts.finite;
    // A tie that was broken the wrong way is a violation, although its error is within the bound.
    if (!judge.params().exact && judged.BreaksBound() && !(judged.Beyond() > judged.allowed)) CountViolation(lanes);
    return;
  }
  if (!judged.accepted) ++counts.mismatch;
  const double rounded = judge.Rounded(first + i);
  if (got != rounded && !(std::isnan(got) && std::isnan(rounded))) ++counts.inexact;
}

bool HasOpenElement(const ElementJudge& judge, int64_t first, int64_t count) {
  if (judge.bound().also.empty()) return false;
  for (int64_t i = first; i < first + count; ++i) {
    if (judge.Open(i)) return true;
  }
  return false;
}

}  // namespace

ChunkTotals::ChunkTotals(const JudgeLanes& lanes) {
  for (int k = 0; k < kJudgeSums; ++k) sum[k] = SumLanes(lanes.sum[k].data());
  for (int k = 0; k < kJudgeMaxima; ++k) max[k] = *std::max_element(lanes.max[k].begin(), lanes.max[k].end());
}

void ChunkTotals::Add(const ChunkTotals& next) {
  for (int k = 0; k < kJudgeSums; ++k) sum[k] += next.sum[k];
  for (int k = 0; k < kJudgeMaxima; ++k) max[k] = std::max(max[k], next.max[k]);
  finite += next.finite;
  nonfinite_mismatch += next.nonfinite_mismatch;
  special_inexact += next.special_inexact;
}

ChunkTotals JudgeChunk(const ElementJudge& judge, TileReader& reader, int64_t first, int64_t end, GroupStripe* groups) {
  JudgeLanes lanes;
  SpecialCounts counts;
  for (int64_t at = first; at < end; at += kJudgeTile) {
    const int64_t count = std::min(kJudgeTile, end - at);
    const JudgeTile& tile = reader.Read(at, count);
    int64_t done = count / kJudgeLanes * kJudgeLanes;
    if (!HasOpenElement(judge, at, count) && JudgeWhole(tile, judge.params(), done, lanes)) {
      counts.finite += done;
    } else {
      done = 0;
    }
    for (int64_t i = done; i < count; ++i) AddOne(judge, reader, tile, at, i, lanes, counts);
    if (groups != nullptr) groups->Add(tile.r2, count);
  }
  ChunkTotals totals(lanes);
  totals.finite = counts.finite;
  totals.nonfinite_mismatch = counts.mismatch;
  totals.special_inexact = counts.inexact;
  return totals;
}

}  // namespace assay

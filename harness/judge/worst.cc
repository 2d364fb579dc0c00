// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/worst.h"

#include <algorithm>

#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "harness/core/data/unsigned_nan.h"
#include "harness/judge/localise.h"

namespace assay {
namespace {

// How bad: failures that have no finite margin come first.
double Badness(const Judgement& judged) {
  if (!judged.accepted && (!judged.finite || judged.Within())) return kInfinity;
  if (!judged.finite || (judged.accepted && !judged.Within())) return 0;
  return judged.Margin();
}

double Badness(const ChunkTotals& chunk) {
  return chunk.nonfinite_mismatch > 0 ? kInfinity : chunk.max[kMaxMargin];
}

// The chunks with the largest badness, ties by position: they hold the elements with the largest badness, because
// each chunk left out has at least kWorstCount elements before its own.
std::vector<int64_t> WorstChunks(const std::vector<ChunkTotals>& chunks) {
  std::vector<int64_t> order;
  for (size_t k = 0; k < chunks.size(); ++k) {
    if (Badness(chunks[k]) > 0) order.push_back(static_cast<int64_t>(k));
  }
  const auto middle = order.begin() + static_cast<int64_t>(std::min(kWorstCount, order.size()));
  std::partial_sort(order.begin(), middle, order.end(), [&](int64_t a, int64_t b) {
    const double x = Badness(chunks[static_cast<size_t>(a)]), y = Badness(chunks[static_cast<size_t>(b)]);
    return x != y ? x > y : a < b;
  });
  order.erase(middle, order.end());
  return order;
}

struct WorstCandidate {
  double badness;
  int64_t value;  // index among golden values
  double got;
  Judgement judged;
  bool operator<(const WorstCandidate& other) const {
    return badness != other.badness ? badness > other.badness : value < other.value;
  }
};

// Whether no element of the tile is worse than `least`, by the kernel's quick look. Its largest margin can miss the
// true one by a rounding.
bool IsHarmless(const ElementJudge& judge, const JudgeTile& tile, int64_t count, double least) {
  JudgeLanes lanes;
  if (judge.params().exact || count % kJudgeLanes != 0 || !JudgeWhole(tile, judge.params(), count, lanes)) return false;
  return ChunkTotals(lanes).max[kMaxMargin] * (1 + 0x1p-40) < least;
}

void KeepWorst(std::vector<WorstCandidate>& worst, const WorstCandidate& next) {
  if (worst.size() == kWorstCount && !(next < worst.back())) return;
  worst.insert(std::upper_bound(worst.begin(), worst.end(), next), next);
  if (worst.size() > kWorstCount) worst.pop_back();
}

WorstElement Describe(const ElementJudge& judge, const WorstCandidate& c) {
  const int parts = IsComplex(judge.dtype()) ? 2 : 1;
  WorstElement worst{.index = c.value / parts,
                     .component = static_cast<int>(c.value % parts),
                     .got = UnsignedNan(c.got),
                     .golden = UnsignedNan(judge.golden().value[static_cast<size_t>(c.value)]),
                     .error = UnsignedNan(c.judged.error),
                     .tolerance = c.judged.Tolerance(),
                     .margin = c.badness};
  if (const ValueWhere* decided = judge.Decided(c.value)) {
    worst.decided = decided->value;
    worst.decided_by = decided->why;
  }
  return worst;
}

// The first element of the tensor that fails by a rule of non-finite values.
void FindNonFiniteExample(const ElementJudge& judge, TileReader& reader, const std::vector<ChunkTotals>& chunks,
                          ErrorMetrics& metrics) {
  const auto chunk = std::find_if(chunks.begin(), chunks.end(), [](const auto& c) { return c.nonfinite_mismatch > 0; });
  if (chunk == chunks.end()) return;
  ForEachInChunk(judge, reader, chunk - chunks.begin(), [&](int64_t i, double got, const Judgement& judged) {
    if (metrics.nonfinite_example || judged.accepted) return;
    if (judged.BreaksBound()) return;
    metrics.nonfinite_example = Describe(judge, {kInfinity, i, got, judged});
  });
}

}  // namespace

void FindWorst(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
               ErrorMetrics& metrics) {
  const std::vector<int64_t> searched = WorstChunks(chunks);
  std::vector<std::vector<WorstCandidate>> found(searched.size());
  ParallelFor(static_cast<int64_t>(searched.size()), 1, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      std::vector<WorstCandidate>& own = found[k];
      ForEachInChunk(
          judge, reader, searched[k],
          [&](int64_t i, double value, const Judgement& judged) {
            const double badness = Badness(judged);
            if (badness > 0) KeepWorst(own, {badness, i, value, judged});
          },
          [&](const JudgeTile& tile, int64_t count) {
            return own.size() == kWorstCount && IsHarmless(judge, tile, count, own.back().badness);
          });
    }
  });
  std::vector<WorstCandidate> worst;
  for (const auto& candidates : found) {
    for (const WorstCandidate& candidate : candidates) KeepWorst(worst, candidate);
  }
  for (const WorstCandidate& candidate : worst) metrics.worst.push_back(Describe(judge, candidate));
  if (!worst.empty()) metrics.worst_index = metrics.worst[0].index;
  TileReader reader(judge, got);
  FindNonFiniteExample(judge, reader, chunks, metrics);
}

std::string FindFailures(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                         bool of_sample) {
  std::vector<int64_t> failing;
  for (size_t k = 0; k < chunks.size(); ++k) {
    if (chunks[k].sum[kViolations] > 0 || chunks[k].nonfinite_mismatch > 0) failing.push_back(static_cast<int64_t>(k));
  }
  const int parts = IsComplex(judge.dtype()) ? 2 : 1;
  std::vector<std::vector<int64_t>> found(failing.size());
  ParallelFor(static_cast<int64_t>(failing.size()), 1, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (int64_t k = begin; k < end; ++k) {
      auto& indices = found[static_cast<size_t>(k)];
      ForEachInChunk(judge, reader, failing[static_cast<size_t>(k)], [&](int64_t i, double, const Judgement& judged) {
        if (!judged.accepted) indices.push_back(i / parts);
      });
    }
  });
  FailureMap map(got.shape());
  for (const auto& indices : found) {
    for (const int64_t index : indices) map.Add(index);
  }
  return map.Text(of_sample);
}

std::string PlaceText(const Shape& shape, const WorstElement& worst) {
  return IndexText(shape, worst.index) + (worst.component == 1 ? " imag" : "");
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/metrics.h"

#include <algorithm>
#include <cmath>

#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"
#include "harness/judge/judge.h"
#include "harness/judge/kernel/chunk.h"
#include "harness/judge/worst.h"

namespace assay {
namespace {

void FillErrors(const ChunkTotals& t, ErrorMetrics& m) {
  m.max_abs_err = t.max[kMaxAbs];
  m.max_rel_err = t.max[kMaxRel];
  m.max_ulp_err = t.max[kMaxUlp];
  m.bound_margin = t.max[kMaxMargin];
  m.violations = static_cast<int64_t>(t.sum[kViolations]);
  m.nonfinite_mismatch = t.nonfinite_mismatch;
  m.bit_exact = t.sum[kInexact] == 0 && t.special_inexact == 0 && m.Holds();
  m.finite = t.finite;
  if (t.finite == 0) return;
  m.rms_err = std::sqrt(t.sum[kSumE2] / static_cast<double>(t.finite));
  const double nmse = t.sum[kSumE2] / t.sum[kSumY2];
  if (std::isfinite(nmse)) m.nmse = nmse;
}

OutputRange FillRange(const ChunkTotals& t, int64_t values) {
  OutputRange range;
  if (t.finite == 0) return range;
  range.zero_share = t.sum[kZeros] / static_cast<double>(t.finite);
  range.max = t.max[kMaxGot];
  range.min = -t.max[kMaxNegatedGot];
  range.constant = t.finite == values && values > 1 && range.min == range.max;
  return range;
}

// Judges all chunks, stripe by stripe when groups are summed.
std::vector<ChunkTotals> JudgeChunks(const ElementJudge& judge, const Tensor& got, const GroupLayout& layout,
                                     GroupSums* groups) {
  const int64_t values = judge.golden().size();
  std::vector<ChunkTotals> chunks(static_cast<size_t>((values + kJudgeChunk - 1) / kJudgeChunk));
  const int64_t grain = groups == nullptr ? kJudgeChunk : layout.stripe;
  ParallelFor(values, grain, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (int64_t at = begin; at < end; at += kJudgeChunk) {
      GroupStripe* stripe = groups == nullptr ? nullptr : &groups->stripe(at / layout.stripe);
      chunks[static_cast<size_t>(at / kJudgeChunk)] =
          JudgeChunk(judge, reader, at, std::min(at + kJudgeChunk, end), stripe);
    }
  });
  return chunks;
}

}  // namespace

ErrorMetrics Measure(const Golden& golden, const BoundModel& bound, const Contract& contract, const Tensor& got,
                     const MeasureOptions& options) {
  const int parts = IsComplex(got.dtype()) ? 2 : 1;
  const int64_t values = got.size() * parts;
  ASSAY_CHECK(values == golden.size());
  const ElementJudge judge(golden, bound, contract, got.dtype());
  const bool statistic = values > 0 && StatisticApplies(judge, options.even_if_stagnating);
  const GroupLayout layout(got.shape(), parts);
  GroupSums groups(layout, bound.statistic.shared, bound.statistic.independent_rows);
  const std::vector<ChunkTotals> chunks = JudgeChunks(judge, got, layout, statistic ? &groups : nullptr);
  ChunkTotals total;
  for (const ChunkTotals& chunk : chunks) total.Add(chunk);

  ErrorMetrics metrics;
  metrics.elements = got.size();
  metrics.complex = parts == 2;
  FillErrors(total, metrics);
  metrics.range = FillRange(total, values);
  if (options.only_if_holds && !metrics.Holds()) return metrics;
  if (statistic) metrics.statistic = JudgeStatistic(judge, got, chunks, total, &groups, options.of_sample);
  FindWorst(judge, got, chunks, metrics);
  if (!metrics.Holds()) metrics.where = FindFailures(judge, got, chunks, options.of_sample);
  return metrics;
}

}  // namespace assay

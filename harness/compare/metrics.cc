// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/base/check.h"
#include "harness/base/parallel.h"
#include "harness/compare/chunk.h"
#include "harness/compare/judge.h"
#include "harness/compare/worst.h"

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

// Rounding errors of these contracts are not those of independent roundings of a high-precision accumulator: input
// roundings repeat in every output that reads the operand, truncating units are biased (VERDICT.md 3).
bool StatisticApplies(const Golden& golden, const Contract& contract, const JudgeParams& params) {
  return !params.exact && !golden.sigma.empty() && contract.in == InputRounding::kExact &&
         contract.acc != Accumulator::kTensorCore && contract.mid == Intermediate::kNone &&
         contract.alg != Algorithm::kWinograd;
}

// The unit roundoff of an accumulator that would explain the error beyond the output's own rounding (SPEC.md 6).
std::optional<double> EffectiveBits(double mean_e2, double mean_ulp2, double mean_sigma2, double u_acc) {
  const double rounding = mean_ulp2 / 12;
  const double beyond = mean_e2 - rounding;
  // Below a tenth of the rounding's own variance the difference is noise.
  if (beyond <= 0.1 * rounding || mean_sigma2 <= 0 || u_acc <= 0) return std::nullopt;
  const double bits = -std::log2(u_acc * std::sqrt(beyond / mean_sigma2));
  return std::isfinite(bits) ? std::optional(bits) : std::nullopt;
}

StatisticSums FillStatistic(const ChunkTotals& t, const ElementJudge& judge, const Contract& contract) {
  StatisticSums s;
  s.applicable = t.finite > 0 && StatisticApplies(judge.golden(), contract, judge.params());
  if (!s.applicable) return s;
  const auto n = static_cast<double>(t.finite);
  s.sum_r2 = t.sum[kSumR2];
  s.max_r = t.max[kMaxR];
  s.sigma_acc_rms = std::sqrt(t.sum[kSumSigma2] / n);
  s.effective_bits = EffectiveBits(t.sum[kSumE2] / n, t.sum[kSumUlp2] / n, t.sum[kSumSigma2] / n, judge.params().u_acc);
  s.bias_z = t.sum[kSumBias] / std::sqrt(n);
  return s;
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

}  // namespace

ErrorMetrics Measure(const Golden& golden, const BoundModel& bound, const Contract& contract, const Tensor& got) {
  const int64_t values = got.size() * (IsComplex(got.dtype()) ? 2 : 1);
  ASSAY_CHECK(values == golden.size());
  const ElementJudge judge(golden, bound, contract, got.dtype());
  std::vector<ChunkTotals> chunks(static_cast<size_t>((values + kJudgeChunk - 1) / kJudgeChunk));
  ParallelFor(values, kJudgeChunk, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (int64_t at = begin; at < end; at += kJudgeChunk) {
      chunks[static_cast<size_t>(at / kJudgeChunk)] = JudgeChunk(judge, reader, at, std::min(at + kJudgeChunk, end));
    }
  });
  ChunkTotals total;
  for (const ChunkTotals& chunk : chunks) total.Add(chunk);

  ErrorMetrics metrics;
  metrics.elements = got.size();
  FillErrors(total, metrics);
  metrics.statistic = FillStatistic(total, judge, contract);
  metrics.range = FillRange(total, values);
  FindWorst(judge, got, chunks, metrics);
  if (!metrics.Holds()) metrics.where = FindFailures(judge, got, chunks);
  return metrics;
}

}  // namespace assay

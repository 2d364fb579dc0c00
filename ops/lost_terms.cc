// SPDX-License-Identifier: Apache-2.0
#include "ops/lost_terms.h"

#include <cstdint>

#include "golden/sums/lanes.h"
#include "harness/core/base/multiversion.h"

namespace assay {
namespace {

inline double LostOf(double y, double half_grid) {
  const double of_grid = half_grid / y, least = y < of_grid ? y : of_grid;
  return y > 0 ? least : 0;
}

ASSAY_MULTIVERSION void AddLost(const double* __restrict parts, int64_t n, double half_grid, double* __restrict lost) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      lost[lane] += LostOf(parts[i + lane], half_grid);
    }
  }
}

}  // namespace

double LostShare(std::span<const double> parts, double u) {
  const double half_grid = u * u / 2;
  const auto whole = std::ssize(parts) / kSumLanes * kSumLanes;
  double lost[kSumLanes] = {};
  AddLost(parts.data(), whole, half_grid, lost);
  for (const double y : parts.subspan(static_cast<size_t>(whole))) lost[0] += LostOf(y, half_grid);
  return SumLanes(lost);
}

void AddLostTerms(const Plane* lost, double plane_u, const Contract& contract, BoundModel& bound) {
  if (lost == nullptr || lost->empty() || contract.AccUnitRoundoff() < plane_u) return;
  bound.statistic.systematic.push_back({lost, 1});
}

}  // namespace assay

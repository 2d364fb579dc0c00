// SPDX-License-Identifier: Apache-2.0
#include "ops/lost_terms.h"

#include <algorithm>

namespace assay {

double LostShare(std::span<const double> parts, double u) {
  const double half_grid = u * u / 2;
  double lost = 0;
  for (const double y : parts) {
    if (y > 0) lost += std::min(y, half_grid / y);
  }
  return lost;
}

void AddLostTerms(const Plane* lost, double plane_u, const Contract& contract, BoundModel& bound) {
  if (lost == nullptr || lost->empty() || contract.AccUnitRoundoff() < plane_u) return;
  bound.statistic.systematic.push_back({lost, 1});
}

}  // namespace assay

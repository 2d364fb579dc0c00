// SPDX-License-Identifier: Apache-2.0
// The outliers of the statistic (harness/judge/README.md#statistic-outliers-and-where-they-cluster): how many values
// may lie beyond kOutlierLevel, in the whole tensor and in every part of it that a single cause could spoil.
// Independent errors rarely exceed either; a fault that puts its errors into one place does, long before a single value
// or a root mean square shows it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/core/data/tensor.h"
#include "harness/judge/statistic/groups.h"

namespace assay {

inline constexpr double kOutlierLevel = 5;
// The chance of a normal error to lie beyond, when the model of sigma is off by as much as it may be:
// erfc(kOutlierLevel / kModelSlack / sqrt(2)).
inline constexpr double kOutlierChance = 6.334248366623996e-05;
static_assert(kOutlierLevel == 4 * kModelSlack);

// With more outliers the whole tensor fails, and sorting them by every part would take seconds.
inline constexpr int64_t kMostScanned = 1 << 20;

// The least c with P(X > c) <= delta for X of a binomial distribution.
int64_t BinomialUpperQuantile(int64_t trials, double chance, double delta);

struct Cluster {
  int64_t count = 0, limit = 0;  // outliers, and how many there may be
  double margin = 0;             // their quotient; above 1 fails
  std::string where;             // "the 16 x 16 tile at [48,0]"; "the whole tensor"
};

// The part with the largest margin among the whole tensor, rows, columns, slabs, aligned tiles of 16, 32 and 64, the
// last row and column, what lies beyond the last whole tile of 16 and 64, and every 16th column from the same one. All
// of them together alarm on one tensor of independent errors with a chance of at most kGroupDelta. `outliers`: their
// values (two per complex element), ascending.
Cluster WorstCluster(const Shape& shape, int parts, std::span<const int64_t> outliers);

// The whole tensor alone, for which their number is enough.
Cluster WholeCluster(const Shape& shape, int parts, int64_t outliers);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Decides in which of many runs times changed. The unit is a run: what the machine did during a run moves all of its
// rounds. Each place between two runs is a hypothesis of the comparison's rank-sum test (Mann and Whitney) between the
// runs before and those from it on; the smallest p counts times the number of places (Bonferroni). Where nothing has
// changed, at most 1 % of histories report any SLOWER, and as many any FASTER (Benjamini and Hochberg over all series,
// as for two runs). A series in which a change was found is searched again on both sides of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/core/model/run_comparison.h"

namespace assay {

struct ChangePoint {
  size_t series = 0, first = 0;  // the series, and its value with which the change begins
  TimeComparison time;           // SLOWER or FASTER; its rounds are the values before and from there on
};

// `series`: of each the median seconds of its runs, positive, in their order.
std::vector<ChangePoint> FindChangePoints(std::span<const std::vector<double>> series, double minimum_effect);

// Runs without which no change can be told from chance among `series` series, wherever in them it lies.
size_t CountRunsNeeded(size_t series);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Work that a search for causes may do. It is counted, not timed, so that the same data have the same causes on a slow
// machine or a busy one.
#pragma once

#include "ops/formula/faults.h"
#include "ops/operator.h"

namespace assay {

class SearchWork {
 public:
  // A second is what one core of a usual machine does in it.
  explicit SearchWork(double seconds) : most_(seconds) {}

  void Spend(double seconds) { spent_ += seconds; }
  bool IsOver() const { return spent_ > most_; }
  double spent() const { return spent_; }
  double Left() const { return most_ - spent_; }
  double Most() const { return most_; }

 private:
  double most_, spent_ = 0;
};

// Seconds that one core of a usual machine takes to compute golden values and bounds of an output, and to judge a
// result by them.
double EstimateSecondsOfJudging(const Operator& op, const Problem& problem, size_t output);
// Likewise of one lane of a formula in doubles: what is made once for a graph, and what each lane takes.
double EstimateSecondsOfGraph(const formula::LaneEvaluator& evaluator);
double EstimateSecondsOfLane(const formula::LaneEvaluator& evaluator);
// Likewise to list so many changes of a graph (ListGraphChanges), each of which makes it anew.
double EstimateSecondsOfListing(const formula::Graph& graph, size_t changes);

}  // namespace assay

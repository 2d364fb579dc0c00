// SPDX-License-Identifier: Apache-2.0
// A quick look at a few wrong elements, before a formula is held against the whole result.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "harness/tools/explain/cause.h"
#include "harness/tools/explain/wrong_places.h"
#include "ops/formula/faults.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {

// Whether a formula is much nearer to a few wrong elements than the golden value, in doubles: most are not, and need
// no bound to tell so.
class NearElements {
 public:
  // `closely`: of so many formulas that some come near by chance.
  explicit NearElements(const WrongResult& result, bool closely = false)
      : work_(result.work),
        inputs_(ReadElements(result.inputs)),
        share_(closely || result.problem.flops > kMany ? kShareOfMany : kShare) {
    const Tensor& got = result.got[result.output];
    if (IsComplex(got.dtype())) return;
    for (const int64_t element : std::span(result.elements).first(std::min<size_t>(kMost, result.elements.size()))) {
      double value = 0;
      got.Read(element, {&value, 1});
      const double error = std::fabs(value - result.golden.value[static_cast<size_t>(element)]);
      const double tolerance = result.places == nullptr ? 0 : result.places->judge().Judge(element, value).Tolerance();
      elements_.push_back({element, value, std::max(share_ * error, kTolerances * tolerance)});
    }
  }

  bool MayBeOf(const formula::Graph& graph) const {
    formula::LaneEvaluator evaluator(graph, graph.outputs[0], inputs_);
    if (work_ != nullptr) work_->Spend(EstimateSecondsOfGraph(evaluator));
    return std::ranges::all_of(elements_, [&](const Element& wrong) {
      if (work_ != nullptr) work_->Spend(EstimateSecondsOfLane(evaluator));
      const int64_t lane = evaluator.LaneOf(wrong.element);
      const std::vector<int64_t> in_lane = evaluator.Elements(lane);
      const std::span<const double> values = evaluator.Run(lane, {});
      const auto at = static_cast<size_t>(std::ranges::find(in_lane, wrong.element) - in_lane.begin());
      return !std::isfinite(wrong.got) || std::fabs(values[at] - wrong.got) <= wrong.left;
    });
  }

 private:
  static constexpr size_t kMost = 3;
  // Shares of the error that may be left; a case of kMany operations takes a second to be computed as a whole.
  static constexpr double kShare = 0.5, kShareOfMany = 1.0 / 64, kMany = 1e8;
  // Tolerances that may be left at least: those of the changed formula may be wider than of the one that was meant.
  static constexpr double kTolerances = 4;
  struct Element {
    int64_t element;
    double got, left;
  };
  SearchWork* const work_;
  std::vector<std::vector<double>> inputs_;
  double share_;
  std::vector<Element> elements_;
};

}  // namespace assay

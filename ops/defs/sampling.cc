// SPDX-License-Identifier: Apache-2.0
// Which tokens a sampler may draw: the nucleus of Holtzman et al. (arXiv:1904.09751), and those of a least share of the
// greatest probability (Nguyen et al., arXiv:2407.01082). Where roundings decide, both answers are right.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void MinPMask(Definition& d) {
  d.SetDoc("mask = whether p is at least min_p times the greatest p of its row, p = softmax(logits)");
  const Axis rows = d.Axis("rows", "rows of logits"), n = d.Axis("n", "tokens");
  const double least = d.Real("min_p", "0.1", "share of the greatest probability");
  d.RefuseIf(!(least >= 0 && least <= 1), "min_p must be 0 to 1");
  // The sum of a softmax cancels, but for the roundings of divisions, which any divisor has.
  const Expr p = Exp(-BelowMax(d.In("logits", rows + n), n)) / 3.0;
  d.Out("mask", LessEqual(least * MaxOrLowest(p, n), p), rows + n);
  d.SetTypes({"f32-bool", "bf16-bool", "f16-bool", "f64-bool"});
}

void TopPMask(Definition& d) {
  d.SetDoc(
      "mask = whether the sum of the greater p of its row, and of equal ones before it, is less than top_p: the fewest "
      "tokens, the likeliest first, that have top_p together, p = softmax(logits)");
  const Axis rows = d.Axis("rows", "rows of logits"), n = d.Axis("n", "tokens");
  const Axis ranks = d.FixedAxis("n*1", n.extent);
  const double most = d.Real("top_p", "0.9", "probability that the tokens have together");
  d.RefuseIf(!(most > 0), "top_p must be above 0");
  const Selection sorted = TopK(d.In("logits", rows + n), n, ranks, {});
  const Expr weights = Exp(-BelowMax(sorted.values, ranks)), sums = CumSum(weights, ranks);
  const Expr before = At(sums, ranks, ranks, [](int64_t rank) { return rank - 1; }) / Sum(weights, ranks);
  const Expr count = Sum(Less(before, Const(*sums.graph, most)), ranks);
  const Expr rank = TopKPlaces(sorted.places, ranks, n, {.smallest = true});
  d.Out("mask", Less(rank, count), rows + n);
  d.SetTypes({"f32-bool", "bf16-bool", "f16-bool", "f64-bool"});
}

ASSAY_OPERATOR(min_p_mask, MinPMask);
ASSAY_OPERATOR(top_p_mask, TopPMask);

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/label_forms.h"

namespace assay {
namespace {
namespace labelled {

using namespace formula;  // NOLINT: formulas read better without

void DefineCrossEntropy(Definition& d, const LabelAttrs& attrs, LabelMistake mistake) {
  const Axis rows = d.Axis("rows", "rows of logits", 1), n = d.Axis("n", "classes", 2);
  const Expr logits = d.In("logits", rows + n), labels = d.InPlaces("labels", rows, n);
  const Expr below = Max(logits, n) - logits, log = Log(Sum(Exp(-below), n)), at_label = Gather(below, n, labels);
  const Expr others = (Sum(below, n) - at_label) / static_cast<double>(n.extent - 1);
  const bool of_others = mistake == LabelMistake::kSpreadsOverOthers;
  const Expr spread = attrs.smoothing * (log + (of_others ? others : Mean(below, n)));
  const Expr counts = NotEqual(labels, Const(*logits.graph, static_cast<double>(attrs.ignore)));
  const auto kept = [&](const Expr& x) { return attrs.ignore < 0 ? x : Select(counts, x, Const(*logits.graph, 0)); };
  const Expr own = (1 - attrs.smoothing) * (log + at_label);
  const Expr loss = of_others ? kept(own + spread) : kept(own) + spread;
  if (attrs.reduction == "none") return d.Out("loss", loss, Axes(rows));
  const Expr sum = Sum(loss, rows);
  d.Out("loss", attrs.reduction == "mean" ? sum / Sum(counts, rows) : sum, Axes());
}

}  // namespace labelled
}  // namespace

formula::Definition::Author WriteCrossEntropy(const LabelAttrs& attrs, LabelMistake mistake) {
  return [attrs, mistake](formula::Definition& d) { labelled::DefineCrossEntropy(d, attrs, mistake); };
}

}  // namespace assay

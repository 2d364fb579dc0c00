// SPDX-License-Identifier: Apache-2.0
// Losses of training and gradients of them: rows of a table, which compare x with a target element by element, and
// those of log_softmax and cross entropy.
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

struct Loss {
  const char *name, *doc;
  Role target;
  Expr (*formula)(Expr x, Expr target);
};

constexpr Loss kLosses[] = {
    {"kl_div",
     "loss = target (log(target) - x), 0 where target is 0; x are logarithms. Their sum over the rows, or each",
     Role::kPositive,
     [](Expr x, Expr target) {
       const Expr zero = Const(*x.graph, 0);
       return Select(Equal(target, zero), zero, target * Log(target)) - target * x;
     }},
    {"mse", "loss = (x - target)^2, the mean of all, their sum, or each", Role::kData,
     [](Expr x, Expr target) {
       const Expr distance = Strict(x - target);
       return distance * distance;
     }},
};

void StateLoss(const Loss& row, Definition& d) {
  d.SetDoc(row.doc);
  const Axis rows = d.Axis("rows", "rows of x", 1), n = d.Axis("n", "elements of a row", 1);
  const std::string reduction = d.Choice("reduction", {"mean", "batchmean", "sum", "none"},
                                         "the mean of all losses, their sum over rows, their sum, or each loss");
  const Expr x = d.In("x", rows + n), target = d.In("target", rows + n, row.target);
  const Expr loss = row.formula(x, target);
  if (reduction == "none") return d.Out("loss", loss, rows + n);
  const Expr sum = Sum(loss, rows + n);
  const auto count = static_cast<double>(rows.extent * (reduction == "mean" ? n.extent : 1));
  d.Out("loss", reduction == "sum" ? sum : sum / count, Axes());
}

void LogSoftmaxBackward(Definition& d) {
  d.SetDoc("dx = dy - exp(y) times the sum of dy, the sum of each row; y are logarithms of probabilities");
  const Axis rows = d.Axis("rows", "rows"), n = d.Axis("n", "elements of a row");
  const Expr y = d.In("y", rows + n), dy = d.In("dy", rows + n);
  d.Out("dx", dy - Exp(y) * Sum(dy, n), rows + n);
}

// Logits [rows,n] with a label for each row, and what of them the loss and its gradient share.
struct Labelled {
  explicit Labelled(Definition& d)
      : rows(d.Axis("rows", "rows of logits", 1)),
        n(d.Axis("n", "classes", 2)),
        smoothing(d.Real("smoothing", "0", "how much of a label is spread over all classes")),
        ignore(d.Integer("ignore", "-1", "a class whose rows do not count; negative: all rows count")),
        reduction(
            d.Choice("reduction", {"mean", "sum", "none"}, "the mean of the rows that count, their sum, or each")),
        logits(d.In("logits", rows + n)),
        labels(d.InPlaces("labels", rows, n)),
        below(BelowMax(logits, n)),
        total(RescaledSum(Exp(-below), n)) {
    d.RefuseIf(smoothing < 0 || smoothing > 1, "smoothing must be between 0 and 1: it is a share of the label");
  }
  Expr Zero() const { return Const(*logits.graph, 0); }
  Expr Counts() const { return NotEqual(labels, Const(*logits.graph, static_cast<double>(ignore))); }
  Expr OfRowsThatCount(Expr x) const { return ignore < 0 ? x : Select(Counts(), x, Zero()); }
  Expr DividedByCount(Expr x) const { return x / Sum(Counts(), rows); }

  Axis rows, n;
  double smoothing;
  int64_t ignore;
  std::string reduction;
  Expr logits, labels, below, total;
};

const char* const kLabelTypes[] = {"f32-i64", "bf16-i64", "f16-i64", "f64-i64", "f32-i32"};

void CrossEntropy(Definition& d) {
  d.SetDoc(
      "loss = log(sum of exp(logits)) - (1 - smoothing) logits[label] - smoothing times the mean of logits, of each "
      "row; the mean of the rows whose label is not ignored, their sum, or each");
  const Labelled of(d);
  const Expr at_label = Gather(of.below, of.n, of.labels);
  const Expr spread =
      of.smoothing == 0 ? at_label : (1 - of.smoothing) * at_label + of.smoothing * Mean(of.below, of.n);
  const Expr loss = of.OfRowsThatCount(Max0(Log(of.total)) + spread);
  const bool each = of.reduction == "none";
  const Expr sum = each ? loss : Sum(loss, of.rows);
  d.Out("loss", of.reduction == "mean" ? of.DividedByCount(sum) : sum, each ? Axes(of.rows) : Axes());
  std::vector<std::string> types = {"bf16-i64-f32"};
  for (const std::string list : kLabelTypes) types.push_back(list + "-" + list.substr(0, list.find('-')));
  d.SetTypes(types);
}

void CrossEntropyBackward(Definition& d) {
  d.SetDoc(
      "dlogits = dy (softmax(logits) - (1 - smoothing) at the label - smoothing / n), over the number of rows that "
      "count with reduction=mean; 0 in rows whose label is ignored");
  const Labelled of(d);
  const bool each = of.reduction == "none";
  const Expr dy = d.In("dy", each ? Axes(of.rows) : Axes(), Role::kWeight);
  const Expr is_label = Equal(Index(*dy.graph, of.n), of.labels);
  const Expr target =
      of.smoothing == 0 ? is_label : (1 - of.smoothing) * is_label + of.smoothing / static_cast<double>(of.n.extent);
  const Expr of_row = dy * (Exp(-of.below) / of.total - target);
  const Expr divided = of.reduction == "mean" ? of.DividedByCount(of_row) : of_row;
  d.Out("dlogits", of.OfRowsThatCount(divided), of.rows + of.n);
  std::vector<std::string> types;
  for (const std::string list : kLabelTypes) {
    const std::string type = list.substr(0, list.find('-'));
    types.push_back(list + "-" + type + "-" + type);
  }
  types.push_back("bf16-i64-f32-bf16");
  d.SetTypes(types);
}

ASSAY_OPERATOR(cross_entropy, CrossEntropy);
ASSAY_OPERATOR(cross_entropy_backward, CrossEntropyBackward);
ASSAY_OPERATOR(log_softmax_backward, LogSoftmaxBackward);

struct RegisterLosses {
  RegisterLosses() {
    for (const Loss& row : kLosses) RegisterFormula(row.name, [&row](Definition& d) { StateLoss(row, d); });
  }
} const registered_losses;

}  // namespace
}  // namespace assay

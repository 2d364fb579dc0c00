// SPDX-License-Identifier: Apache-2.0
// Collectives: the data of several ranks are one tensor, whose first axis is theirs. Sums over it that all of them get,
// or each a part, and all parts at each.
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// x [ranks,n].
struct Ranks {
  explicit Ranks(Definition& d, const char* doc_of_n)
      : ranks(d.Axis("ranks", "how many there are", 1)),
        n(d.Axis("n", doc_of_n)),
        to(d.FixedAxis("ranks*1", ranks.extent)),
        one(d.FixedAxis("1", 1)) {}
  // A value along the axis `one`, at every rank.
  Expr AtEach(Expr x) const {
    return At(x, one, to, [](int64_t) { return 0; });
  }

  Axis ranks, n, to, one;
};

Expr Reduced(Definition& d, Expr x, const Axis& from) {
  const std::string how = d.Choice("reduction", {"sum", "mean"}, "of what the ranks have");
  return how == "mean" ? Mean(x, from) : Sum(x, from);
}

void AllReduce(Definition& d) {
  d.SetDoc("y[r] = the sum over ranks p of x[p], at each rank r");
  const Ranks of(d, "elements of each");
  const Axis from = d.FixedAxis("ranks", of.ranks.extent);
  const Expr x = d.In("x", of.ranks + of.n);
  d.Out("y", of.AtEach(Reduced(d, Reshape(x, of.ranks, of.one + from), from)), of.to + of.n);
}

void ReduceScatter(Definition& d) {
  d.SetDoc("y[r] = the sum over ranks p of part r of x[p]");
  const Ranks of(d, "elements of each; a multiple of ranks");
  if (d.RefuseIf(of.n.extent % of.ranks.extent != 0, "ranks must divide n: the parts are of one size")) return;
  const Axis part = d.DerivedAxis("n/ranks", of.n, 1, of.ranks.extent);
  const Expr x = d.In("x", of.ranks + of.n);
  d.Out("y", Reduced(d, Reshape(x, of.n, of.to + part), of.ranks), of.to + part);
}

void AllGather(Definition& d) {
  d.SetDoc("y[r] = x[0], x[1], ... of all ranks, at each rank r");
  const Ranks of(d, "elements of each");
  const Axis all = d.DerivedAxis("ranks*n", of.n, of.ranks.extent);
  const Expr x = d.In("x", of.ranks + of.n);
  d.Out("y", of.AtEach(Reshape(x, of.ranks + of.n, of.one + all)), of.to + all);
  d.SetTypes({"f32", "bf16", "f16", "f64", "i8", "i32", "i64"});
}

ASSAY_OPERATOR(all_gather, AllGather);
ASSAY_OPERATOR(all_reduce, AllReduce);
ASSAY_OPERATOR(reduce_scatter, ReduceScatter);

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Rope and its gradient: pairs of elements of each head, half a head apart, are turned by the position's angles (Su et
// al., arXiv 2104.09864). Sines and cosines are operands.
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// Turned one way, or back with the sines' signs changed.
void TurnPairs(Definition& d, const char* name, const char* result, bool back) {
  const Axis b = d.Axis("b", "batches"), l = d.Axis("l", "positions"), h = d.Axis("h", "heads");
  const Axis size = d.Axis("d", "elements of a head; even"), pairs = d.DerivedAxis("d/2", size, 1, 2);
  if (d.RefuseIf(size.extent % 2 != 0, "d must be even: its halves are turned together")) return;
  const int64_t half = pairs.extent;
  const Expr x = d.In(name, b + l + h + size);
  const Expr cos = d.In("cos", l + pairs, Role::kTable), sin = d.In("sin", l + pairs, Role::kTable);
  const auto pair = [half](int64_t i) { return i % half; };
  const Expr other = At(x, size, size, [half](int64_t i) { return (i + half) % (2 * half); });
  const Expr first = Less(Index(*x.graph, size), Const(*x.graph, static_cast<double>(half)));
  const Expr turned = other * At(sin, pairs, size, pair);
  const Expr added = back ? Select(first, turned, -turned) : Select(first, -turned, turned);
  d.Out(result, x * At(cos, pairs, size, pair) + added, b + l + h + size);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-f32-f32-bf16", "f16-f32-f32-f16"});
}

void Rope(Definition& d) {
  d.SetDoc("y = (x0 cos - x1 sin, x1 cos + x0 sin), x0 and x1 the halves of each head");
  TurnPairs(d, "x", "y", false);
}

void RopeBackward(Definition& d) {
  d.SetDoc("dx = (dy0 cos + dy1 sin, dy1 cos - dy0 sin), dy0 and dy1 the halves of each head");
  TurnPairs(d, "dy", "dx", true);
}

ASSAY_OPERATOR(rope, Rope);
ASSAY_OPERATOR(rope_backward, RopeBackward);

}  // namespace
}  // namespace assay

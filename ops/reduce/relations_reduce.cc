// SPDX-License-Identifier: Apache-2.0
// Relations of reduce and softmax: rows alone or elsewhere; -x and 2^k x of the kinds that are linear or even; one
// number among zeros; terms in another order; a softmax whose scores are all larger by 16.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/reduce/reduce.h"
#include "ops/relations.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

Shape Resized(Shape shape, int64_t axis, int64_t extent) {
  shape[axis] = extent;
  return shape;
}

// Slices along an axis of x.
SliceAxes Along(const Problem& problem, int64_t axis, int64_t output) {
  return {.inputs = {axis}, .output = output, .extent = problem.inputs[0].shape[axis]};
}

// Slices along the axes that the output keeps (KeptAxes), or along the reduced ones (TermAxes).
std::vector<SliceAxes> KeptAxes(const Problem& problem, const ReduceArgs& c) {
  std::vector<SliceAxes> axes;
  for (size_t i = 0; i < c.kept.size(); ++i) {
    const int64_t axis = c.kept[i];
    axes.push_back(Along(problem, axis, problem.Int("keepdims") != 0 ? axis : static_cast<int64_t>(i)));
  }
  return axes;
}
std::vector<SliceAxes> TermAxes(const Problem& problem, const ReduceArgs& c) {
  std::vector<SliceAxes> axes;
  for (const int64_t axis : c.reduced) axes.push_back(Along(problem, axis, -1));
  return axes;
}

// Whether 2^k x gives 2^k y. A product does not, and indices have no factor.
bool IsHomogeneous(ReduceKind kind) {
  return kind == ReduceKind::kSum || kind == ReduceKind::kMean || kind == ReduceKind::kL2 || kind == ReduceKind::kMax ||
         kind == ReduceKind::kMin;
}

std::vector<Relation> RelateRows(const Operator& op, const Problem& problem, const SliceAxes& axes) {
  const Shape& shape = problem.inputs[0].shape;
  const int64_t axis = axes.inputs[0];
  std::vector<Relation> all;
  if (axes.extent > 1) all.push_back(Reversed("position", Claim::kBatchInvariant, axes));
  Append(all, Prefixes(op, problem, "batch", axes, [shape, axis](int64_t count) {
           return AttrList{{"shape", ShapeText(Resized(shape, axis, count))}};
         }));
  return all;
}

// Row r keeps only its term 5 r + 1 (mod terms).
std::optional<OtherExecution> Single(const ExecutedSet& executed) {
  const ReduceArgs op(executed.problem);
  const std::vector<double> x = executed.inputs[0].ToDoubles();
  std::vector<double> kept(x.size()), y(static_cast<size_t>(op.rows));
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t at = op.OffsetOfRow(row) + op.OffsetOfTerm((5 * row + 1) % op.terms);
    if (!std::isfinite(x[at])) return std::nullopt;
    y[row] = kept[at] = x[at];
  }
  OtherExecution other{.inputs = Clones(executed.inputs)};
  other.inputs[0].SetDoubles(kept);
  Tensor rounded(executed.problem.outputs[0].dtype, executed.problem.outputs[0].shape);
  rounded.SetDoubles(y);
  other.expected = rounded.ToDoubles();
  return other;
}

// Scores that are multiples of 1/8 up to 4 stay such when 16 is added, in 8 bits and more; so do their differences.
std::optional<OtherExecution> Shifted(const ExecutedSet& executed) {
  std::vector<double> x = executed.inputs[0].ToDoubles(), shifted = x;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return std::nullopt;
    x[i] = std::nearbyint(8 * std::clamp(x[i], -4.0, 4.0)) / 8;
    shifted[i] = x[i] + 16;
  }
  OtherExecution other{.inputs = Clones(executed.inputs), .first = Clones(executed.inputs)};
  other.first[0].SetDoubles(x);
  other.inputs[0].SetDoubles(shifted);
  return other;
}

}  // namespace

std::vector<SliceAxes> ReduceSlices(const Problem& problem) {
  const ReduceArgs c(problem);
  std::vector<SliceAxes> axes = KeptAxes(problem, c);
  // The order of terms may change which of several equal ones is selected, and its index always changes.
  if (!IsArg(c.kind)) std::ranges::move(TermAxes(problem, c), std::back_inserter(axes));
  return Several(std::move(axes));
}

std::vector<int> ReduceScaledInputs(const Problem& problem) {
  return IsHomogeneous(ReduceArgs(problem).kind) ? std::vector{0} : std::vector<int>();
}

std::vector<Relation> ReduceRelations(const Operator& op, const Problem& problem) {
  const ReduceArgs c(problem);
  std::vector<Relation> all;
  if (!c.kept.empty()) all = RelateRows(op, problem, KeptAxes(problem, c)[0]);
  const bool linear = c.kind == ReduceKind::kSum || c.kind == ReduceKind::kMean;
  const bool even = c.kind == ReduceKind::kL2;
  if (linear || even) all.push_back(Negated({0}, even ? 1 : -1));
  if (c.kind == ReduceKind::kSum) all.push_back({.name = "one_hot", .claim = Claim::kCopies, .make = Single});
  const auto terms = static_cast<double>(c.terms);
  if (linear || c.kind == ReduceKind::kMax || c.kind == ReduceKind::kMin) {
    all.push_back(
        Scaled(Claim::kScalable, {.scaled = {0}, .factors = {0}, .terms = terms + 1, .gain_low = 1 / (terms + 1)}));
  }
  if (!IsArg(c.kind) && c.terms > 1) all.push_back(TermOrder(TermAxes(problem, c)));
  // May be scaled inside by what the data demand, hence no claim.
  if (even) all.push_back(Scaled(Claim::kNone, {.scaled = {0}, .factors = {0, 0}, .terms = terms + 1}));
  return all;
}

// Rows, then the elements of each, whose sum is the same in another order.
std::vector<SliceAxes> SoftmaxSlices(const Problem& problem) {
  const int64_t along = SoftmaxArgs(problem).axis;
  std::vector<SliceAxes> axes;
  for (int64_t axis = 0; axis < std::ssize(problem.inputs[0].shape); ++axis) {
    if (axis != along) axes.push_back(Along(problem, axis, axis));
  }
  axes.push_back(Along(problem, along, along));
  axes.back().alone = false;  // the sum is that of all
  return Several(std::move(axes));
}

std::vector<Relation> SoftmaxRelations(const Operator& op, const Problem& problem) {
  const SoftmaxArgs c(problem);
  const int64_t rank = std::ssize(problem.inputs[0].shape);
  std::vector<Relation> all;
  if (rank > 1) {
    const int64_t axis = c.axis == 0 ? 1 : 0;
    all = RelateRows(op, problem, Along(problem, axis, axis));
  }
  all.push_back({.name = "shift", .claim = Claim::kNone, .make = Shifted});
  return all;
}

}  // namespace assay

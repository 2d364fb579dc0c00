// SPDX-License-Identifier: Apache-2.0
#include "ops/subproblem.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <utility>

#include "ops/slices.h"

namespace assay {
namespace {

constexpr int64_t kLeastSaving = 4;

std::vector<int64_t> ChooseSlices(const Shape& shape, const SliceAxes& axes, std::span<const int64_t> elements,
                                  int64_t more) {
  const int64_t inner = NumElements(Shape(shape.begin() + axes.output + 1, shape.end()));
  std::set<int64_t> chosen;
  for (const int64_t element : elements) chosen.insert(element / inner % axes.extent);
  for (int64_t k = 0; k < more; ++k) chosen.insert(k * axes.extent / more);
  return {chosen.begin(), chosen.end()};
}

// Extents that are required attributes follow from the operands. One with a default, such as batch, stays, so that
// there is no part along its axis.
AttrList DropExtents(const OpSchema& schema, AttrList attrs) {
  std::erase_if(attrs, [&](const auto& attr) {
    const AttrDef* def = schema.Find(attr.first);
    const bool counts = def != nullptr && (def->type == AttrType::kInt || def->type == AttrType::kDims);
    return counts && def->default_value.empty();
  });
  return attrs;
}

std::optional<Problem> BindPart(const Operator& op, const Problem& problem, size_t output, const SliceAxes& axes,
                                int64_t count) {
  std::vector<Operand> operands = problem.inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (axes.inputs[i] >= 0) operands[i].shape[axes.inputs[i]] = count;
  }
  Shape shape = problem.outputs[output].shape;
  shape[axes.output] = count;
  CaseSpec spec = problem.spec;
  auto attrs = op.InferAttrs(operands, DropExtents(op.schema(), spec.attrs));
  if (!attrs) return std::nullopt;
  spec.attrs = *std::move(attrs);
  auto bound = op.Bind(spec);
  if (!bound || bound->inputs.size() != operands.size() || output >= bound->outputs.size()) return std::nullopt;
  const auto fits = [](const Operand& a, const Operand& b) { return a.shape == b.shape && a.dtype == b.dtype; };
  if (!std::ranges::equal(bound->inputs, operands, fits) || bound->outputs[output].shape != shape) return std::nullopt;
  return *std::move(bound);
}

// The part along one axis.
std::optional<Subproblem> TakeAlongOne(const Operator& op, const Problem& problem, size_t output,
                                       std::span<const Tensor> inputs, std::span<const int64_t> elements,
                                       int64_t more) {
  if (output != 0) return std::nullopt;  // slices are those of the first output
  std::vector<SliceAxes> slices = op.Slices(problem, output);
  std::ranges::stable_sort(slices, std::greater(), &SliceAxes::extent);
  for (const SliceAxes& axes : slices) {
    if (axes.output < 0 || !axes.alone || problem.outputs[output].shape[axes.output] != axes.extent) continue;
    const std::vector<int64_t> indices = ChooseSlices(problem.outputs[output].shape, axes, elements, more);
    if (std::ssize(indices) * kLeastSaving > axes.extent) continue;
    const auto has_slices = [&](size_t i) {
      return axes.inputs[i] < 0 || inputs[i].shape()[axes.inputs[i]] == axes.extent;
    };
    if (!std::ranges::all_of(std::views::iota(size_t{0}, inputs.size()), has_slices)) continue;
    std::optional<Problem> bound = BindPart(op, problem, output, axes, std::ssize(indices));
    if (!bound) continue;
    Subproblem part{*std::move(bound), {}, {{axes.output, indices}}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      part.inputs.push_back(axes.inputs[i] < 0 ? inputs[i].Clone() : TakeAlong(inputs[i], axes.inputs[i], indices));
    }
    return part;
  }
  return std::nullopt;
}

// Where the elements are in the part.
std::vector<int64_t> PlacesAfter(const Subproblem::Cut& cut, const Shape& shape, std::span<const int64_t> elements) {
  const int64_t inner = NumElements(Shape(shape.begin() + cut.axis + 1, shape.end())), extent = shape[cut.axis];
  std::vector<int64_t> places;
  for (const int64_t element : elements) {
    const int64_t outer = element / inner / extent, index = element / inner % extent;
    const int64_t slice = std::ranges::lower_bound(cut.indices, index) - cut.indices.begin();
    places.push_back((outer * std::ssize(cut.indices) + slice) * inner + element % inner);
  }
  return places;
}

}  // namespace

Tensor Subproblem::TakeOutput(const Tensor& output) const {
  Tensor part = TakeAlong(output, cuts[0].axis, cuts[0].indices);
  for (size_t i = 1; i < cuts.size(); ++i) part = TakeAlong(part, cuts[i].axis, cuts[i].indices);
  return part;
}

std::optional<Subproblem> TakePart(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, std::span<const int64_t> elements, int64_t more) {
  std::optional<Subproblem> part = TakeAlongOne(op, problem, output, inputs, elements, more);
  if (!part) return part;
  std::vector<int64_t> places = PlacesAfter(part->cuts[0], problem.outputs[output].shape, elements);
  while (auto smaller = TakeAlongOne(op, part->problem, output, part->inputs, places, more)) {
    places = PlacesAfter(smaller->cuts[0], part->problem.outputs[output].shape, places);
    smaller->cuts.insert(smaller->cuts.begin(), part->cuts.begin(), part->cuts.end());
    part = std::move(smaller);
  }
  return part;
}

}  // namespace assay

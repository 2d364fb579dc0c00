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

// Extents that are attributes follow from the operands where they are required. Others stay as they are stated, but
// for those that the operands show to have become `count`, such as batch.
std::optional<AttrList> InferPart(const Operator& op, const std::vector<Operand>& operands, const AttrList& stated,
                                  int64_t extent, int64_t count) {
  AttrList kept, defaults;
  for (const auto& attr : stated) {
    const AttrDef* def = op.schema().Find(attr.first);
    const bool counts = def != nullptr && (def->type == AttrType::kInt || def->type == AttrType::kDims);
    if (counts && def->default_value.empty()) continue;
    (counts && attr.second == std::to_string(extent) ? defaults : kept).push_back(attr);
  }
  auto inferred = op.InferAttrs(operands, kept);
  if (!inferred) return std::nullopt;
  for (const auto& [key, value] : defaults) {
    const auto shown = std::ranges::find(*inferred, key, &AttrList::value_type::first);
    if (shown != inferred->end() && shown->second == std::to_string(count)) continue;
    if (shown != inferred->end()) inferred->erase(shown);
    inferred->emplace_back(key, value);
  }
  return *std::move(inferred);
}

bool Fit(const std::vector<Operand>& a, const std::vector<Operand>& b) {
  const auto fits = [](const Operand& x, const Operand& y) { return x.shape == y.shape && x.dtype == y.dtype; };
  return std::ranges::equal(a, b, fits);
}

std::vector<Operand> WithSlices(std::vector<Operand> operands, const std::vector<int64_t>& axes, int64_t count) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0) operands[i].shape[axes[i]] = count;
  }
  return operands;
}

// The problem with `count` slices in place of `extent`. Of the outputs those are looked at whose axes the cut has.
std::optional<Problem> BindPart(const Operator& op, const Problem& problem, const SliceCut& cut, int64_t extent,
                                int64_t count) {
  const std::vector<Operand> inputs = WithSlices(problem.inputs, cut.inputs, count);
  CaseSpec spec = problem.spec;
  auto attrs = InferPart(op, inputs, spec.attrs, extent, count);
  if (!attrs) return std::nullopt;
  spec.attrs = *std::move(attrs);
  auto bound = op.Bind(spec);
  if (!bound || bound->outputs.size() != problem.outputs.size() || !Fit(bound->inputs, inputs)) return std::nullopt;
  const std::vector<Operand> outputs = WithSlices(problem.outputs, cut.outputs, count);
  for (size_t k = 0; k < cut.outputs.size(); ++k) {
    if (bound->outputs[k].shape != outputs[k].shape) return std::nullopt;
  }
  return *std::move(bound);
}

// The operands, each cut along all its axes; none is copied before it is cut.
std::vector<Tensor> CutInputs(std::span<const Tensor> inputs, std::span<const SliceCut> cuts) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::optional<Tensor> part;
    for (const SliceCut& cut : cuts) {
      if (cut.inputs[i] >= 0) part = TakeAlong(part ? *part : inputs[i], cut.inputs[i], cut.indices);
    }
    parts.push_back(part ? *std::move(part) : inputs[i].Clone());
  }
  return parts;
}

bool AllHave(const std::vector<Operand>& operands, const std::vector<int64_t>& axes, int64_t extent) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0 && operands[i].shape[axes[i]] != extent) return false;
  }
  return true;
}

// The part along one axis of the first output.
std::optional<Subproblem> TakeAlongOne(const Operator& op, const Problem& problem, size_t output,
                                       std::span<const Tensor> inputs, std::span<const int64_t> elements,
                                       int64_t more) {
  if (output != 0) return std::nullopt;
  std::vector<SliceAxes> slices = op.Slices(problem, output);
  std::ranges::stable_sort(slices, std::greater(), &SliceAxes::extent);
  for (const SliceAxes& axes : slices) {
    if (axes.output < 0 || !axes.alone) continue;
    SliceCut cut{axes.inputs, {axes.output}, {}};
    if (!AllHave(problem.outputs, cut.outputs, axes.extent) || !AllHave(problem.inputs, cut.inputs, axes.extent)) {
      continue;
    }
    cut.indices = ChooseSlices(problem.outputs[output].shape, axes, elements, more);
    if (std::ssize(cut.indices) * kLeastSaving > axes.extent) continue;
    std::optional<Problem> bound = BindPart(op, problem, cut, axes.extent, std::ssize(cut.indices));
    if (!bound) continue;
    std::vector<Tensor> parts = CutInputs(inputs, std::span(&cut, 1));
    return Subproblem{*std::move(bound), std::move(parts), {std::move(cut)}};
  }
  return std::nullopt;
}

// Where the elements are in the part.
std::vector<int64_t> PlacesAfter(const SliceCut& cut, const Shape& shape, std::span<const int64_t> elements) {
  const int64_t axis = cut.outputs[0], extent = shape[axis];
  const int64_t inner = NumElements(Shape(shape.begin() + axis + 1, shape.end()));
  std::vector<int64_t> places;
  for (const int64_t element : elements) {
    const int64_t outer = element / inner / extent, index = element / inner % extent;
    const int64_t slice = std::ranges::lower_bound(cut.indices, index) - cut.indices.begin();
    places.push_back((outer * std::ssize(cut.indices) + slice) * inner + element % inner);
  }
  return places;
}

int64_t ExtentOf(const Problem& problem, const SliceCut& cut) {
  if (!cut.outputs.empty()) return problem.outputs[0].shape[cut.outputs[0]];
  const auto cut_axis = std::ranges::find_if(cut.inputs, [](int64_t axis) { return axis >= 0; });
  return problem.inputs[static_cast<size_t>(cut_axis - cut.inputs.begin())].shape[*cut_axis];
}

// Where each output has the axes along which slices of these inputs move; empty where one of them has none.
std::vector<int64_t> AxesOfOutputs(const Operator& op, const Problem& problem, const SliceAxes& along) {
  std::vector<int64_t> axes = {along.output};
  for (size_t output = 1; output < problem.outputs.size(); ++output) {
    const std::vector<SliceAxes> others = op.Slices(problem, output);
    const auto same = std::ranges::find_if(others, [&](const SliceAxes& other) {
      return other.output >= 0 && other.alone && other.inputs == along.inputs && other.extent == along.extent;
    });
    if (same == others.end()) return {};
    axes.push_back(same->output);
  }
  return axes;
}

}  // namespace

Tensor TakeOutput(std::span<const SliceCut> cuts, const Tensor& output, size_t number) {
  Tensor part = TakeAlong(output, cuts[0].outputs[number], cuts[0].indices);
  for (size_t i = 1; i < cuts.size(); ++i) part = TakeAlong(part, cuts[i].outputs[number], cuts[i].indices);
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

std::vector<SliceableAxis> ListSliceableAxes(const Operator& op, const Problem& problem) {
  std::vector<SliceableAxis> sliceable;
  for (const SliceAxes& axes : op.Slices(problem, 0)) {
    if (axes.output < 0 || !axes.alone || axes.extent <= 2) continue;
    const SliceCut cut{axes.inputs, AxesOfOutputs(op, problem, axes), {}};
    const bool have_it = !cut.outputs.empty() && AllHave(problem.inputs, cut.inputs, axes.extent) &&
                         AllHave(problem.outputs, cut.outputs, axes.extent);
    if (have_it && BindPart(op, problem, cut, axes.extent, 2)) sliceable.push_back({cut, axes.extent});
  }
  return sliceable;
}

std::vector<int64_t> ListPartialNumbers(int64_t extent) {
  std::set<int64_t> numbers;
  for (const int64_t n : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{17}, extent / 2, extent - 1}) {
    if (0 < n && n < extent) numbers.insert(n);
  }
  return {numbers.begin(), numbers.end()};
}

std::optional<SliceableAxis> FindLastQueries(const Problem& problem) {
  const bool is_prefill = problem.spec.op == "attention" && problem.Int("causal") == 1 &&
                          problem.Text("align") == "br" && problem.Text("mask") == "none" && problem.Int("l") > 1;
  if (!is_prefill) return std::nullopt;
  return SliceableAxis{{{2, -1, -1}, {2}, {}}, problem.Int("l")};
}

std::string ChangedAttribute(const Problem& whole, const Problem& part) {
  for (const auto& [key, value] : part.spec.attrs) {
    const auto before = std::ranges::find(whole.spec.attrs, key, &AttrList::value_type::first);
    if (before == whole.spec.attrs.end() || before->second != value) return key;
  }
  return "slices";
}

std::optional<Problem> BindSlices(const Operator& op, const Problem& problem, std::span<const SliceCut> cuts) {
  std::optional<Problem> part = problem;
  for (const SliceCut& cut : cuts) {
    part = BindPart(op, *part, cut, ExtentOf(problem, cut), std::ssize(cut.indices));
    if (!part || (cut.outputs.empty() && !Fit(part->outputs, problem.outputs))) return std::nullopt;
  }
  return part;
}

std::optional<Subproblem> TakeSlices(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                     std::vector<SliceCut> cuts) {
  std::optional<Problem> part = BindSlices(op, problem, cuts);
  if (!part) return std::nullopt;
  std::vector<Tensor> parts = CutInputs(inputs, cuts);
  return Subproblem{*std::move(part), std::move(parts), std::move(cuts)};
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/padding_change.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// Elements before and behind each axis of the first operand; none where nothing is padded.
std::vector<int64_t> FindMargins(const Problem& problem) {
  const auto pad = std::ranges::find(problem.attrs, "pad", &ResolvedAttr::key);
  if (pad == problem.attrs.end() || problem.inputs.empty()) return {};
  const Shape& shape = problem.inputs[0].shape;
  std::vector<int64_t> list = pad->list;
  if (pad->type == AttrType::kInt) list.assign(2, pad->i);
  if (list.size() == 1 && shape.size() > 2) list.resize(shape.size() - 2, list[0]);
  if (list.size() + 2 != shape.size() || std::ranges::all_of(list, [](int64_t by) { return by == 0; })) return {};
  std::vector<int64_t> margins = {0, 0};
  margins.insert(margins.end(), list.begin(), list.end());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (margins[axis] >= shape[axis]) return {};  // a mirror image would have to be mirrored again
  }
  return margins;
}

Shape Widen(Shape shape, const std::vector<int64_t>& margins) {
  for (size_t axis = 0; axis < shape.size(); ++axis) shape[axis] += 2 * margins[axis];
  return shape;
}

// The place that a padded one is read from; -1: it is zero.
int64_t FindPadded(OperandChange kind, int64_t i, int64_t extent) {
  switch (kind) {
    case OperandChange::kPaddedOneSide:
      return i < 0 || i >= extent ? -1 : i;
    case OperandChange::kPaddedByMirror:
      return i < 0 ? -i : i >= extent ? 2 * extent - 2 - i : i;
    case OperandChange::kPaddedRound:
      return (i + extent) % extent;
    default:
      return std::clamp<int64_t>(i, 0, extent - 1);
  }
}

}  // namespace

void AddPaddings(const Problem& problem, std::vector<CaseChange>& changes) {
  const std::vector<int64_t> margins = FindMargins(problem);
  if (margins.empty()) return;
  using enum OperandChange;
  for (const auto kind : {kPaddedByEdge, kPaddedByMirror, kPaddedRound})
    changes.push_back({.kind = kind, .margins = margins});
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < margins.size(); ++axis) {
    if (margins[axis] > 0) axes.push_back(axis);
  }
  if (axes.size() > 1) axes.push_back(kAllAxes);
  for (const size_t axis : axes) {
    for (const int64_t by : {1, -1})
      changes.push_back({.kind = kPaddedOneSide, .axis = axis, .by = by, .margins = margins});
  }
}

std::optional<Problem> BindPadded(const Operator& op, const Problem& problem, const CaseChange& change) {
  CaseSpec spec = problem.spec;
  const Shape shape = Widen(problem.inputs[0].shape, change.margins);
  const Shape image(shape.begin() + 2, shape.end());
  std::erase_if(spec.attrs, [](const auto& attr) { return attr.first == "pad"; });
  for (auto& [key, value] : spec.attrs) {
    if (key == "i") value = ShapeText(image);
    if (image.size() == 2 && (key == "h" || key == "w")) value = std::to_string(image[key == "h" ? 0 : 1]);
  }
  const auto canonical = Canonicalise(spec, op.schema());
  if (!canonical) return std::nullopt;
  auto bound = op.Bind(*canonical);
  const auto is_alike = [](const Operand& a, const Operand& b) { return a.shape == b.shape && a.dtype == b.dtype; };
  if (!bound || bound->inputs[0].shape != shape || !std::ranges::equal(bound->outputs, problem.outputs, is_alike))
    return std::nullopt;
  return *std::move(bound);
}

Tensor PadTensor(const Tensor& tensor, const CaseChange& change) {
  const Shape shape = Widen(tensor.shape(), change.margins);
  Tensor padded(tensor.dtype(), shape);
  const Shape from = RowMajorStrides(tensor.shape()), to = RowMajorStrides(shape);
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  for (int64_t i = 0; i < padded.size(); ++i) {
    int64_t source = 0;
    for (size_t axis = 0; axis < shape.size() && source >= 0; ++axis) {
      const bool is_axis = change.axis == axis || (change.axis == kAllAxes && change.margins[axis] > 0);
      const int64_t further = change.kind == OperandChange::kPaddedOneSide && is_axis ? change.by : 0;
      const int64_t place = i / to[axis] % shape[axis] - change.margins[axis] - further;
      const int64_t at = FindPadded(change.kind, place, tensor.shape()[axis]);
      source = at < 0 ? -1 : source + at * from[axis];
    }
    std::byte* const element = padded.data() + static_cast<size_t>(i) * size;
    if (source < 0) {
      std::memset(element, 0, size);
    } else {
      std::memcpy(element, tensor.data() + static_cast<size_t>(source) * size, size);
    }
  }
  return padded;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/case_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "harness/tools/explain/forms.h"
#include "harness/tools/explain/mask_change.h"
#include "harness/tools/explain/padding_change.h"
#include "harness/tools/explain/table_change.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

const AttrDef& DefinitionOf(const Operator& op, const std::string& key) {
  return *op.schema().Find(key);
}

// Usual numbers, then factors, powers and decades of a stated real. Tiny ones are epsilons.
std::vector<double> NumbersNear(double x) {
  std::vector<double> numbers = {0, 1};
  if (x > 0 && x < 1) numbers.push_back(1 - x);  // a probability of the opposite
  if (std::fabs(x) < 0.01) numbers.insert(numbers.end(), {1e-5, 1e-6, 1e-8, 1e-12, 1e-3});
  numbers.insert(numbers.end(), {x * x, -x, 2 * x, x / 2, std::sqrt(std::fabs(x)), 1 / x});
  for (const double more : {1, -1}) numbers.push_back(1 / std::sqrt(1 / (x * x) + more));  // the root of another count
  for (const double more : {2, 4}) numbers.insert(numbers.end(), {x * std::sqrt(more), x / std::sqrt(more)});
  for (const double decade : {10.0, 100.0, 1000.0}) numbers.insert(numbers.end(), {x * decade, x / decade});
  std::erase_if(numbers, [](double number) { return !std::isfinite(number); });
  return numbers;
}

std::vector<std::string> ValuesNear(const AttrDef& attr, const ResolvedAttr& stated) {
  std::vector<std::string> values = attr.choices;
  if (!values.empty()) return values;
  if (!attr.axes_in.empty()) return {"0", "1", "2", "3"};
  switch (attr.type) {
    case AttrType::kFloat:
      for (const double number : NumbersNear(stated.f)) {
        std::string text = fmt::format("{:.15g}", number);
        if (std::ranges::find(values, text) == values.end()) values.push_back(std::move(text));
      }
      break;
    case AttrType::kInt:
      values = {"0", std::to_string(stated.i - 1), std::to_string(stated.i + 1)};
      break;
    case AttrType::kDims:
      for (const int64_t size : {0, 1, 2}) values.push_back(std::to_string(size));
      break;
    case AttrType::kAxes:
    case AttrType::kName:
      break;
  }
  return values;
}

bool HasMatrixEnd(const Shape& shape) {
  return shape.size() >= 2 && shape.back() > 1 && shape[shape.size() - 2] > 1;
}
int64_t ExtentOver(const Shape& shape, size_t axis, int64_t axes) {
  int64_t extent = 1;
  for (size_t i = axis; i < axis + static_cast<size_t>(axes); ++i) extent *= shape[i];
  return extent;
}
int64_t ExtentFrom(const Shape& shape, size_t axis) {
  return ExtentOver(shape, axis, std::ssize(shape) - static_cast<int64_t>(axis));
}

// Terms of a sum of products that may be lost or taken twice: of the last axes together, or of one.
void AddTermsOf(const Problem& problem, size_t input, std::vector<CaseChange>& changes) {
  const Shape& shape = problem.inputs[input].shape;
  const auto add = [&](size_t axis, int64_t extent, bool alone) {
    std::vector<int64_t> counts = {1, -1};
    for (const int64_t block : {4, 8, 16, 32}) {
      const int64_t rest = extent - (extent - 1) / block * block;
      if (block < extent && std::ranges::find(counts, rest) == counts.end()) counts.push_back(rest);
    }
    for (const int64_t by : counts) {
      for (const auto kind : {OperandChange::kWithout, OperandChange::kTwice})
        changes.push_back({.kind = kind, .input = input, .axis = axis, .by = by, .alone = alone});
    }
  };
  for (size_t axis = shape.size(); axis-- > 1;) {
    const int64_t extent = ExtentFrom(shape, axis);
    if (extent > 1) add(axis, extent, false);
    if (shape[axis] > 1 && shape[axis] < extent) add(axis, shape[axis], true);
  }
}

void AddChangesOf(const Problem& problem, size_t input, std::vector<CaseChange>& changes) {
  const Operand& operand = problem.inputs[input];
  const auto add = [&](OperandChange kind, size_t other = 0, size_t axis = 0, int64_t by = 0) {
    changes.push_back({.kind = kind, .input = input, .other = other, .axis = axis, .by = by});
  };
  if (HasMatrixEnd(operand.shape)) add(OperandChange::kTransposed, 0, operand.shape.size() - 2, 1);
  for (size_t other = input + 1; other < problem.inputs.size(); ++other) {
    const Operand& beside = problem.inputs[other];
    if (beside.shape == operand.shape && beside.dtype == operand.dtype) add(OperandChange::kExchanged, other);
  }
  if (IsFloat(operand.dtype)) {
    using enum OperandChange;
    for (const auto kind : {kZeros, kOnes, kNegated, kDoubled, kHalved}) add(kind);
  }
  for (size_t axis = operand.shape.size(); axis-- > 0;) {
    if (operand.shape[axis] < 2) continue;
    for (const int64_t by : {1, -1}) add(OperandChange::kShifted, 0, axis, by);
    if (operand.shape[axis] > 2 && operand.shape[axis] % 2 == 0) {
      add(OperandChange::kShifted, 0, axis, operand.shape[axis] / 2);
    }
    add(OperandChange::kReversed, 0, axis);
    if (operand.shape[axis] > 2) add(OperandChange::kNeighbours, 0, axis);
  }
  if (operand.shape.size() > 1) {
    for (const int64_t by : {1, -1}) add(OperandChange::kShifted, 0, kAllAxes, by);
  }
  if (operand.shape.size() > 2) add(OperandChange::kTurned);
}

void AddRareChangesOf(const Problem& problem, size_t input, std::vector<CaseChange>& changes) {
  const Operand& operand = problem.inputs[input];
  const Shape& shape = operand.shape;
  const auto add = [&](OperandChange kind, size_t axis = 0, int64_t by = 0) {
    changes.push_back({.kind = kind, .input = input, .axis = axis, .by = by});
  };
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 2) continue;
    add(OperandChange::kFirst, axis);
    if (shape[axis] > 2 && shape[axis] % 2 == 0)
      add(OperandChange::kInterleaved, axis), add(OperandChange::kSplit, axis);
    for (int64_t axes = 1; axis + static_cast<size_t>(axes) < shape.size(); ++axes) {
      const bool is_matrix_end = axis + 2 == shape.size();  // which is no rare one
      if (!is_matrix_end && ExtentOver(shape, axis + 1, axes) > 1) add(OperandChange::kTransposed, axis, axes);
    }
  }
  if (IsComplex(operand.dtype)) {
    add(OperandChange::kConjugated), add(OperandChange::kPartsExchanged);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (IsBitReversible(shape[axis])) add(OperandChange::kBitReversed, axis);
    }
  }
  if (operand.dtype == DType::kI64) add(OperandChange::kLow32);
  if (!IsFloat(operand.dtype)) return;
  for (const int64_t by : {0, 1}) {
    if (operand.name == "window" && shape.size() == 1 && shape[0] > 2)
      add(OperandChange::kHann, 0, by), add(OperandChange::kHamming, 0, by);
  }
  if (operand.dtype != DType::kE5M2 && operand.dtype != DType::kE4M3)
    add(OperandChange::kE4M3), add(OperandChange::kE5M2);
  add(OperandChange::kExponential), add(OperandChange::kLogarithm), add(OperandChange::kComplement);
  add(OperandChange::kInt8, kAllAxes);
  for (size_t axis = shape.size() < 2 ? shape.size() : shape.size() - 2; axis < shape.size(); ++axis) {
    if (shape[axis] > 2) add(OperandChange::kInt8, axis);
  }
}

// Copies each element `to` from the element source(to) of the tensor.
template <class Source>
Tensor Moved(const Tensor& tensor, const Source& source) {
  Tensor moved(tensor.dtype(), tensor.shape());
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  for (int64_t to = 0; to < tensor.size(); ++to) {
    std::memcpy(moved.data() + static_cast<size_t>(to) * size, tensor.data() + static_cast<size_t>(source(to)) * size,
                size);
  }
  return moved;
}

// Each element comes from place(i, extent) instead of i along the axis.
template <class Place>
Tensor MovedAlong(const Tensor& tensor, size_t axis, const Place& place) {
  const bool is_flat = axis == kAllAxes;
  const int64_t extent = is_flat ? tensor.size() : tensor.shape()[axis];
  const int64_t stride = is_flat ? 1 : RowMajorStrides(tensor.shape())[axis];
  return Moved(tensor, [&](int64_t to) {
    const int64_t i = to / stride % extent;
    return to + (place(i, extent) - i) * stride;
  });
}

Tensor Filled(const Tensor& tensor, double factor, double addend) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& value : values) value = (factor == 0 ? 0 : factor * value) + addend;
  Tensor filled(tensor.dtype(), tensor.shape());
  filled.SetDoubles(values);
  return filled;
}

// The change sees the parts of complex numbers one after the other.
template <class Change>
Tensor WithValues(const Tensor& tensor, const Change& change) {
  std::vector<double> values = tensor.ToDoubles();
  change(values);
  Tensor changed(tensor.dtype(), tensor.shape());
  changed.SetDoubles(values);
  return changed;
}

Tensor RoundedTo(const Tensor& tensor, DType format) {
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (double& value : values) value = RoundTo(FormatOf(format), value);
  });
}

// Precondition: a tensor of i64.
Tensor WithLowHalves(const Tensor& tensor) {
  Tensor changed = tensor.Clone();
  for (int64_t i = 0; i < changed.size(); ++i) {
    std::byte* const at = changed.data() + static_cast<size_t>(i) * sizeof(int64_t);
    int32_t low = 0;  // the first bytes of a little-endian integer
    std::memcpy(&low, at, sizeof low);
    const int64_t value = low;
    std::memcpy(at, &value, sizeof value);
  }
  return changed;
}

// mean - (1 - mean) cos(2 pi i / (n - by)).
Tensor WindowAs(const Tensor& tensor, double mean, int64_t by) {
  const double step = 2 * std::numbers::pi / static_cast<double>(tensor.size() - by);
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = mean - (1 - mean) * std::cos(step * static_cast<double>(i));
  });
}

Tensor InInt8(const Tensor& tensor, size_t axis) {
  const bool is_flat = axis == kAllAxes;
  const int64_t extent = is_flat ? tensor.size() : tensor.shape()[axis];
  const int64_t stride = is_flat ? 1 : RowMajorStrides(tensor.shape())[axis];
  return WithValues(tensor, [&](std::vector<double>& values) {
    for (int64_t first = 0; first < std::ssize(values); ++first) {
      if (first / stride % extent != 0) continue;
      const auto each = [&](const auto& visit) {
        for (int64_t i = 0; i < extent; ++i) visit(values[static_cast<size_t>(first + i * stride)]);
      };
      double largest = 0;
      each([&](double& value) { largest = std::max(largest, std::fabs(value)); });
      if (!(largest > 0) || !std::isfinite(largest)) continue;
      each([&](double& value) { value = std::nearbyint(value / largest * 127) * largest / 127; });
    }
  });
}

Tensor ScaledTerms(const Tensor& tensor, const CaseChange& change) {
  const int64_t inner = change.alone ? ExtentFrom(tensor.shape(), change.axis + 1) : 1;
  const int64_t extent = change.alone ? tensor.shape()[change.axis] : ExtentFrom(tensor.shape(), change.axis);
  std::vector<double> values = tensor.ToDoubles();
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t term = i / inner % extent;
    const bool is_changed = change.by > 0 ? term >= extent - change.by : term < -change.by;
    if (is_changed) values[static_cast<size_t>(i)] *= change.kind == OperandChange::kTwice ? 2 : 0;
  }
  Tensor scaled(tensor.dtype(), tensor.shape());
  scaled.SetDoubles(values);
  return scaled;
}

Tensor ChangeOperand(const Tensor& tensor, const CaseChange& change) {
  const Shape& shape = tensor.shape();
  switch (change.kind) {
    case OperandChange::kZeros:
      return Filled(tensor, 0, 0);
    case OperandChange::kOnes:
      return Filled(tensor, 0, 1);
    case OperandChange::kNegated:
      return Filled(tensor, -1, 0);
    case OperandChange::kReversed:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return extent - 1 - i; });
    case OperandChange::kShifted:
      return MovedAlong(tensor, change.axis,
                        [&](int64_t i, int64_t extent) { return (i + change.by + extent) % extent; });
    case OperandChange::kNeighbours:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return (i ^ 1) < extent ? i ^ 1 : i; });
    case OperandChange::kInterleaved:
      return MovedAlong(tensor, change.axis,
                        [](int64_t i, int64_t extent) { return 2 * (i % (extent / 2)) + i / (extent / 2); });
    case OperandChange::kSplit:
      return MovedAlong(tensor, change.axis, [](int64_t i, int64_t extent) { return i / 2 + i % 2 * (extent / 2); });
    case OperandChange::kWithout:
    case OperandChange::kTwice:
      return ScaledTerms(tensor, change);
    case OperandChange::kDoubled:
      return Filled(tensor, 2, 0);
    case OperandChange::kTurned:
      return Moved(tensor,
                   [n = shape.back() * shape[shape.size() - 2]](int64_t to) { return to - to % n + n - 1 - to % n; });
    case OperandChange::kTransposed:
      return Moved(tensor, [rows = shape[change.axis], columns = ExtentOver(shape, change.axis + 1, change.by),
                            inner = ExtentFrom(shape, change.axis + 1 + static_cast<size_t>(change.by))](int64_t to) {
        const int64_t i = to / inner % (rows * columns);
        return to + (i % columns * rows + i / columns - i) * inner;
      });
    case OperandChange::kHalved:
      return Filled(tensor, 0.5, 0);
    case OperandChange::kFirst:
      return MovedAlong(tensor, change.axis, [](int64_t, int64_t) { return int64_t{0}; });
    case OperandChange::kBitReversed:
      return MovedAlong(tensor, change.axis, ReverseBits);
    case OperandChange::kConjugated:
      return WithValues(tensor, [](std::vector<double>& values) {
        for (size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
      });
    case OperandChange::kPartsExchanged:
      return WithValues(tensor, [](std::vector<double>& values) {
        for (size_t i = 1; i < values.size(); i += 2) std::swap(values[i - 1], values[i]);
      });
    case OperandChange::kInt8:
      return InInt8(tensor, change.axis);
    case OperandChange::kE4M3:
      return RoundedTo(tensor, DType::kE4M3);
    case OperandChange::kE5M2:
      return RoundedTo(tensor, DType::kE5M2);
    case OperandChange::kLow32:
      return WithLowHalves(tensor);
    case OperandChange::kExponential:
    case OperandChange::kLogarithm:
      return WithValues(tensor, [&](std::vector<double>& values) {
        for (double& x : values) x = change.kind == OperandChange::kExponential ? std::exp(x) : std::log(x);
      });
    case OperandChange::kComplement:
      return Filled(tensor, -1, 1);
    case OperandChange::kHann:
      return WindowAs(tensor, 0.5, change.by);
    case OperandChange::kHamming:
      return WindowAs(tensor, 0.54, change.by);
    case OperandChange::kPaddedByEdge:
    case OperandChange::kPaddedByMirror:
    case OperandChange::kPaddedRound:
    case OperandChange::kPaddedOneSide:
      return PadTensor(tensor, change);
    case OperandChange::kExchanged:
    case OperandChange::kLaterPositions:
    case OperandChange::kOtherBase:
    case OperandChange::kNarrowPositions:
    case OperandChange::kOtherPairs:
    case OperandChange::kTablesShifted:
    case OperandChange::kSeesOneMore:
    case OperandChange::kSeesOneLess:
      break;
  }
  return tensor.Clone();
}

}  // namespace

std::vector<CaseChange> ListChanges(const Operator& op, const Problem& problem) {
  std::vector<CaseChange> changes;
  AddMasks(problem, changes);  // whose slices are single queries: attributes take whole heads
  for (const ResolvedAttr& attr : problem.attrs) {
    for (std::string& value : ValuesNear(DefinitionOf(op, attr.key), attr)) changes.push_back({attr.key, value});
  }
  for (size_t input = 0; input < problem.inputs.size(); ++input) AddChangesOf(problem, input, changes);
  const auto sum = op.TraitsOf(problem, 0).sum;
  // A formula says them more plainly, but for taps and channels.
  const bool has_terms = sum && sum->factors > 1 && (problem.spec.op == "conv" || !HasForm(problem.spec.op));
  for (size_t input = 0; has_terms && input < sum->factors; ++input) AddTermsOf(problem, input, changes);
  return changes;
}

std::vector<CaseChange> ListRareChanges(const Problem& problem) {
  std::vector<CaseChange> changes;
  for (size_t input = 0; input < problem.inputs.size(); ++input) AddRareChangesOf(problem, input, changes);
  AddPaddings(problem, changes);
  AddTables(problem, changes);
  for (const StageMistake& mistake : ListStageMistakes(problem)) changes.push_back({.stages = mistake});
  return changes;
}

std::vector<CaseChange> ListFormulaChanges(const Operator& op, const Problem& problem, const std::string& key) {
  const auto* const formula = dynamic_cast<const FormulaOperator*>(&op);
  std::vector<CaseChange> changes;
  if (formula == nullptr) return changes;
  const formula::Definition definition = formula->WholeDefinitionOf(problem);
  const auto attr = std::ranges::find(problem.attrs, key, &ResolvedAttr::key);
  const bool is_real = attr != problem.attrs.end() && attr->type == AttrType::kFloat;
  for (formula::GraphChange& change : formula::ListGraphChanges(definition.graph())) {
    const formula::Node& node = definition.graph().At(change.node);
    const bool is_its_number = is_real && node.kind == formula::Kind::kConst &&
                               std::fabs(node.constant - attr->f) <= 1e-6 * std::fabs(attr->f);
    if (!is_its_number) changes.push_back({.formula = std::move(change)});
  }
  return changes;
}

std::optional<Problem> ChangeCase(const Operator& op, const Problem& problem, const CaseChange& change) {
  if (!change.margins.empty()) return BindPadded(op, problem, change);
  if (IsOfMask(change)) return BindMasked(op, problem);
  if (change.key.empty()) return problem;
  CaseSpec spec = problem.spec;
  std::erase_if(spec.attrs, [&](const auto& attr) { return attr.first == change.key; });
  spec.attrs.emplace_back(change.key, change.value);
  const auto canonical = Canonicalise(spec, op.schema());
  if (!canonical || canonical->attrs == problem.spec.attrs) return std::nullopt;
  auto bound = op.Bind(*canonical);
  if (!bound) return std::nullopt;
  const auto alike = [](const Operand& a, const Operand& b) { return a.shape == b.shape && a.dtype == b.dtype; };
  if (!std::ranges::equal(bound->inputs, problem.inputs, alike) ||
      !std::ranges::equal(bound->outputs, problem.outputs, alike)) {
    return std::nullopt;
  }
  return *std::move(bound);
}

std::vector<Tensor> ChangeInputs(const std::vector<Tensor>& inputs, const CaseChange& change) {
  if (IsOfTables(change)) return ChangeTables(inputs, change);
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) changed.push_back(input.Clone());
  if (change.kind == OperandChange::kExchanged) {
    std::swap(changed[change.input], changed[change.other]);
    return changed;
  }
  if (IsOfMask(change)) {
    changed.push_back(MakeMask(inputs, change));
  } else {
    changed[change.input] = ChangeOperand(inputs[change.input], change);
  }
  return changed;
}

}  // namespace assay

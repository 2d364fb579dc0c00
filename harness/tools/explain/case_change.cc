// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/case_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace assay {
namespace {

const AttrDef& DefinitionOf(const Operator& op, const std::string& key) {
  return *op.schema().Find(key);
}

// Factors, powers and decades of a stated real, and numbers that are usual.
std::vector<double> NumbersNear(double x) {
  std::vector<double> numbers = {0, 1, x * x, -x, 2 * x, x / 2, std::sqrt(std::fabs(x)), 1 / x};
  for (const double decade : {10.0, 100.0, 1000.0}) numbers.insert(numbers.end(), {x * decade, x / decade});
  numbers.insert(numbers.end(), {1e-5, 1e-6, 1e-8, 1e-12, 1e-3});
  std::erase_if(numbers, [](double number) { return !std::isfinite(number); });
  return numbers;
}

std::vector<std::string> ValuesNear(const AttrDef& attr, const ResolvedAttr& stated) {
  std::vector<std::string> values = attr.choices;
  if (!values.empty()) return values;
  switch (attr.type) {
    case AttrType::kFloat:
      for (const double number : NumbersNear(stated.f)) values.push_back(fmt::format("{}", number));
      break;
    case AttrType::kInt:
      for (const int64_t step : {-1, 1}) values.push_back(std::to_string(stated.i + step));
      break;
    case AttrType::kDims:
      for (const int64_t size : {0, 1, 2}) values.push_back(std::to_string(size));
      break;
    case AttrType::kAxes:
      for (const int64_t axis : {0, 1, 2, 3}) values.push_back(std::to_string(axis));
      break;
    case AttrType::kName:
      break;
  }
  return values;
}

bool HasSquareEnd(const Shape& shape) {
  return shape.size() >= 2 && shape.back() > 1 && shape.back() == shape[shape.size() - 2];
}

void AddChangesOf(const Problem& problem, size_t input, std::vector<CaseChange>& changes) {
  const Operand& operand = problem.inputs[input];
  const auto add = [&](OperandChange kind, size_t other = 0, size_t axis = 0, int64_t by = 0) {
    changes.push_back({.kind = kind, .input = input, .other = other, .axis = axis, .by = by});
  };
  if (HasSquareEnd(operand.shape)) add(OperandChange::kTransposed);
  for (size_t other = input + 1; other < problem.inputs.size(); ++other) {
    const Operand& beside = problem.inputs[other];
    if (beside.shape == operand.shape && beside.dtype == operand.dtype) add(OperandChange::kExchanged, other);
  }
  if (IsFloat(operand.dtype)) {
    for (const auto kind : {OperandChange::kOnes, OperandChange::kZeros, OperandChange::kNegated}) add(kind);
  }
  for (size_t axis = operand.shape.size(); axis-- > 0;) {
    if (operand.shape[axis] < 2) continue;
    for (const int64_t by : {1, -1}) add(OperandChange::kShifted, 0, axis, by);
    add(OperandChange::kReversed, 0, axis);
  }
}

// Calls with(to, from) for each element of a tensor of this shape whose index along the axis becomes `place` of it.
template <class Place, class With>
void ForMoved(const Shape& shape, size_t axis, const Place& place, const With& with) {
  const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t extent = shape[axis], inner = std::accumulate(begin + 1, shape.end(), int64_t{1}, std::multiplies<>()),
                outer = std::accumulate(shape.begin(), begin, int64_t{1}, std::multiplies<>());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < extent; ++i) {
      for (int64_t k = 0; k < inner; ++k) with((o * extent + i) * inner + k, (o * extent + place(i)) * inner + k);
    }
  }
}

std::vector<double> ChangeValues(const Shape& shape, const std::vector<double>& values, const CaseChange& change) {
  std::vector<double> changed(values.size(), change.kind == OperandChange::kOnes ? 1.0 : 0.0);
  const auto move = [&](const auto& place) {
    ForMoved(shape, change.axis, place,
             [&](int64_t to, int64_t from) { changed[static_cast<size_t>(to)] = values[static_cast<size_t>(from)]; });
  };
  switch (change.kind) {
    case OperandChange::kNegated:
      std::ranges::transform(values, changed.begin(), std::negate<>());
      break;
    case OperandChange::kReversed:
      move([&](int64_t i) { return shape[change.axis] - 1 - i; });
      break;
    case OperandChange::kShifted:
      move([&](int64_t i) { return (i + change.by + shape[change.axis]) % shape[change.axis]; });
      break;
    case OperandChange::kTransposed:
      for (size_t i = 0; i < values.size(); ++i) {
        const auto n = static_cast<size_t>(shape.back()), matrix = i / (n * n), row = i / n % n, column = i % n;
        changed[i] = values[(matrix * n + column) * n + row];
      }
      break;
    case OperandChange::kZeros:
    case OperandChange::kOnes:
    case OperandChange::kExchanged:
      break;
  }
  return changed;
}

}  // namespace

std::vector<CaseChange> ListChanges(const Operator& op, const Problem& problem) {
  std::vector<CaseChange> changes;
  for (const ResolvedAttr& attr : problem.attrs) {
    for (std::string& value : ValuesNear(DefinitionOf(op, attr.key), attr)) changes.push_back({attr.key, value});
  }
  for (size_t input = 0; input < problem.inputs.size(); ++input) AddChangesOf(problem, input, changes);
  return changes;
}

std::optional<Problem> ChangeCase(const Operator& op, const Problem& problem, const CaseChange& change) {
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
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) changed.push_back(input.Clone());
  if (change.kind == OperandChange::kExchanged) {
    std::swap(changed[change.input], changed[change.other]);
    return changed;
  }
  const Tensor& input = inputs[change.input];
  changed[change.input].SetDoubles(ChangeValues(input.shape(), input.ToDoubles(), change));
  return changed;
}

std::string DescribeChange(const Problem& problem, const CaseChange& change) {
  const std::string& name = problem.inputs[change.input].name;
  switch (change.kind) {
    case OperandChange::kZeros:
      return fmt::format("the operand {} all 0", name);
    case OperandChange::kOnes:
      return fmt::format("the operand {} all 1", name);
    case OperandChange::kNegated:
      return fmt::format("the operand {} negated", name);
    case OperandChange::kTransposed:
      return fmt::format("the last two axes of operand {} exchanged", name);
    case OperandChange::kReversed:
      return fmt::format("the operand {} reversed along axis {}", name, change.axis);
    case OperandChange::kShifted:
      return fmt::format("the operand {} shifted by {} along axis {}, round the end", name, -change.by, change.axis);
    case OperandChange::kExchanged:
      return fmt::format("the operands {} and {} exchanged", name, problem.inputs[change.other].name);
  }
  return "";
}

}  // namespace assay

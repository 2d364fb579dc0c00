// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/case_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/tools/explain/extents.h"
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

}  // namespace assay

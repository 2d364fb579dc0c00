// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/table_change.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace assay {
namespace {

constexpr int64_t kBases[] = {1000, 10000, 100000, 500000, 1000000};

// Angles of the first position, and what each further one adds, by pairs.
struct Angles {
  std::vector<double> first, step;
};

double StepOf(double base, size_t i, size_t pairs) {
  return std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
}

// Replaces what tables say of angles by the angles themselves, where these are of a usual base from position 0 on.
void Refine(Angles& angles, double tolerance) {
  const size_t pairs = angles.step.size();
  for (const int64_t base : kBases) {
    bool is_it = true;
    for (size_t i = 0; i < pairs; ++i) {
      is_it = is_it && std::fabs(angles.first[i]) <= tolerance &&
              std::fabs(angles.step[i] - StepOf(static_cast<double>(base), i, pairs)) <= tolerance;
    }
    if (!is_it) continue;
    std::ranges::fill(angles.first, 0);
    for (size_t i = 0; i < pairs; ++i) angles.step[i] = StepOf(static_cast<double>(base), i, pairs);
  }
}

std::optional<Angles> FindAngles(const Tensor& cosines, const Tensor& sines) {
  const auto positions = static_cast<size_t>(cosines.shape()[0]), pairs = static_cast<size_t>(cosines.shape()[1]);
  const std::vector<double> cos = cosines.ToDoubles(), sin = sines.ToDoubles();
  const double tolerance = std::ldexp(4.0, -FormatOf(cosines.dtype()).precision);
  Angles angles;
  for (size_t i = 0; i < pairs; ++i) {
    const double first = std::atan2(sin[i], cos[i]);
    double step = 0;
    for (size_t p = 1; p < positions; ++p) {  // later positions say it with more digits
      const double turned = std::atan2(sin[p * pairs + i], cos[p * pairs + i]) - first, times = static_cast<double>(p);
      step += std::remainder(turned - times * step, 2 * M_PI) / times;
    }
    angles.first.push_back(first), angles.step.push_back(step);
    for (size_t p = 0; p < positions; ++p) {
      const double angle = first + static_cast<double>(p) * step;
      const double allowed = tolerance * static_cast<double>(p + 1);
      const bool is_it = std::fabs(cos[p * pairs + i] - std::cos(angle)) <= allowed &&
                         std::fabs(sin[p * pairs + i] - std::sin(angle)) <= allowed;
      if (!is_it) return std::nullopt;
    }
  }
  Refine(angles, tolerance);
  return angles;
}

// Angles that pairs find where others lie than they read, of n pairs.
struct PairOrder {
  const char* text;
  int64_t (*place)(int64_t i, int64_t n);
};
constexpr PairOrder kPairOrders[] = {
    {"pair 2 i, at most the last one,", [](int64_t i, int64_t n) { return std::min(2 * i, n - 1); }},
    {"pair 2 i, round the end,", [](int64_t i, int64_t n) { return 2 * i % n; }},
    {"pair i / 2", [](int64_t i, int64_t) { return i / 2; }},
    {"pair i of each half", [](int64_t i, int64_t n) { return i % ((n + 1) / 2); }},
    {"pair n - 1 - i", [](int64_t i, int64_t n) { return n - 1 - i; }},
};

Tensor MoveTable(const Tensor& table, const CaseChange& change) {
  const int64_t positions = table.shape()[0], pairs = table.shape()[1];
  const std::vector<double> values = table.ToDoubles();
  std::vector<double> moved;
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < pairs; ++i) {
      int64_t from = p, pair = i;
      if (change.kind == OperandChange::kOtherPairs) pair = kPairOrders[change.by].place(i, pairs);
      if (change.kind == OperandChange::kTablesShifted && change.axis == 0)
        from = (p + change.by + positions) % positions;
      if (change.kind == OperandChange::kTablesShifted && change.axis == 1) pair = (i + change.by + pairs) % pairs;
      moved.push_back(values[static_cast<size_t>(from * pairs + pair)]);
    }
  }
  Tensor changed(table.dtype(), table.shape());
  changed.SetDoubles(moved);
  return changed;
}

}  // namespace

void AddTables(const Problem& problem, std::vector<CaseChange>& changes) {
  const auto find = [&](std::string_view name) {
    return static_cast<size_t>(std::ranges::find(problem.inputs, name, &Operand::name) - problem.inputs.begin());
  };
  const size_t cos = find("cos"), sin = find("sin"), count = problem.inputs.size();
  if (cos == count || sin == count) return;
  const Operand &of_cos = problem.inputs[cos], &of_sin = problem.inputs[sin];
  const bool are_tables = of_cos.shape.size() == 2 && of_cos.shape == of_sin.shape && of_cos.dtype == of_sin.dtype &&
                          of_cos.shape[0] > 2 && IsFloat(of_cos.dtype);
  if (!are_tables) return;
  const auto add = [&](OperandChange kind, int64_t by) {
    changes.push_back({.kind = kind, .input = cos, .other = sin, .by = by});
  };
  add(OperandChange::kLaterPositions, 1), add(OperandChange::kLaterPositions, -1);
  for (const int64_t base : kBases) add(OperandChange::kOtherBase, base);
  if (of_cos.shape[0] > 1 << FormatOf(DType::kBF16).precision) add(OperandChange::kNarrowPositions, 0);
  const Shape& shape = of_cos.shape;
  for (int64_t order = 0; shape[1] > 2 && order < static_cast<int64_t>(std::size(kPairOrders)); ++order)
    add(OperandChange::kOtherPairs, order);
  for (const size_t axis : {size_t{1}, size_t{0}}) {
    for (const int64_t by : {1, -1}) {
      if (shape[axis] < 3) continue;
      changes.push_back({.kind = OperandChange::kTablesShifted, .input = cos, .other = sin, .axis = axis, .by = by});
    }
  }
}

std::string DescribePairs(int64_t order) {
  return kPairOrders[order].text;
}

std::vector<Tensor> ChangeTables(const std::vector<Tensor>& inputs, const CaseChange& change) {
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) changed.push_back(input.Clone());
  if (change.kind == OperandChange::kOtherPairs || change.kind == OperandChange::kTablesShifted) {
    for (const size_t table : {change.input, change.other}) changed[table] = MoveTable(inputs[table], change);
    return changed;
  }
  const Tensor& cosines = inputs[change.input];
  const std::optional<Angles> angles = FindAngles(cosines, inputs[change.other]);
  if (!angles) return changed;
  const int64_t positions = cosines.shape()[0], pairs = cosines.shape()[1];
  std::vector<double> cos, sin;
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < pairs; ++i) {
      const auto at = static_cast<size_t>(i);
      const double place = change.kind == OperandChange::kNarrowPositions
                               ? RoundTo(FormatOf(DType::kBF16), static_cast<double>(p))
                               : static_cast<double>(p + change.by);
      const double angle =
          change.kind == OperandChange::kOtherBase
              ? static_cast<double>(p) * StepOf(static_cast<double>(change.by), at, static_cast<size_t>(pairs))
              : angles->first[at] + place * angles->step[at];
      cos.push_back(std::cos(angle)), sin.push_back(std::sin(angle));
    }
  }
  changed[change.input].SetDoubles(cos), changed[change.other].SetDoubles(sin);
  return changed;
}

}  // namespace assay

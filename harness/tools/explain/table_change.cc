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
}

std::vector<Tensor> ChangeTables(const std::vector<Tensor>& inputs, const CaseChange& change) {
  std::vector<Tensor> changed;
  for (const Tensor& input : inputs) changed.push_back(input.Clone());
  const Tensor& cosines = inputs[change.input];
  const std::optional<Angles> angles = FindAngles(cosines, inputs[change.other]);
  if (!angles) return changed;
  const int64_t positions = cosines.shape()[0], pairs = cosines.shape()[1];
  std::vector<double> cos, sin;
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t i = 0; i < pairs; ++i) {
      const auto at = static_cast<size_t>(i);
      const double angle =
          change.kind == OperandChange::kOtherBase
              ? static_cast<double>(p) * StepOf(static_cast<double>(change.by), at, static_cast<size_t>(pairs))
              : angles->first[at] + static_cast<double>(p + change.by) * angles->step[at];
      cos.push_back(std::cos(angle)), sin.push_back(std::sin(angle));
    }
  }
  changed[change.input].SetDoubles(cos), changed[change.other].SetDoubles(sin);
  return changed;
}

}  // namespace assay

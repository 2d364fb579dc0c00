// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using formula::PlaceKind;

constexpr int64_t kHeldByDoubles = int64_t{1} << 53;

// "3,1" of the element with this number.
std::string PlaceText(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) index[axis] = element % shape[axis];
  return fmt::format("{}", fmt::join(index, ","));
}

// The first integer that is none of the kind; -1: all are.
int64_t FindWrongPlace(PlaceKind kind, int64_t extent, const Shape& shape, const std::vector<double>& places) {
  const auto most = static_cast<double>(kind == PlaceKind::kIndices ? extent - 1 : extent);
  const int64_t line = shape.empty() ? 1 : shape.back();
  for (int64_t i = 0; i < std::ssize(places); ++i) {
    const double place = places[static_cast<size_t>(i)];
    if (!(place >= 0 && place <= most)) return i;
    if (kind != PlaceKind::kEnds) continue;
    if (i % line > 0 && place < places[static_cast<size_t>(i - 1)]) return i;
    if (i % line == line - 1 && place < most) return i;
  }
  return -1;
}

// "places along n are 0 to 7 (n=8); give places that exist, or the whole n".
std::string Explain(PlaceKind kind, const std::string& axis, int64_t extent) {
  switch (kind) {
    case PlaceKind::kIndices:
      if (axis == std::to_string(extent)) return fmt::format("places are 0 to {}; give such", extent - 1);
      return fmt::format("places along {} are 0 to {} ({}={}); give places that exist, or the whole {}", axis,
                         extent - 1, axis, extent, axis);
    case PlaceKind::kLengths:
      return fmt::format("lengths along {} are 0 to {}; give lengths of no more elements than there are", axis, extent);
    default:
      return fmt::format(
          "ends along {0} ascend from 0, and the last one is {1} ({0}={1}); give one for each part, in "
          "order",
          axis, extent);
  }
}

// The first number that is none, or larger; -1: there is none.
int64_t FindBeyond(const std::vector<double>& values, double most) {
  const auto beyond = std::ranges::find_if(values, [&](double x) { return !(std::fabs(x) <= most); });
  return beyond == values.end() ? -1 : beyond - values.begin();
}

}  // namespace

void DrawPlaces(const formula::Graph& graph, size_t input, uint64_t seed, Tensor& to) {
  const formula::InputInfo& info = graph.inputs[input];
  const int64_t extent = graph.Extent(info.places_along);
  const bool are_ends = info.places == PlaceKind::kEnds;
  const RandomStream random(seed, input);
  std::vector<double> places(static_cast<size_t>(to.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    if (extent == 0) break;  // lengths and ends are zero
    const auto drawn = static_cast<double>(random.Below(i, static_cast<uint64_t>(extent)));
    places[i] = i == 0 ? static_cast<double>(extent - 1) : i == 1 ? 0 : i % 4 == 3 ? places[i - 1] : drawn;
  }
  for (double& place : places) place += info.places == PlaceKind::kLengths && extent > 0 ? 1 : 0;
  const auto line = static_cast<size_t>(are_ends && !to.shape().empty() ? to.shape().back() : 1);
  for (size_t i = 0; are_ends && i < places.size(); i += line) {
    std::sort(&places[i], &places[i] + line);
    places[i + line - 1] = static_cast<double>(extent);
  }
  to.SetDoubles(places);
}

void KeepWithin(double most, Tensor& tensor) {
  if (!IsInt(tensor.dtype())) return;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x = std::fmod(x, most + 1);
  tensor.SetDoubles(values);
}

void KeepToDoubles(Tensor& integers) {
  for (int64_t& x : integers.As<int64_t>()) {
    if (x > kHeldByDoubles || x < -kHeldByDoubles) x /= 1 << 11;
  }
}

std::optional<size_t> FormulaOperator::OutputOfDoubles(const Problem& problem, size_t input) const {
  if (problem.inputs[input].dtype != DType::kI64) return std::nullopt;
  for (size_t output = 0; output < problem.outputs.size(); ++output) {
    const formula::Definition definition = DefinitionOf(problem, output);
    const auto reads = [&](const formula::Node& node) {
      return node.kind == formula::Kind::kIn && node.input == static_cast<int>(input);
    };
    const formula::Graph& graph = definition.graph();
    if (std::ranges::any_of(graph.nodes, reads) && !ComputesIntegers(problem, output, graph)) return output;
  }
  return std::nullopt;
}

Status FormulaOperator::CheckIsHeld(const Problem& problem, size_t input, const Tensor& tensor) const {
  if (tensor.dtype() != DType::kI64) return {};
  const std::span<const int64_t> integers = tensor.As<int64_t>();
  const auto beyond =
      std::ranges::find_if(integers, [](int64_t x) { return x > kHeldByDoubles || x < -kHeldByDoubles; });
  if (beyond == integers.end()) return {};
  const std::optional<size_t> output = OutputOfDoubles(problem, input);
  if (!output) return {};
  return UsageError(
      fmt::format("{}: {}[{}] is {}, beyond 2^53, and {} is not computed of integers alone, which is all that such "
                  "numbers are judged in: give numbers up to 2^53",
                  name_, problem.inputs[input].name, PlaceText(tensor.shape(), beyond - integers.begin()), *beyond,
                  problem.outputs[*output].name));
}

Status FormulaOperator::CheckInputs(const Problem& problem, std::span<const Tensor> inputs) const {
  const formula::Definition definition = WholeDefinitionOf(problem);
  const formula::Graph& graph = definition.graph();
  for (const auto& [i, most] : definition.largest()) {
    const std::vector<double> values = inputs[i].ToDoubles();
    const int64_t beyond = FindBeyond(values, most);
    if (beyond < 0) continue;
    return UsageError(fmt::format("{}: {}[{}] is {}, but numbers up to {} in size alone are judged: give such", name_,
                                  graph.inputs[i].name, PlaceText(inputs[i].shape(), beyond),
                                  values[static_cast<size_t>(beyond)], most));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const formula::InputInfo& info = graph.inputs[i];
    if (Status status = CheckIsHeld(problem, i, inputs[i]); !status) return status;
    if (info.places_along < 0) continue;
    const int64_t extent = graph.Extent(info.places_along);
    const std::vector<double> places = inputs[i].ToDoubles();
    const int64_t wrong = FindWrongPlace(info.places, extent, inputs[i].shape(), places);
    if (wrong < 0) continue;
    const std::string& axis = graph.axes[static_cast<size_t>(info.places_along)].name;
    return UsageError(fmt::format("{}: {}[{}] is {:.0f}, but {}", name_, info.name, PlaceText(inputs[i].shape(), wrong),
                                  places[static_cast<size_t>(wrong)], Explain(info.places, axis, extent)));
  }
  return {};
}

}  // namespace assay

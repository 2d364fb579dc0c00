// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/data/fill/rng.h"
#include "ops/formula_operator.h"

namespace assay {
namespace {

constexpr int64_t kHeldByDoubles = int64_t{1} << 53;

// "3,1" of the element with this number.
std::string PlaceText(const Shape& shape, int64_t element) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) index[axis] = element % shape[axis];
  return fmt::format("{}", fmt::join(index, ","));
}

}  // namespace

void DrawPlaces(int64_t extent, uint64_t seed, uint64_t stream, Tensor& to) {
  const RandomStream random(seed, stream);
  std::vector<double> places(static_cast<size_t>(to.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    const auto drawn = static_cast<double>(random.Below(i, static_cast<uint64_t>(extent)));
    places[i] = i == 0 ? static_cast<double>(extent - 1) : i == 1 ? 0 : i % 4 == 3 ? places[i - 1] : drawn;
  }
  to.SetDoubles(places);
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
  for (size_t i = 0; i < inputs.size(); ++i) {
    const formula::InputInfo& info = graph.inputs[i];
    if (Status status = CheckIsHeld(problem, i, inputs[i]); !status) return status;
    if (info.places_along < 0) continue;
    const int64_t extent = graph.Extent(info.places_along);
    const std::vector<double> places = inputs[i].ToDoubles();
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k] >= 0 && places[k] < static_cast<double>(extent)) continue;
      const std::string& axis = graph.axes[static_cast<size_t>(info.places_along)].name;
      return UsageError(fmt::format(
          "{}: {}[{}] is {:.0f}, but places along {} are 0 to {} ({}={}); give places that exist, or the whole {}",
          name_, info.name, PlaceText(inputs[i].shape(), static_cast<int64_t>(k)), places[k], axis, extent - 1, axis,
          extent, axis));
    }
  }
  return {};
}

}  // namespace assay

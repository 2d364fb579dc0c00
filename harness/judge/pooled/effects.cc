// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/pooled/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/core/model/pooled_test.h"

namespace assay {
namespace {

// Small enough for second-order effects to be a thousandth, large enough for golden values of double precision.
constexpr double kStep = 0x1p-10;

// The last bits replaced by their middle, where they are not all zero; those of NaN and infinities are left alone.
template <class Bits, class Float>
void CentreLastBits(int count, Tensor& tensor) {
  const Bits last = (Bits{1} << count) - 1, middle = Bits{1} << (count - 1);
  const std::span<const Float> values = std::as_const(tensor).As<Float>();
  const std::span<Bits> bits = tensor.As<Bits>();
  for (size_t i = 0; i < bits.size(); ++i) {
    if (std::isfinite(values[i]) && (bits[i] & last) != 0) bits[i] = (bits[i] & ~last) | middle;
  }
}

bool HasLastBits(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kC64 || dtype == DType::kC128;
}

void CentreLastBits(int count, DType dtype, Tensor& tensor) {
  const bool is_double = dtype == DType::kF64 || dtype == DType::kC128;
  is_double ? CentreLastBits<uint64_t, double>(count, tensor) : CentreLastBits<uint32_t, float>(count, tensor);
}

std::vector<Tensor> ClonesOfAll(std::span<const Tensor> tensors) {
  std::vector<Tensor> clones;
  for (const Tensor& tensor : tensors) clones.push_back(tensor.Clone());
  return clones;
}

std::vector<double> EffectOf(const Golden& changed, const Golden& golden, double by) {
  const auto low = [](const Golden& g, size_t i) { return g.value_lo.empty() ? 0.0 : g.value_lo[i]; };
  std::vector<double> effect(golden.value.size());
  for (size_t i = 0; i < effect.size(); ++i) {
    const double change = (changed.value[i] - golden.value[i]) + (low(changed, i) - low(golden, i));
    effect[i] = std::isfinite(change) ? change / by : 0;
  }
  return effect;
}

// Where operands are added as they are, a correct sum drops their last bits, as they lie on the grid of its own. Of
// products these are spread evenly, and a rounding follows them in the mean.
bool MultipliesFirst(PeerForm::Kind kind) {
  return kind == PeerForm::Kind::kProduct || kind == PeerForm::Kind::kConvolution || kind == PeerForm::Kind::kAttention;
}

// Replaces the last bits of the operands in `chosen`.
Effect OperandEffect(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                     const Golden& golden, std::span<const size_t> chosen, int count) {
  std::vector<Tensor> changed = ClonesOfAll(inputs);
  for (const size_t k : chosen) CentreLastBits(count, inputs[k].dtype(), changed[k]);
  const std::string name = chosen.size() == 1 ? "_" + problem.inputs[chosen[0]].name : "";
  return Effect{Effect::Kind::kOperandBits, fmt::format("{}{}{}", kOperandBitsQuestion, count, name),
                EffectOf(op.ComputeGolden(problem, output, changed, golden.tier), golden, 1)};
}

void AddOperandEffects(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                       const Golden& golden, std::vector<Effect>& effects) {
  const ProblemTraits traits = op.TraitsOf(problem, output);
  std::vector<size_t> asked;
  for (size_t k = 0; k < std::min(inputs.size(), traits.factors); ++k) {
    if (HasLastBits(inputs[k].dtype())) asked.push_back(k);
  }
  if (asked.empty() || !MultipliesFirst(traits.peer.kind)) return;
  for (const size_t& k : asked)
    effects.push_back(OperandEffect(op, problem, output, inputs, golden, std::span(&k, 1), 4));
  if (asked.size() > 1) effects.push_back(OperandEffect(op, problem, output, inputs, golden, asked, 2));
}

// Where golden values follow from the constant: of those that are rounded first there is no derivative.
std::optional<Effect> ConstantEffect(const Operator& op, const Problem& problem, size_t output,
                                     std::span<const Tensor> inputs, const Golden& golden, size_t attr) {
  const ResolvedAttr& constant = problem.attrs[attr];
  if (constant.type != AttrType::kFloat || constant.f == 0 || !std::isfinite(constant.f)) return std::nullopt;
  Problem changed = problem;
  changed.attrs[attr].f *= 1 + kStep;
  return Effect{Effect::Kind::kConstant, fmt::format("{}{}", kConstantQuestion, constant.key),
                EffectOf(op.ComputeGolden(changed, output, inputs, golden.tier), golden, kStep)};
}

}  // namespace

std::vector<Effect> MakeEffects(const Operator& op, const Problem& problem, size_t output,
                                std::span<const Tensor> inputs, const Golden& golden) {
  std::vector<Effect> effects;
  if (golden.exact || IsInt(problem.outputs[output].dtype) || op.TraitsOf(problem, output).selects) return effects;
  const auto add = [&](std::optional<Effect> effect) {
    if (effect) effects.push_back(*std::move(effect));
  };
  AddOperandEffects(op, problem, output, inputs, golden, effects);
  for (size_t attr = 0; attr < problem.attrs.size(); ++attr) {
    add(ConstantEffect(op, problem, output, inputs, golden, attr));
  }
  return effects;
}

}  // namespace assay

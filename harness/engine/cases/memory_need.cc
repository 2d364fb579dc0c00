// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/memory_need.h"

#include <algorithm>

#include "harness/core/base/parallel.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "ops/formula/block.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

// Bytes of one element: a fixed part, one that grows with its size, and one of reproducible golden values.
struct PerElement {
  double fixed = 0, per_size = 0, reproducible = 0;
};

struct Rates {
  PerElement input, output;
};

// In floating point, because the element count of an absurd shape overflows an integer. Complex numbers have two
// components.
double ComponentsOf(const Operand& operand) {
  double count = IsComplex(operand.dtype) ? 2 : 1;
  for (const int64_t extent : operand.shape) count *= static_cast<double>(extent);
  return count;
}

double BytesOf(const Operand& operand, const PerElement& per, bool reproducible) {
  const double size = static_cast<double>(SizeOf(operand.dtype)) / (IsComplex(operand.dtype) ? 2 : 1);
  return ComponentsOf(operand) * (per.fixed + per.per_size * size + (reproducible ? per.reproducible : 0));
}

double BytesOf(const Problem& problem, const Rates& rates, bool reproducible) {
  double bytes = 0;
  for (const Operand& input : problem.inputs) bytes += BytesOf(input, rates.input, reproducible);
  for (const Operand& output : problem.outputs) bytes += BytesOf(output, rates.output, reproducible);
  return bytes;
}

// Golden values that the search for weaker arithmetic keeps: a few, up to its limit.
double BytesOfHypotheses(const Problem& problem) {
  constexpr double kBytesPerComponent = 200;
  double components = 0;
  for (const Operand& output : problem.outputs) components += ComponentsOf(output);
  return std::min(HypothesisGoldens::kMostBytes, kBytesPerComponent * components);
}

// Sent, returned and copied images, the tensor, and the worker's own; of inputs also a twin's, of outputs also those of
// the first execution. Timed: three sets of them. Fills are made in doubles: neg of 4e8 elements of i8 took 8.6e9 bytes
// beside those of the worker.
constexpr Rates kWhole = {{16, 6, 0}, {0, 6, 0}}, kTimedWhole = {{16, 12, 0}, {0, 14, 0}};

// Formulas take these while golden values and bounds are computed: each thread has the numbers of all nodes of a block,
// and what the bound knows of them.
double BytesOfBlocks(const Operator* op, const Problem& problem) {
  constexpr double kBytesOfNumber = 150;  // 146 of scaled_mm by blocks, 2048 x 2048
  const auto* const formula = dynamic_cast<const FormulaOperator*>(op);
  double most = 0;
  for (size_t output = 0; formula != nullptr && output < problem.outputs.size(); ++output) {
    const formula::Definition definition = formula->DefinitionOf(problem, output);
    const formula::BlockPlan plan(definition.graph(), definition.graph().outputs[0]);
    double numbers = 0;
    for (const formula::Node& node : definition.graph().nodes)
      numbers += static_cast<double>(plan.Size(node.axes, plan.block()));
    const int64_t blocks = (plan.lanes() + plan.block() - 1) / plan.block();
    most = std::max(most, numbers * static_cast<double>(std::min<int64_t>(ThreadCount(), blocks)));
  }
  return most * kBytesOfNumber;
}

// Memory that does not grow with the case.
constexpr double kMostKept = 0x1p27;

}  // namespace

double BytesNeeded(const Problem& problem, MemoryUse use, const std::string& tier, int64_t sample) {
  const Operator* op = OperatorRegistry::Global().Find(problem.spec.op);
  const std::optional<Problem> part = op == nullptr ? std::nullopt : BindSample(*op, problem, sample);
  if (part) {
    const Rates& rates = problem.bytes <= kMostTimedSampleBytes ? kTimedWhole : kWhole;
    return BytesOf(problem, rates, false) + BytesNeeded(*part, use, tier);
  }
  // Bytes of operands and results: planning asks thousands of smaller cases, and larger ones do not fit anyway, while
  // their formulas would take memory of their own.
  constexpr double kSmall = 0x1p20, kLarge = 0x1p33;
  const bool is_asked = problem.bytes >= kSmall && problem.bytes <= kLarge;
  const double working = is_asked ? BytesOfBlocks(op, problem) : 0;
  const OutputMemory own = op == nullptr ? OutputMemory() : op->traits().memory;
  const bool reproducible = ChooseTier(tier, problem) == Tier::kReproducible;
  const double of_input = ReducesInStretches(problem) ? 0 : 40;
  const double judged = BytesOf(problem, {{of_input, 2, 0}, {own.judgement, 2, 24}}, reproducible);
  if (use == MemoryUse::kJudgement) return judged + working;
  const double right = BytesOf(problem, {{58, 2, 0}, {own.run, 6, 208}}, reproducible);
  const double images = BytesOf(problem, {{0, 4, 0}, {0, 4, 0}}, false);
  return working + std::max(right + std::min(kMostKept, 2 * right), judged + images + BytesOfHypotheses(problem));
}

}  // namespace assay

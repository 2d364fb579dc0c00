// SPDX-License-Identifier: Apache-2.0
// The operator softmax: exponentials of x along one axis, divided by their sum, or the logarithm of that. Golden values
// in softmax_golden.cc, bounds in softmax_bound.cc, exact twins and omitted terms in softmax_exact.cc.
#include "ops/softmax/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/exp_error.h"
#include "ops/relation.h"

namespace assay {

SoftmaxArgs::SoftmaxArgs(const Problem& problem) : log(problem.Int("log") != 0), axis(problem.Int("axis")) {
  const Shape& shape = problem.inputs[0].shape;
  if (axis < 0) axis += std::ssize(shape);
  terms = shape[axis];
  for (int64_t i = axis + 1; i < std::ssize(shape); ++i) inner *= shape[i];
  rows = terms == 0 ? 0 : NumElements(shape) / terms;
}

namespace {

// A kernel that computes with powers of 2 multiplies exponents and logarithms by stored constants: these, over the
// exact ones.
struct BaseFactors {
  double exponent = 1, logarithm = 1;
};

// Results of a kernel that stores differences and exponentials; `sums`: these and their logarithms, too.
std::vector<double> StoreElements(const SoftmaxArgs& softmax, const Plane& x, const FloatFormat& format,
                                  const BaseFactors& base, bool sums) {
  std::vector<double> results;
  for (int64_t row = 0; row < x.size(); row += softmax.terms) {
    double largest = x[row], sum = 0;
    for (int64_t i = row; i < row + softmax.terms; ++i) largest = std::max(largest, x[i]);
    const auto difference = [&](int64_t i) { return base.exponent * RoundTo(format, x[i] - largest); };
    const auto exponential = [&](int64_t i) { return RoundTo(format, std::exp(difference(i))); };
    for (int64_t i = row; i < row + softmax.terms; ++i) sum += exponential(i);
    if (sums) sum = RoundTo(format, sum);
    const double logarithm = sums ? RoundTo(format, std::log(sum)) : std::log(sum);
    for (int64_t i = row; i < row + softmax.terms; ++i) {
      results.push_back(softmax.log ? base.logarithm * (difference(i) - logarithm) : exponential(i) / sum);
    }
  }
  return results;
}

// Powers of 2 stand for those of e where a kernel multiplies by log2 e, or divides by ln 2, and stores that constant.
BaseFactors StoreBase2(const FloatFormat& format) {
  const double ln2 = RoundTo(format, std::numbers::ln2);
  const double by_log2e = RoundTo(format, std::numbers::log2e) * std::numbers::ln2, by_ln2 = std::numbers::ln2 / ln2;
  const bool log2e_is_further = std::fabs(by_log2e - 1) > std::fabs(by_ln2 - 1);
  return {log2e_is_further ? by_log2e : by_ln2, ln2 / std::numbers::ln2};
}

}  // namespace

// The largest exponential is 1, so that the largest result has nothing but the sum.
SharedSteps SoftmaxSteps(const Problem& problem, const Golden& golden, const FloatFormat& format) {
  const SoftmaxArgs softmax(problem);
  SharedSteps steps{.values = {{}}};
  for (int64_t row = 0; row < softmax.rows; ++row) {
    const auto first = golden.value.begin() + row * softmax.terms;
    const double largest = *std::max_element(first, first + softmax.terms);
    steps.values[0].push_back(softmax.log ? -largest : 1 / largest);
  }
  const Plane& x = *golden.Extra("input.0");
  const BaseFactors base = StoreBase2(format);
  const auto store = [&](const BaseFactors& by, bool sums) {
    steps.with_stored_steps.push_back(StoreElements(softmax, x, format, by, sums));
  };
  store({.exponent = base.exponent}, false);
  if (softmax.log) store({.logarithm = base.logarithm}, false);
  store({}, true);
  return steps;
}

namespace {

OpSchema SoftmaxSchema() {
  return {.op = "softmax",
          .doc = "y = exp(x) / sum exp(x) along an axis, or its logarithm",
          .attrs = {{"shape", AttrType::kDims, "", "of x and y"},
                    {.key = "axis",
                     .type = AttrType::kInt,
                     .default_value = "-1",
                     .doc = "the axis that sums to one; negative ones count from the end",
                     .axes_in = "shape"},
                    {"log", AttrType::kInt, "0", "1: the logarithm of the result", {"0", "1"}}},
          .operands = {"x", "y"},
          .outputs = {"y"},
          .layouts = {{"x", "[shape]"}, {"y", "[shape]"}}};
}

std::string CheckSoftmax(const Problem& problem) {
  const Shape& shape = problem.List("shape");
  const int64_t axis = problem.Int("axis"), rank = std::ssize(shape);
  if (std::string text = ShapeProblem(shape); !text.empty()) return text;
  if (axis < -rank || axis >= rank) {
    return fmt::format("axis={} is outside [{}, {}] of a shape of rank {}", axis, -rank, rank - 1, rank);
  }
  if (problem.Int("log") != 0 && problem.Int("log") != 1) {
    return fmt::format("log={} must be 0 or 1", problem.Int("log"));
  }
  return {};
}

class Softmax final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = SoftmaxSchema();
    return schema;
  }

  // A row of -inf is NaN everywhere.
  OperatorTraits traits() const override { return {.memory = {70, 112}, .default_fields = "masked=nan"}; }

  ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const override {
    const SoftmaxArgs softmax(problem);
    return {.fewest_flops = problem.flops,
            .sharing_slices = softmax.inner == 1 ? softmax.rows : 0,
            .peer = {.kind = softmax.log ? PeerForm::Kind::kLogSoftmax : PeerForm::Kind::kSoftmax}};
  }

  Result<AttrList> InferAttrs(const std::vector<Operand>& inputs, AttrList given) const override {
    const Operand* x = FindOperand(inputs, "x");
    if (x->shape.empty()) return UsageError("softmax: x is a scalar; give it an axis");
    SetIfAbsent(given, "shape", ShapeText(x->shape));
    return given;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    const DType x = problem->spec.dtypes.front(), y = problem->spec.dtypes.back();
    if (x != y || !IsFloat(x) || SizeOf(x) < 2) {
      return BindError(*problem, fmt::format("no softmax of {} with output {}; possible are f64, f32, f16 and bf16",
                                             Name(x), Name(y)));
    }
    if (const std::string text = CheckSoftmax(*problem); !text.empty()) return BindError(*problem, text);
    const Shape shape = problem->List("shape");
    problem->inputs = {{"x", x, shape}};
    problem->outputs = {{"y", y, shape}};
    // Difference, exponential, addition and division, each counted once.
    problem->flops = 4.0 * static_cast<double>(NumElements(shape));
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, static_cast<int>(SoftmaxArgs(problem).axis), 0));
    return inputs;
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    return SoftmaxGolden(problem, inputs[0], tier);
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return SoftmaxBound(problem, golden, contract);
  }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return SoftmaxTwin(problem, contract, variant);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return SoftmaxOmittedTerms(problem, inputs[0], values, elements);
  }

  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t /*output*/,
                                               std::span<const Tensor> inputs, const Contract& /*contract*/,
                                               int64_t element) const override {
    const SoftmaxArgs softmax(problem);
    std::vector<double> row;
    for (int64_t k = 0; k < softmax.terms; ++k) {
      row.push_back(ValueAt(inputs[0], softmax.Offset(softmax.RowOf(element), k)));
    }
    return {Exponentials(std::move(row))};
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override {
    return SoftmaxSlices(problem);
  }
  SharedSteps StepsOfSlices(const Problem& problem, size_t /*output*/, const Golden& golden,
                            const FloatFormat& format) const override {
    return SoftmaxSteps(problem, golden, format);
  }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return SoftmaxRelations(*this, problem);
  }

  CaseSpace Space() const override { return SoftmaxSpace(); }
};

const RegisterOperator<Softmax> registered_softmax;

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The operator reduce: sum, mean, max, min, prod, l2, argmax, argmin or logsumexp over some axes of x. Golden values in
// reduce_golden.cc, bounds in reduce_bound.cc, exact twins and omitted terms in reduce_exact.cc.
#include "ops/reduce/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/data/fill/fill.h"
#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/exact_code.h"
#include "ops/exp_error.h"
#include "ops/relation.h"
#include "ops/relations.h"

namespace assay {
namespace {

constexpr std::array<std::pair<std::string_view, ReduceKind>, 9> kKinds = {{{"sum", ReduceKind::kSum},
                                                                            {"mean", ReduceKind::kMean},
                                                                            {"max", ReduceKind::kMax},
                                                                            {"min", ReduceKind::kMin},
                                                                            {"prod", ReduceKind::kProd},
                                                                            {"l2", ReduceKind::kL2},
                                                                            {"argmax", ReduceKind::kArgmax},
                                                                            {"argmin", ReduceKind::kArgmin},
                                                                            {"logsumexp", ReduceKind::kLogSumExp}}};
// |sum| <= 128 K < 2^31 for i8 terms: the largest sum of i8 as i32 that is judged as one that does not wrap.
constexpr int64_t kMaxIntegersSummed = (int64_t{1} << 24) - 1;

// Whether integers of x are added or multiplied in registers of y.
bool HoldsFoldsOf(DType x, DType y) {
  const bool is_wide = y == DType::kI32 || y == DType::kI64;
  return x == DType::kBool ? is_wide : y == x || (is_wide && SizeOf(y) > SizeOf(x));
}

OpSchema ReduceSchema() {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : kKinds) kinds.emplace_back(name);
  return {.op = "reduce",
          .doc = "y = sum, mean, max, ... over some axes of x",
          .attrs = {{"shape", AttrType::kDims, "", "of x"},
                    {.key = "axes",
                     .type = AttrType::kAxes,
                     .default_value = "",
                     .doc = "axes to reduce; negative ones count from the end",
                     .axes_in = "shape"},
                    {"kind", AttrType::kName, "sum", "what to compute", kinds},
                    {"keepdims", AttrType::kInt, "0", "1: reduced axes stay, with extent 1", {"0", "1"}},
                    {"tie", AttrType::kName, "first", "argmax, argmin: which of equal values", {"first", "any"}},
                    {"nan",
                     AttrType::kName,
                     "propagate",
                     "max, min, argmax, argmin: whether NaN wins or is skipped",
                     {"propagate", "ignore"}}},
          .operands = {"x", "y"},
          .outputs = {"y"},
          .layouts = {{"x", "[shape]"},
                      {"y", "[shape without axes]", "axes of extent 1 with keepdims=1; indices are i64"}}};
}

// Reduced axes in ascending order, or the error's text.
tl::expected<std::vector<int64_t>, std::string> ResolveAxes(const std::vector<int64_t>& axes, int64_t rank) {
  std::set<int64_t> resolved;
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return tl::unexpected(fmt::format("axes={}: {} is outside [{}, {}] of a shape of rank {}", fmt::join(axes, "+"),
                                        axis, -rank, rank - 1, rank));
    }
    if (!resolved.insert(axis < 0 ? axis + rank : axis).second) {
      return tl::unexpected(fmt::format("axes={}: axis {} is given twice", fmt::join(axes, "+"), axis));
    }
  }
  return std::vector<int64_t>(resolved.begin(), resolved.end());
}

// The output's type, or the error's text. `types` has one or two entries.
tl::expected<DType, std::string> OutputType(ReduceKind kind, std::string_view kind_name,
                                            const std::vector<DType>& types) {
  const DType x = types.front(), asked = types.back();
  const auto refuse = [&](std::string_view possible) {
    return tl::unexpected(fmt::format("no {} of {} with output {}; {}", kind_name, Name(x), Name(asked), possible));
  };
  const bool is_float = IsFloat(x) && SizeOf(x) >= 2;
  if (!is_float && !IsInt(x)) return refuse("x may be f64, f32, f16, bf16, or of integers");
  if (IsArg(kind)) {
    if (types.size() > 1 && asked != DType::kI64) return refuse("the output is an index, i64");
    return DType::kI64;
  }
  if (IsSelection(kind)) return asked == x ? tl::expected<DType, std::string>(x) : refuse("the output has x's type");
  if (!is_float) {
    const bool folds = kind == ReduceKind::kSum || kind == ReduceKind::kProd;
    if (folds && HoldsFoldsOf(x, asked)) return asked;
    return refuse(
        "integers have max, min, argmax and argmin, and sum and prod in their own type (bool: not), i32 or i64 that is "
        "as wide");
  }
  if (asked == x || (SizeOf(x) == 2 && asked == DType::kF32)) return asked;
  return refuse("possible are f64, f32, f16, bf16, f16-f32 and bf16-f32");
}

std::string CheckReduction(const Problem& problem, ReduceKind kind) {
  const std::string& name = problem.Text("kind");
  if (std::string text = ShapeProblem(problem.List("shape")); !text.empty()) return text;
  if (problem.Int("keepdims") != 0 && problem.Int("keepdims") != 1) {
    return fmt::format("keepdims={} must be 0 or 1", problem.Int("keepdims"));
  }
  if (problem.Text("tie") != "first" && !IsArg(kind))
    return fmt::format("tie=any is for argmax and argmin, not {}", name);
  if (problem.Text("nan") != "propagate" && !IsSelection(kind)) {
    return fmt::format("nan=ignore is for max, min, argmax and argmin, not {}", name);
  }
  return {};
}

class Reduce final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = ReduceSchema();
    return schema;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    const Shape shape = problem->List("shape");
    const ReduceKind kind = *ParseReduceKind(problem->Text("kind"));
    const auto type = OutputType(kind, problem->Text("kind"), problem->spec.dtypes);
    if (!type) return BindError(*problem, type.error());
    if (const std::string text = CheckReduction(*problem, kind); !text.empty()) return BindError(*problem, text);
    const auto axes = ResolveAxes(problem->List("axes"), std::ssize(shape));
    if (!axes) return BindError(*problem, axes.error());

    Shape out;
    int64_t terms = 1;
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      const bool reduced = std::ranges::binary_search(*axes, axis);
      if (reduced) terms *= shape[axis];
      if (!reduced || problem->Int("keepdims") != 0) out.push_back(reduced ? 1 : shape[axis]);
    }
    if (terms == 0 && IsSelection(kind) && NumElements(out) > 0) {
      return BindError(*problem,
                       fmt::format("shape={},axes={} has rows without elements, and nothing is the {} of none",
                                   ShapeText(shape), fmt::join(*axes, "+"), problem->Text("kind")));
    }
    const DType x = problem->spec.dtypes.front();
    if (kind == ReduceKind::kSum && x == DType::kI8 && *type == DType::kI32 && terms > kMaxIntegersSummed) {
      return BindError(*problem, fmt::format("a sum of {} i8 can overflow i32; at most {}", terms, kMaxIntegersSummed));
    }
    problem->inputs = {{"x", x, shape}};
    problem->outputs = {{"y", *type, std::move(out)}};
    problem->flops = static_cast<double>(NumElements(shape));
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  Result<AttrList> InferAttrs(const std::vector<Operand>& inputs, AttrList given) const override {
    const Operand* x = FindOperand(inputs, "x");
    if (x->shape.empty()) return UsageError("reduce: x is a scalar, so there is nothing to reduce; give it an axis");
    SetIfAbsent(given, "shape", ShapeText(x->shape));
    return given;
  }

  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    const ReduceArgs op(problem);
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, static_cast<int>(op.reduced.back()), 0, static_cast<double>(op.terms)));
    return inputs;
  }

  std::optional<NeutralTerms> WithNeutralTerms(const Problem& problem) const override {
    const ReduceArgs op(problem);
    Shape shape = op.shape;
    for (const int64_t axis : op.reduced) shape[axis] = std::max<int64_t>(shape[axis], 1);
    const double value = op.kind == ReduceKind::kProd        ? 1
                         : op.kind == ReduceKind::kMean      ? std::nan("")
                         : op.kind == ReduceKind::kLogSumExp ? -HUGE_VAL
                                                             : 0;
    return NeutralTerms{Rebind(*this, problem, {{"shape", ShapeText(shape)}}), value};
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    return ReduceGolden(problem, inputs[0], tier);
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return ReduceBound(problem, golden, contract);
  }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return ReduceTwin(problem, contract, variant);
  }
  int TwinVariants(const Problem& problem, size_t /*output*/, const Contract& contract) const override {
    return ReduceTwinVariants(problem, contract);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return ReduceOmittedTerms(problem, inputs[0], values, elements);
  }

  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t /*output*/,
                                               std::span<const Tensor> inputs, const Contract& /*contract*/,
                                               int64_t element) const override {
    const ReduceArgs op(problem);
    if (IsSelection(op.kind) || op.kind == ReduceKind::kProd || ReducesIntegers(problem)) return {};
    std::vector<double> row = op.Row(inputs[0], element);
    if (op.kind == ReduceKind::kLogSumExp) return {Exponentials(std::move(row))};
    if (op.kind == ReduceKind::kL2) std::ranges::transform(row, row.begin(), [](double x) { return x * x; });
    return {std::move(row)};
  }

  // No partial result needs to be rounded to 16 bits on the way. Where NaN stands among the terms, losing it is not
  // what the case asks for; elsewhere the policy shows in nothing.
  ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const override {
    const ReduceArgs op(problem);
    const DType type = problem.inputs[0].dtype;
    const double highest = IsInt(type) ? static_cast<double>(LimitsOf(problem.outputs[0].dtype).high) : 0;
    const bool adds = op.kind == ReduceKind::kSum, selects = IsSelection(op.kind);
    const bool asks_for_nan = selects && IsFloat(type) && HasNaN(*ParseFill(problem.spec.fill));
    return {.fewest_flops = problem.flops,
            .largest_integer_sum = adds && IsInt(type) ? std::min(LargestSumOfIntegers(type, op.terms, 1), highest) : 0,
            .required_fields = asks_for_nan ? "mid=none;nan=" + problem.Text("nan") : "mid=none",
            .selects = selects,
            .sum = adds && !ReducesIntegers(problem) ? std::optional(SumForm{}) : std::nullopt,
            .peer = {.kind = PeerForm::Kind::kReduction, .reduction = problem.Text("kind"), .terms = op.terms}};
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override {
    return ReduceSlices(problem);
  }
  std::vector<int> ScaledInputs(const Problem& problem) const override { return ReduceScaledInputs(problem); }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return ReduceRelations(*this, problem);
  }

  // tie=any: an index of an equal value is as good as the golden one. Equal means the same value, zeros of either
  // sign alike, and NaN like NaN.
  void Canonicalise(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                    Tensor& got) const override {
    const ReduceArgs op(problem);
    if (!IsArg(op.kind) || !op.tie_any) return;
    const std::span<int64_t> indices = got.As<int64_t>();
    if (ReducesIntegers(problem)) return CanonicaliseIntegers(op, inputs[0], indices);
    for (int64_t row = 0; row < op.rows; ++row) {
      if (indices[row] < 0 || indices[row] >= op.terms) continue;
      const std::vector<double> terms = op.Row(inputs[0], row);
      const int64_t golden = SelectedTerm(op, terms);
      const double best = terms[golden], chosen = terms[indices[row]];
      if (chosen == best || (std::isnan(chosen) && std::isnan(best))) indices[row] = golden;
    }
  }

  CaseSpace Space() const override { return ReduceSpace(); }
};

const RegisterOperator<Reduce> registered_reduce;

}  // namespace

std::optional<ReduceKind> ParseReduceKind(std::string_view name) {
  const auto it = std::ranges::find(kKinds, name, &std::pair<std::string_view, ReduceKind>::first);
  return it == kKinds.end() ? std::nullopt : std::optional(it->second);
}

ReduceArgs::ReduceArgs(const Problem& problem)
    : kind(*ParseReduceKind(problem.Text("kind"))),
      tie_any(problem.Text("tie") == "any"),
      ignore_nan(problem.Text("nan") == "ignore"),
      shape(problem.List("shape")),
      strides(RowMajorStrides(shape)),
      reduced(*ResolveAxes(problem.List("axes"), std::ssize(shape))) {
  for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
    const bool is_reduced = std::ranges::binary_search(reduced, axis);
    if (!is_reduced) kept.push_back(axis);
    (is_reduced ? terms : rows) *= shape[axis];
  }
  dense_rows = kept.empty() || reduced.empty() || kept.back() < reduced.front();
}

}  // namespace assay

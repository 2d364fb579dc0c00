// SPDX-License-Identifier: Apache-2.0
// The operator matmul: y[b,m,n] = alpha sum_k a[b,m,k] b[b,k,n] + beta c[b,m,n] + bias[n], the batch axis only when
// batch > 1. Golden values and their bound (MatmulBound) are in matmul_golden.cc, exact twins in matmul_exact.cc.
#include "ops/matmul/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/exact_code.h"
#include "ops/relation.h"
#include "ops/relations.h"

namespace assay {

MatmulArgs::MatmulArgs(const Problem& problem)
    : gemm{.m = problem.Int("m"),
           .n = problem.Int("n"),
           .k = problem.Int("k"),
           .batch = problem.Int("batch"),
           .transa = problem.Int("transa") != 0,
           .transb = problem.Int("transb") != 0},
      alpha(problem.Float("alpha")),
      beta(problem.Float("beta")),
      bias(problem.Int("bias") != 0),
      rounded(problem.Text("epilogue") == "rounded") {}

int64_t MatmulArgs::OffsetInA(int64_t batch, int64_t row, int64_t k) const {
  return batch * gemm.m * gemm.k + (gemm.transa ? k * gemm.m + row : row * gemm.k + k);
}

int64_t MatmulArgs::OffsetInB(int64_t batch, int64_t k, int64_t column) const {
  return batch * gemm.k * gemm.n + (gemm.transb ? column * gemm.k + k : k * gemm.n + column);
}

namespace {

constexpr const char* kProductTypes =
    "possible are f64, f32, f16, bf16, f16-f16-f32, bf16-bf16-f32, e4m3-e4m3-X and e5m2-e5m2-X with X of f32, bf16, "
    "f16, and i8-i8-i32";

OpSchema MatmulSchema() {
  return {.op = "matmul",
          .doc = "y = alpha a b + beta c + bias",
          .attrs = {{"m", AttrType::kInt, "", "rows of a and y"},
                    {"n", AttrType::kInt, "", "columns of b and y"},
                    {"k", AttrType::kInt, "", "columns of a, rows of b"},
                    {"batch", AttrType::kInt, "1", "independent products; a leading axis unless it is 1"},
                    {"transa", AttrType::kInt, "0", "1: a is stored [k,m]", {"0", "1"}},
                    {"transb", AttrType::kInt, "0", "1: b is stored [n,k]", {"0", "1"}},
                    {"alpha", AttrType::kFloat, "1", "factor of a b"},
                    {"beta", AttrType::kFloat, "0", "factor of c; c is an input when it is not 0"},
                    {"bias", AttrType::kInt, "0", "1: bias[n] is added, an input", {"0", "1"}},
                    {"epilogue",
                     AttrType::kName,
                     "fused",
                     "rounded: a b, before or after alpha, is rounded to y's type, and then c and bias are added",
                     {"fused", "rounded"}}},
          .operands = {"a", "b", "y"},
          .outputs = {"y"},
          .layouts = {{"a", "[batch,m,k]", "no batch axis when batch=1; [k,m] when transa=1"},
                      {"b", "[batch,k,n]", "no batch axis when batch=1; [n,k] when transb=1"},
                      {"c", "[batch,m,n]", "only when beta is not 0"},
                      {"bias", "[n]", "only when bias=1"},
                      {"y", "[batch,m,n]"}}};
}

// The error's text, empty when the types fit.
std::string CheckProductTypes(DType a, DType b, DType y) {
  if (a != b)
    return fmt::format("a is {} and b is {}, but both must have one type; {}", Name(a), Name(b), kProductTypes);
  switch (a) {
    case DType::kF64:
    case DType::kF32:
      if (y == a) return {};
      break;
    case DType::kF16:
    case DType::kBF16:
      if (y == a || y == DType::kF32) return {};
      break;
    case DType::kE4M3:
    case DType::kE5M2:
      if (y == DType::kF32 || y == DType::kBF16 || y == DType::kF16) return {};
      break;
    case DType::kI8:
      if (y == DType::kI32) return {};
      break;
    default:
      break;
  }
  return fmt::format("no product of {} with output {}; {}", Name(a), Name(y), kProductTypes);
}

std::string CheckProduct(const Problem& problem, bool integers) {
  for (const char* key : {"m", "n", "k", "batch"}) {
    if (problem.Int(key) < 0) return fmt::format("{}={} must not be negative", key, problem.Int(key));
  }
  for (const char* key : {"transa", "transb", "bias"}) {
    if (problem.Int(key) != 0 && problem.Int(key) != 1) {
      return fmt::format("{}={} must be 0 or 1", key, problem.Int(key));
    }
  }
  const double alpha = problem.Float("alpha"), beta = problem.Float("beta");
  if (alpha == 0) return "alpha=0 must not be 0: no product is left to test";
  if (!integers) return {};
  if (alpha != 1) return fmt::format("alpha={} must be 1 for integers", alpha);
  if (beta != 0) return fmt::format("beta={} must be 0 for integers", beta);
  if (problem.Int("bias") != 0) return "bias=1 must be 0 for integers";
  if (problem.Int("k") > kMostI8Products) {
    return fmt::format("k={} can overflow i32; at most {} for i8", problem.Int("k"), kMostI8Products);
  }
  return {};
}

// Applies NeedsWidePlanes to the largest S' that these operands can have.
bool HasWidePlanes(const MatmulArgs& op, const Problem& problem, std::span<const Tensor> inputs) {
  const DType out = problem.outputs[0].dtype;
  if (NeedsWidePlanes(out, 0) || IsInt(out)) return NeedsWidePlanes(out, 0);
  const double products = LargestFinite(inputs[0]) * LargestFinite(inputs[1]) * static_cast<double>(op.gemm.k);
  double largest = products * std::max(1.0, std::abs(op.alpha));
  if (op.beta != 0) largest += std::abs(op.beta) * LargestFinite(inputs[op.c_index()]);
  if (op.bias) largest += LargestFinite(inputs[op.bias_index()]);
  return NeedsWidePlanes(out, largest);
}

class Matmul final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = MatmulSchema();
    return schema;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    const std::vector<DType>& types = problem->spec.dtypes;
    const DType a = types.front(), b = types.size() == 1 ? a : types[1], y = types.back();
    if (const std::string text = CheckProductTypes(a, b, y); !text.empty()) return BindError(*problem, text);
    if (const std::string text = CheckProduct(*problem, IsInt(a)); !text.empty()) return BindError(*problem, text);

    const MatmulArgs op(*problem);
    const auto batched = [&](int64_t rows, int64_t columns) {
      return op.gemm.batch != 1 ? Shape{op.gemm.batch, rows, columns} : Shape{rows, columns};
    };
    const auto [m, n, k, batch, transa, transb] = op.gemm;
    problem->inputs = {{"a", a, transa ? batched(k, m) : batched(m, k)},
                       {"b", b, transb ? batched(n, k) : batched(k, n)}};
    if (op.beta != 0) problem->inputs.push_back({"c", y, batched(m, n)});
    if (op.bias) problem->inputs.push_back({"bias", y, {n}});
    problem->outputs = {{"y", y, batched(m, n)}};
    if (const std::string text = SizeProblem(*problem); !text.empty()) return BindError(*problem, text);
    problem->flops =
        2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(batch);
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  Result<AttrList> InferAttrs(const std::vector<Operand>& inputs, AttrList given) const override {
    return InferMatmul(inputs, std::move(given));
  }

  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    const MatmulArgs op(problem);
    const int batch_axes = op.gemm.batch != 1 ? 1 : 0;
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, batch_axes + (op.gemm.transa ? 0 : 1), 0));
    inputs.push_back(FillInput(problem, 1, batch_axes + (op.gemm.transb ? 1 : 0), 1));
    // c and bias are added, not summed over: a role of their own, and any axis.
    for (size_t i = 2; i < problem.inputs.size(); ++i)
      inputs.push_back(FillInput(problem, static_cast<int>(i), -1, 2, static_cast<double>(op.gemm.k)));
    return inputs;
  }

  std::optional<NeutralTerms> WithNeutralTerms(const Problem& problem) const override {
    return NeutralTerms{Rebind(*this, problem, {{"k", "1"}})};
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    const MatmulArgs op(problem);
    Golden golden = GoldenGemm(op.gemm, inputs[0], inputs[1], tier, HasWidePlanes(op, problem, inputs));
    golden.shape = problem.outputs[0].shape;
    if (golden.exact) return golden;
    AddLostInfinities(op, inputs[0], inputs[1], golden);
    AddOperandPlanes(op, inputs[0], inputs[1], golden);
    golden = ApplyEpilogue(op, std::move(golden), inputs);
    SumBeyondDouble(op, inputs, golden);
    return golden;
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return MatmulBound(MatmulArgs(problem), golden, contract, problem.inputs[0].dtype, problem.outputs[0].dtype);
  }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return MatmulTwin(problem, contract, variant);
  }
  int TwinVariants(const Problem& problem, size_t /*output*/, const Contract& contract) const override {
    return MatmulTwinVariants(problem, contract);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return MatmulOmittedTerms(problem, inputs, values, elements);
  }

  ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const override {
    const MatmulArgs op(problem);
    return {.fewest_flops = problem.flops,
            .largest_integer_sum = LargestSumOfIntegers(problem.inputs[0].dtype, op.gemm.k, 2),
            .required_fields = "mid=none",  // a sum never needs intermediates of 16 bits
            .factors = 2,
            .sum = SumForm{.factors = 2, .alpha = op.alpha, .beta = op.beta, .bias = op.bias},
            .peer = {.kind = PeerForm::Kind::kProduct,
                     .terms = op.gemm.k,
                     .bias = op.bias,
                     .plain = op.alpha == 1 && op.beta == 0}};
  }
  std::unique_ptr<SumProducts> Products(const Problem& problem, size_t /*output*/,
                                        std::span<const Tensor> inputs) const override {
    return MatmulProducts(problem, inputs);
  }

  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t /*output*/,
                                               std::span<const Tensor> inputs, const Contract& /*contract*/,
                                               int64_t element) const override {
    return {MatmulTerms(MatmulArgs(problem), inputs, element)};
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override {
    return MatmulSlices(problem);
  }
  std::vector<int> ScaledInputs(const Problem& problem) const override { return MatmulScaledInputs(problem); }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return MatmulRelations(*this, problem);
  }

  CaseSpace Space() const override { return MatmulSpace(); }
};

const RegisterOperator<Matmul> registered_matmul;

}  // namespace
}  // namespace assay

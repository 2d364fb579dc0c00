// SPDX-License-Identifier: Apache-2.0
#include "tests/support/formula/examples.h"

#include <cmath>

#include "harness/core/data/fill/fill.h"

namespace assay::test {
namespace {

using namespace formula;  // NOLINT: formulas read better without

struct Rows {
  Rows(Graph& graph, int64_t rows, int64_t columns)
      : r(AddAxis(graph, "rows", rows)), n(AddAxis(graph, "n", columns)) {}
  Axis r, n;
};

// y = f(x) for each element.
std::function<void(Graph&, int64_t, int64_t)> Elementwise(Expr (*f)(Expr)) {
  return [f](Graph& graph, int64_t rows, int64_t n) {
    const Rows axes(graph, rows, n);
    AddOutput(graph, "y", f(AddInput(graph, "x", axes.r + axes.n)), axes.r + axes.n);
  };
}

// y = f(x, n) for each row, with x's axes.
std::function<void(Graph&, int64_t, int64_t)> Rowwise(Expr (*f)(Expr, Axis)) {
  return [f](Graph& graph, int64_t rows, int64_t n) {
    const Rows axes(graph, rows, n);
    const Expr y = f(AddInput(graph, "x", axes.r + axes.n), axes.n);
    AddOutput(graph, "y", y, Has(y.node().axes, axes.n.id) ? axes.r + axes.n : Axes(axes.r));
  };
}

Expr Softmax(Expr x, Axis n) {
  const Expr e = Exp(Strict(x - Max(x, n)));
  return e / RescaledSum(e, n);
}
Expr LogSoftmax(Expr x, Axis n) {
  const Expr d = Strict(x - Max(x, n));
  return d - Log(RescaledSum(Exp(d), n));
}
Expr LogSumExp(Expr x, Axis n) {
  const Expr m = Maximum(Max(x, n), Const(*x.graph, -1e30));  // a row of -inf gives -inf
  return Log(RescaledSum(Exp(Strict(x - m)), n)) + m;
}
// log of the sum of exp(x - max), as in kernels that keep x - max.
Expr LogTotal(Expr x, Axis n) {
  return Log(RescaledSum(Exp(-BelowMax(x, n)), n));
}
Expr LayerNorm(Expr x, Axis n) {
  const Expr c = x - Mean(x, n);
  return c * Rsqrt(Mean(c * c, n) + 1e-5);
}
// Normalises an intermediate that was stored in bf16, as after a residual connection.
Expr StoredNorm(Expr x, Axis n) {
  const Expr stored = Round(x + 0.1 * Max(x, n), DType::kBF16);
  return stored * Rsqrt(Mean(stored * stored, n) + 1e-6);
}
Expr OnePassVariance(Expr x, Axis n) {
  const Expr mean = Mean(x, n);
  return Max0(Mean(x * x, n) - mean * mean);
}
Expr RmsNorm(Expr x, Axis n) {
  return x * Rsqrt(Mean(x * x, n) + 1e-6);
}
Expr Norm(Expr x, Axis n) {
  return Sqrt(Sum(x * x, n));
}
Expr SumOfRow(Expr x, Axis n) {
  return Sum(x, n);
}
Expr MeanOfRow(Expr x, Axis n) {
  return Mean(x, n);
}
Expr ProductOfRow(Expr x, Axis n) {
  return Prod(x, n);
}
Expr RunningSum(Expr x, Axis n) {
  return CumSum(x, n);
}
Expr Smoothed(Expr x, Axis n) {
  return Recur(Sigmoid(x), Tanh(x) * 0.5, n);
}
Expr SumOfCentred(Expr x, Axis n) {
  return Sum(x - Mean(x, n), n);
}
Expr Turned(Expr x, Axis n) {
  const int64_t half = n.extent / 2;
  const Expr other = At(x, n, n, [&](int64_t i) { return i < 2 * half ? (i + half) % (2 * half) : -1; });
  return x * 0.6 - other * 0.8;
}

Expr GeluErf(Expr x) {
  return 0.5 * x * (1.0 + Erf(x * 0.70710678118654752));
}
Expr GeluTanh(Expr x) {
  return 0.5 * x * (1.0 + Tanh(0.79788456080286536 * (x + 0.044715 * (x * x * x))));
}
Expr Silu(Expr x) {
  return x * Sigmoid(x);
}
Expr Softplus(Expr x) {
  return Log1p(Exp(-Abs(x))) + Max0(x);
}
Expr Clamped(Expr x) {
  return Select(Less(x, Const(*x.graph, 0.5)), Maximum(x, Const(*x.graph, -0.5)), Sqrt(Abs(x) + 1.0));
}

void BuildProjection(Graph& graph, int64_t rows, int64_t n) {
  const Rows axes(graph, rows, n);
  const Axis columns = AddAxis(graph, "columns", 5);
  const Expr a = AddInput(graph, "a", axes.r + axes.n), b = AddInput(graph, "b", axes.n + columns);
  AddOutput(graph, "y", Contraction(a, b, axes.n), axes.r + columns);
}

void BuildAttention(Graph& graph, int64_t rows, int64_t n) {
  const Rows axes(graph, rows, n);
  const Axis d = AddAxis(graph, "d", 6), v = AddAxis(graph, "dv", 4);
  const Expr q = AddInput(graph, "q", axes.r + d), k = AddInput(graph, "k", axes.n + d);
  const Expr s = Contraction(q, k, d) * 0.40824829046386302;
  const Expr e = Exp(Strict(s - Max(s, axes.n)));
  const Expr values = AddInput(graph, "v", axes.n + v);
  AddOutput(graph, "o", Sum(e * values, axes.n) / RescaledSum(e, axes.n), axes.r + v);
}

void BuildAffineNorm(Graph& graph, int64_t rows, int64_t n) {
  const Rows axes(graph, rows, n);
  const Expr x = AddInput(graph, "x", axes.r + axes.n);
  const Expr gamma = AddInput(graph, "gamma", axes.n), beta = AddInput(graph, "beta", axes.n);
  AddOutput(graph, "y", LayerNorm(x, axes.n) * gamma + beta, axes.r + axes.n);
}

// With mean and deviation as inputs, which need not be those of x.
void BuildGivenNorm(Graph& graph, int64_t rows, int64_t n) {
  const Rows axes(graph, rows, n);
  const Expr x = AddInput(graph, "x", axes.r + axes.n);
  const Expr mean = AddInput(graph, "mean", axes.r), rstd = AddInput(graph, "rstd", axes.r);
  const Expr gamma = AddInput(graph, "gamma", axes.n), beta = AddInput(graph, "beta", axes.n);
  AddOutput(graph, "y", (x - mean) * rstd * gamma + beta, axes.r + axes.n);
}

// The gradient of a normalisation.
void BuildGradient(Graph& graph, int64_t rows, int64_t n) {
  const Rows axes(graph, rows, n);
  const Expr g = AddInput(graph, "g", axes.r + axes.n), x = AddInput(graph, "x", axes.r + axes.n);
  const Expr mean = AddInput(graph, "mean", axes.r), rstd = AddInput(graph, "rstd", axes.r);
  const Expr z = (x - mean) * rstd;
  AddOutput(graph, "dx", rstd * (g - Mean(g, axes.n) - z * Mean(g * z, axes.n)), axes.r + axes.n);
}

}  // namespace

const std::vector<Example>& AllExamples() {
  static const std::vector<Example> all = {
      {"softmax", Rowwise(Softmax)},
      {"log_softmax", Rowwise(LogSoftmax)},
      {"logsumexp", Rowwise(LogSumExp)},
      {"log_total", Rowwise(LogTotal)},
      {"layer_norm", BuildAffineNorm},
      {"layer_norm_far", BuildAffineNorm, 30},
      {"given_norm", BuildGivenNorm},
      {"norm_gradient", BuildGradient},
      {"one_pass_variance", Rowwise(OnePassVariance), 2},
      {"rms_norm", Rowwise(RmsNorm)},
      {"stored_norm", Rowwise(StoredNorm)},
      {"l2", Rowwise(Norm)},
      {"sum", Rowwise(SumOfRow)},
      {"mean", Rowwise(MeanOfRow)},
      {"prod", Rowwise(ProductOfRow), 1},
      {"cumsum", Rowwise(RunningSum)},
      {"recur", Rowwise(Smoothed)},
      {"sum_of_centred", Rowwise(SumOfCentred)},
      {"turned", Rowwise(Turned)},
      {"exp", Elementwise(Exp)},
      {"log", Elementwise(Log), 1, true},
      {"log1p", Elementwise(Log1p), 0, true},
      {"tanh", Elementwise(Tanh)},
      {"erf", Elementwise(Erf)},
      {"rsqrt", Elementwise(Rsqrt), 1, true},
      {"gelu_erf", Elementwise(GeluErf)},
      {"gelu_tanh", Elementwise(GeluTanh)},
      {"silu", Elementwise(Silu)},
      {"softplus", Elementwise(Softplus)},
      {"clamped", Elementwise(Clamped)},
      {"projection", BuildProjection},
      {"attention", BuildAttention},
  };
  return all;
}

const Example& ExampleNamed(const std::string& name) {
  for (const Example& example : AllExamples()) {
    if (example.name == name) return example;
  }
  std::abort();
}

std::vector<std::vector<double>> ExampleInputs(const Graph& graph, const Example& example, DType type, uint64_t seed) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    AxisSet set = 0;
    for (const int axis : graph.inputs[i].axes) set |= SetOf(axis);
    Tensor tensor(type, {graph.ExtentOf(set)});
    FillTensor({}, seed, i, 0, 0, tensor);
    std::vector<double> values = tensor.ToDoubles();
    for (double& x : values) {
      x = i == 0 ? x + example.center : x;
      if (example.positive) x = std::fabs(x);
    }
    tensor.SetDoubles(values);
    inputs.push_back(tensor.ToDoubles());
  }
  return inputs;
}

}  // namespace assay::test

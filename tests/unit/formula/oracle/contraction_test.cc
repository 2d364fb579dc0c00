// SPDX-License-Identifier: Apache-2.0
// Operators that stay written by hand beside their formulas: golden values agree within both errors, and bounds by hand
// are hardly larger than the formula's. What is derived by hand is witnessed by rules that know nothing of the
// operator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ops/attention/attention.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/by_hand.h"

namespace assay::test {
namespace {

using namespace formula;  // NOLINT: formulas read better without

using Elements = std::vector<std::vector<double>>;

// A formula of a problem, and the elements of its operands. What has a type is an operand of the problem, what has none
// are numbers in double, rounded from exact ones.
struct Written {
  Graph graph;
  Elements elements;
  std::vector<DType> types;
  double table_error = 0x1p-52;  // of the numbers in double
};

void WriteMatmul(const Problem& p, const Elements& inputs, Written& to) {
  Graph& g = to.graph;
  const formula::Axis m = AddAxis(g, "m", p.Int("m")), n = AddAxis(g, "n", p.Int("n")), k = AddAxis(g, "k", p.Int("k"));
  const Expr a = AddInput(g, "a", m + k), b = AddInput(g, "b", k + n);
  AddOutput(g, "o", Contraction(a, b, k), m + n);
  to.elements = inputs;
}

// Inputs of each output of a convolution along one axis, channels before taps; zeros outside.
std::vector<double> WindowsOf(const Problem& p, const std::vector<double>& x) {
  const Shape &x_shape = p.inputs[0].shape, &w_shape = p.inputs[1].shape, &y_shape = p.outputs[0].shape;
  std::vector<double> windows;
  for (int64_t n = 0; n < x_shape[0]; ++n) {
    for (int64_t at = 0; at < y_shape[2]; ++at) {
      for (int64_t term = 0; term < w_shape[1] * w_shape[2]; ++term) {
        const int64_t c = term / w_shape[2], from = at * p.List("stride")[0] + term % w_shape[2] - p.List("pad")[0];
        const bool inside = from >= 0 && from < x_shape[2];
        windows.push_back(inside ? x[static_cast<size_t>((n * x_shape[1] + c) * x_shape[2] + from)] : 0);
      }
    }
  }
  return windows;
}

void WriteConv(const Problem& p, const Elements& inputs, Written& to) {
  Graph& g = to.graph;
  const Shape &w_shape = p.inputs[1].shape, &y_shape = p.outputs[0].shape;
  const formula::Axis batch = AddAxis(g, "n", y_shape[0]), o = AddAxis(g, "o", y_shape[1]),
                      at = AddAxis(g, "at", y_shape[2]);
  const formula::Axis terms = AddAxis(g, "ck", w_shape[1] * w_shape[2]);
  const Expr x = AddInput(g, "windows", batch + at + terms), w = AddInput(g, "w", o + terms);
  AddOutput(g, "y", Contraction(x, w, terms), batch + o + at);
  to.elements = {WindowsOf(p, inputs[0]), inputs[1]};
}

// Attention as blocked kernels compute it: q and k are scaled separately, scores and their maximum are each multiplied
// by log2 e for exp2, numerator and denominator are rescaled when a larger score comes. In units of log2 e that number
// is an operand 1, whose products round; its own error is one more such rounding. Several units share the keys. Each
// divides by its own sum, which is two more roundings of each weight, and keeps its log-sum, here that of one key; they
// are weighed by the difference to the log-sum of all.
void WriteAttention(const Problem& p, const Elements& inputs, Written& to) {
  Graph& g = to.graph;
  const Shape &q_shape = p.inputs[0].shape, &k_shape = p.inputs[1].shape;
  const formula::Axis b = AddAxis(g, "b", q_shape[0]), h = AddAxis(g, "h", q_shape[1]), l = AddAxis(g, "l", q_shape[2]);
  const formula::Axis s = AddAxis(g, "s", k_shape[2]), d = AddAxis(g, "d", q_shape[3]),
                      dv = AddAxis(g, "dv", q_shape[3]);
  const Expr q = AddInput(g, "q", b + h + l + d), k = AddInput(g, "k", b + h + s + d),
             v = AddInput(g, "v", b + h + s + dv), one = AddInput(g, "log2e", {});
  const double root = std::sqrt(AttentionArgs(p).scale);
  int exponent = 0;
  const bool is_exact = std::frexp(root, &exponent) == 0.5;
  const auto scale = [&](Expr x) { return is_exact ? root * x : one * (root * x); };
  const Expr scores = Contraction(scale(q), scale(k), d);
  const Expr max = Max(scores, s), log_sums = Strict(one * Strict(one * scores - one * max) + one * max);
  const Expr total = RescaledSum(one * (one * Exp(Strict(log_sums - max))), s);
  const Expr log_sum = Strict(max + one * Log(total));
  AddOutput(g, "o", RescaledSum(one * (one * Exp(Strict(log_sums - log_sum))) * v, s), b + h + l + dv);
  to.elements = inputs;
  to.elements.push_back({1});
  to.table_error = 0;
}

// The real parts of a transform of real numbers, by its definition.
void WriteFft(const Problem& p, const Elements& inputs, Written& to) {
  Graph& g = to.graph;
  const int64_t n = p.inputs[0].shape[1], bins = p.outputs[0].shape[1];
  const formula::Axis batch = AddAxis(g, "batch", p.inputs[0].shape[0]), t = AddAxis(g, "n", n),
                      k = AddAxis(g, "k", bins);
  const Expr x = AddInput(g, "x", batch + t), cosines = AddInput(g, "cos", t + k);
  AddOutput(g, "re", Contraction(x, cosines, t), batch + k);
  to.elements = inputs;
  std::vector<double>& table = to.elements.emplace_back();
  for (int64_t i = 0; i < n * bins; ++i) {
    const auto turn = static_cast<long double>(i / bins * (i % bins) % n) / static_cast<long double>(n);
    table.push_back(static_cast<double>(std::cos(2 * std::numbers::pi_v<long double> * turn)));
  }
}

struct Oracle {
  const char* id;  // "{}": types, then the fill
  void (*write)(const Problem&, const Elements& inputs, Written&);
  double least = 0.999, most = 1.001;  // of the bound by hand over the formula's; second orders are cut off differently
  int64_t components = 1;              // of the output by hand for one of the formula's
};

// Errors of scores are in numerator and denominator of attention, which the bound by hand sees where they cancel. It
// takes products with log2 e and log-sums relative to sum |q| |k| or to the largest score, and logarithms of sums as
// those of any split, not of units that have one key each: of few keys that shows. That attention's bound by hand is
// not too small is shown by simulated executions (attention_units_test, false_alarm_test); the formula's is no lower
// limit.
constexpr Oracle kOracles[] = {
    {"matmul/{}/m=7,n=9,k=64/fill={}/seed=3", WriteMatmul},
    {"matmul/{}/m=3,n=5,k=1000/fill={}/seed=3", WriteMatmul},
    {"conv/{}/n=2,c=12,o=3,i=20,k=3,pad=1,stride=2/fill={}/seed=3", WriteConv},
    {"attention/{}/b=1,h=2,l=5,s=2,d=16/fill={}/seed=3", WriteAttention, 0, 1.18},
    {"attention/{}/b=1,h=2,l=5,s=7,d=12,scale=0.5625/fill={}/seed=3", WriteAttention, 0, 1.04},
    {"attention/{}/b=1,h=2,l=5,s=40,d=16/fill={}/seed=3", WriteAttention, 0, 1},
    {"attention/{}/b=1,h=2,l=5,s=40,d=64,scale=0.140625/fill={}/seed=3", WriteAttention, 0, 1},
    {"attention/{}/b=1,h=2,l=5,s=500,d=16/fill={}/seed=3", WriteAttention, 0, 1},
};

// The errors of the numbers in double that a formula has beside the operands.
ErrorRules WithTables(ErrorRules rules, size_t operands, size_t tables, double error) {
  rules.inputs.resize(operands);
  for (size_t i = 0; i < tables; ++i) rules.inputs.push_back({.relative = error, .lost_below = 4 * error});
  return rules;
}

struct Ratio {
  double least = HUGE_VAL, largest = 0;
  void Add(double by_hand, double by_formula) {
    ASSERT_TRUE(by_formula > 0 && std::isfinite(by_formula)) << by_formula;
    least = std::min(least, by_hand / by_formula);
    largest = std::max(largest, by_hand / by_formula);
  }
};

void Compare(const Oracle& oracle, const char* types, const char* fill, const char* declaration, Ratio& ratio) {
  const std::string id = fmt::format(fmt::runtime(oracle.id), types, fill);
  const ByHand by_hand(id, declaration);
  const Problem& problem = by_hand.problem;
  const Golden& golden = by_hand.golden;
  const bool dd = by_hand.double_double;

  Written written;
  Elements elements;
  for (const Tensor& input : by_hand.inputs)
    elements.push_back(input.ToDoubles()), written.types.push_back(input.dtype());
  oracle.write(problem, elements, written);
  const size_t tables = written.elements.size() - written.types.size();
  const ErrorRules rules[] = {WithTables(ContractRules(by_hand.contract, written.types, dd), by_hand.inputs.size(),
                                         tables, written.table_error),
                              WithTables(GoldenRules(dd), by_hand.inputs.size(), tables, written.table_error)};
  const Evaluation got = Evaluate(written.graph, written.graph.outputs[0], written.elements, dd, rules);
  for (size_t i = 0; i < got.value.size(); ++i) {
    const size_t value = i * static_cast<size_t>(oracle.components);  // of an element its first component
    const auto at = static_cast<int64_t>(value);
    const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[value];
    const double distance = std::fabs((got.value[i] - golden.value[value]) + ((dd ? got.value_lo[i] : 0) - lo));
    const double error = PlaneAt(golden.error, at, golden.size());
    ASSERT_LE(distance, error + got.reach[1][i]) << id << " element " << i;
    ratio.Add(by_hand.bound.At(golden, at), got.reach[0][i] + got.reach[1][i]);
  }
}

TEST(FormulaOracle, BoundsByHandAreHardlyLargerThanOfFormulas) {
  for (const Oracle& oracle : kOracles) {
    Ratio ratio;
    for (const char* fill : {"normal", "uniform", "outlier", "cancel-1e4"}) {
      Compare(oracle, "f32", fill, "f32;math=2", ratio);
      Compare(oracle, "bf16", fill, "f32acc;math=2", ratio);
      Compare(oracle, "f64", fill, "f64;math=2", ratio);
    }
    fmt::print("{:62} bound by hand / of the formula: {:.3f} to {:.3f}\n", oracle.id, ratio.least, ratio.largest);
    RecordProperty(fmt::format("by_hand {}", oracle.id), fmt::format("{:.3f} {:.3f}", ratio.least, ratio.largest));
    EXPECT_GE(ratio.least, oracle.least) << oracle.id;
    EXPECT_LE(ratio.largest, oracle.most) << oracle.id;
  }
}

// The definition is one schedule of many, none of which is computed so: its bound says nothing of that of butterflies.
TEST(FormulaOracle, TransformsAreWhatTheirDefinitionSays) {
  for (const char* id :
       {"fft/{}/kind=r2c,n=64,batch=3/fill={}/seed=3", "fft/{}/kind=r2c,n=61,batch=2/fill={}/seed=3"}) {
    Ratio ratio;
    const Oracle oracle{.id = id, .write = WriteFft, .components = 2};
    for (const char* fill : {"normal", "uniform", "outlier"}) Compare(oracle, "f32-c64", fill, "f32;math=2", ratio);
  }
}

}  // namespace
}  // namespace assay::test

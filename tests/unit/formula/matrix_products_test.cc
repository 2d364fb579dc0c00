// SPDX-License-Identifier: Apache-2.0
// Contractions by matrix products say what their terms one by one say: values within both certified errors, errors and
// bounds as large, the same elements of which nothing is promised.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"
#include "ops/formula/stages.h"
#include "tests/support/full.h"

namespace assay::test {
namespace {

using namespace formula;  // NOLINT: formulas read better without

struct WrittenProducts {
  Graph graph;
  std::vector<std::vector<double>> inputs;
};

std::vector<double> NormalNumbers(const Graph& graph, size_t input, double scale = 1) {
  std::mt19937_64 random(input + 1);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(static_cast<size_t>(graph.ExtentOf(SetOf(graph.inputs[input].axes))));
  for (double& value : values) value = static_cast<float>(normal(random));
  return values;
}

void Draw(WrittenProducts& example) {
  for (size_t i = 0; i < example.graph.inputs.size(); ++i) example.inputs.push_back(NormalNumbers(example.graph, i));
}

void WriteProduct(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis m = AddAxis(g, "m", 40), n = AddAxis(g, "n", 50), k = AddAxis(g, "k", 130);
  AddOutput(g, "y", Contraction(AddInput(g, "a", m + k), AddInput(g, "b", k + n), k), m + n);
}

void WriteTransposed(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis n = AddAxis(g, "n", 33), k = AddAxis(g, "k", 70), m = AddAxis(g, "m", 17), b = AddAxis(g, "b", 3);
  const Expr bias = AddInput(g, "bias", n);
  const Expr x = AddInput(g, "x", k + b + m), w = AddInput(g, "w", n + b + k);
  AddOutput(g, "y", 0.5 * Contraction(w, x, k) + bias, m + n + b);
}

Expr Normalised(Expr x, formula::Axis along, Expr gamma) {
  const Expr c = x - UpdatedMean(x, along);
  return c * Rsqrt(Mean(c * c, along) + 1e-5) * gamma;
}

// A scaled operand: products of four factors, whose order is any.
void WriteScaled(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis m = AddAxis(g, "m", 24), k = AddAxis(g, "k", 96), n = AddAxis(g, "n", 40);
  const Expr x = AddInput(g, "x", m + k), gamma = AddInput(g, "gamma", k);
  const Expr y = x * Rsqrt(Mean(x * x, k) + 1e-5) * gamma;
  AddOutput(g, "y", Contraction(y, AddInput(g, "w", k + n), k), m + n);
}

// A norm before a product: errors that all terms of a row share.
void WriteNorm(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis m = AddAxis(g, "m", 24), k = AddAxis(g, "k", 96), n = AddAxis(g, "n", 40);
  const Expr x = AddInput(g, "x", m + k), gamma = AddInput(g, "gamma", k), beta = AddInput(g, "beta", k);
  const Expr y = Contraction(Normalised(x, k, gamma) + beta, AddInput(g, "w", k + n), k);
  AddOutput(g, "y", y * Sigmoid(y), m + n);
}

// Attention of normalised operands, and a projection of all heads: symbols along some of the summed axes.
void WriteAttention(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis h = AddAxis(g, "h", 4), l = AddAxis(g, "l", 24), s = AddAxis(g, "s", 30), d = AddAxis(g, "d", 16);
  const formula::Axis dv = AddAxis(g, "dv", 16), o = AddAxis(g, "o", 20);
  const Expr q = AddInput(g, "q", h + l + d), k = AddInput(g, "k", h + s + d), v = AddInput(g, "v", h + s + dv);
  const Expr gamma = AddInput(g, "gamma", d), w = AddInput(g, "w", h + dv + o);
  const Expr scores = 0.25 * Contraction(Normalised(q, d, gamma), Normalised(k, d, gamma), d);
  const Expr p = Exp(Strict(scores - Max(scores, s)));
  const Expr values = Contraction(p / RescaledSum(p, s), v, s);
  AddOutput(g, "y", Contraction(values, w, h + dv), l + o);
}

// Both factors have the error of one sum.
void WriteShared(WrittenProducts& e) {
  Graph& g = e.graph;
  const formula::Axis m = AddAxis(g, "m", 30), n = AddAxis(g, "n", 30), k = AddAxis(g, "k", 64);
  const Expr x = AddInput(g, "x", m + k), scale = Rsqrt(Mean(x * x, m + k));
  AddOutput(g, "y", Contraction(x * scale, AddInput(g, "w", k + n) * scale, k), m + n);
}

std::vector<ErrorRules> AllRules(size_t inputs) {
  std::vector<ErrorRules> rules = {GoldenRules(false), SigmaRules()};
  const std::vector<DType> types(inputs, DType::kF32);
  for (const char* contract : {"f32;math=2", "f32acc;mid=bf16", "tf32", "f32;ftz=all;math=4"}) {
    rules.push_back(ContractRules(ParseDeclaration(contract).value(), types, false));
    rules.push_back(SystematicRules(ParseDeclaration(contract).value(), types, false));
  }
  return rules;
}

// Deviations are estimated at the ends of panels (golden/sigma.md), as those of matmul are: too large by half where a
// sum has but one panel.
void ExpectDeviations(const std::vector<double>& got, const std::vector<double>& one_by_one) {
  double squares = 0, expected = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double terms = one_by_one[i];
    if (std::isinf(terms)) continue;
    ASSERT_TRUE(got[i] >= 0.3 * terms && got[i] <= 6 * terms) << i << ": " << got[i] / terms;
    squares += got[i] * got[i], expected += terms * terms;
  }
  EXPECT_GE(std::sqrt(squares), 0.95 * std::sqrt(expected)) << std::sqrt(squares / expected);
  EXPECT_LE(std::sqrt(squares), 1.7 * std::sqrt(expected)) << std::sqrt(squares / expected);
}

void Compare(const WrittenProducts& example) {
  const Graph& graph = example.graph;
  const OutputInfo& output = graph.outputs[0];
  const std::vector<ErrorRules> rules = AllRules(graph.inputs.size());
  std::vector<int64_t> elements(static_cast<size_t>(graph.ExtentOf(OutputSet(output))));
  std::iota(elements.begin(), elements.end(), 0);
  const Evaluation one_by_one = EvaluateElements(graph, output, example.inputs, false, rules, elements);
  const Evaluation got = Evaluate(graph, output, example.inputs, false, rules);
  EXPECT_EQ(got.any_instead_of_nan, one_by_one.any_instead_of_nan);
  for (size_t i = 0; i < elements.size(); ++i) {
    const double y = got.value[i], expected = one_by_one.value[i];
    if (!std::isfinite(expected)) {
      EXPECT_TRUE(y == expected || (std::isnan(y) && std::isnan(expected))) << i;
    } else {
      EXPECT_LE(std::fabs(y - expected), got.reach[0][i] + one_by_one.reach[0][i]) << i;
    }
    for (size_t rule = 0; rule < rules.size(); ++rule) {
      const double reach = got.reach[rule][i], terms = one_by_one.reach[rule][i];
      if (terms == 0 || std::isinf(terms)) {
        EXPECT_EQ(reach, terms) << i << " rule " << rule;
      } else if (!rules[rule].quadrature) {
        ASSERT_TRUE(reach >= 0.9999 * terms && reach <= 1.001 * terms)
            << i << " rule " << rule << ": " << reach / terms;
      }
    }
  }
  ExpectDeviations(got.reach[1], one_by_one.reach[1]);
}

TEST(MatrixProducts, SayWhatTheirTermsSay) {
  for (const auto write : {WriteProduct, WriteTransposed, WriteScaled, WriteNorm, WriteAttention, WriteShared}) {
    WrittenProducts example;
    write(example);
    Draw(example);
    const OutputInfo& output = example.graph.outputs[0];
    const size_t found = FindMatrixProducts(example.graph, output.node).size();
    const std::vector<ErrorRules> all = AllRules(example.graph.inputs.size());
    const std::span rules = std::span(all).first(4);  // scores of 8 bits have no bound, so that terms are evaluated
    const StagedFormula staged(example.graph, output, example.inputs, false, rules, kMostHeld);
    EXPECT_GT(found, 0U);
    EXPECT_EQ(staged.stored(), write == WriteShared ? 0 : found);
    Compare(example);
  }
}

TEST(MatrixProducts, FewSpecialNumbersAreEvaluatedTermByTerm) {
  for (const auto write : {WriteProduct, WriteTransposed, WriteScaled, WriteNorm}) {
    WrittenProducts example;
    write(example);
    Draw(example);
    for (std::vector<double>& input : example.inputs) {
      if (input.size() > 1000) input[200] = HUGE_VAL, input[700] = std::nan(""), input[900] = 0;
    }
    const std::vector<ErrorRules> all = AllRules(example.graph.inputs.size());
    const StagedFormula staged(example.graph, example.graph.outputs[0], example.inputs, false, all, kMostHeld);
    EXPECT_EQ(staged.stored(), write == WriteNorm ? 0U : 1U);  // sums with NaN that are factors go term by term
    Compare(example);
  }
}

TEST(MatrixProducts, ZerosAndHugeAndTinyNumbers) {
  for (const double scale : {1e-30, 1e18, 1e30}) {
    for (const auto write : {WriteProduct, WriteTransposed, WriteNorm}) {
      WrittenProducts example;
      write(example);
      for (size_t i = 0; i < example.graph.inputs.size(); ++i) {
        example.inputs.push_back(NormalNumbers(example.graph, i, i == 1 ? scale : 1));
        for (size_t k = 0; k < example.inputs[i].size(); k += 7) example.inputs[i][k] = 0;
      }
      std::fill_n(example.inputs.back().begin(), 130, 0.0);
      Compare(example);
    }
  }
}

// Every number is that of the evaluation at once, but for the order of sums.
TEST(MatrixProducts, AreEvaluatedInSlicesWhereTheyAreLarge) {
  for (const auto write : {WriteProduct, WriteTransposed, WriteNorm, WriteAttention}) {
    WrittenProducts example;
    write(example);
    Draw(example);
    example.inputs[0][5] = std::nan("");
    const OutputInfo& output = example.graph.outputs[0];
    const std::vector<ErrorRules> all = AllRules(example.graph.inputs.size());
    const std::span rules = std::span(all).first(test::kIsFull ? all.size() : 4);
    const Evaluation whole = Evaluate(example.graph, output, example.inputs, false, rules);
    ASSERT_TRUE(FindSlicing(example.graph, output, 500));
    const Evaluation sliced = Evaluate(example.graph, output, example.inputs, false, rules, 500);
    EXPECT_EQ(sliced.any_instead_of_nan, whole.any_instead_of_nan);
    for (size_t i = 0; i < whole.value.size(); ++i) {
      if (std::isnan(whole.value[i])) {
        EXPECT_TRUE(std::isnan(sliced.value[i])) << i;
      } else {
        ASSERT_LE(std::fabs(sliced.value[i] - whole.value[i]), 2 * whole.reach[0][i]) << i;
      }
      for (size_t rule = 0; rule < rules.size(); ++rule) {
        if (std::isinf(whole.reach[rule][i]) || rules[rule].quadrature) continue;
        ASSERT_NEAR(sliced.reach[rule][i], whole.reach[rule][i], 1e-3 * whole.reach[rule][i]) << i << " rule " << rule;
      }
    }
  }
}

}  // namespace
}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// Algorithms that are no order of the formula's own operations, but compute the same: Welford's, scans as trees.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/core/data/fill/rng.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/examples.h"

namespace assay::formula {
namespace {

struct Moments {
  float n = 0, mean = 0, squares = 0;
};

// Moments of x in chunks, joined as Chan, Golub and LeVeque do.
Moments Welford(const std::vector<float>& x, size_t chunk) {
  Moments all;
  for (size_t begin = 0; begin < x.size(); begin += chunk) {
    Moments part;
    for (size_t i = begin; i < std::min(x.size(), begin + chunk); ++i) {
      part.n += 1;
      const float delta = x[i] - part.mean;
      part.mean += delta / part.n;
      part.squares += delta * (x[i] - part.mean);
    }
    const float n = all.n + part.n, delta = part.mean - all.mean;
    all.squares += part.squares + delta * delta * all.n * part.n / n;
    all.mean += delta * (part.n / n);
    all.n = n;
  }
  return all;
}

TEST(FormulaOrders, LayerNormByWelfordStaysWithinTheContract) {
  const Contract contract = ParseDeclaration("f32;math=1").value();
  for (const char* name : {"layer_norm", "layer_norm_far"}) {
    for (const int64_t n : {3, 64, 1024, 5000}) {
      const test::Example& example = test::ExampleNamed(name);
      Graph graph;
      example.build(graph, 4, n);
      const auto inputs = test::ExampleInputs(graph, example, DType::kF32, 7);
      const ErrorRules rules[] = {ContractRules(contract, {DType::kF32, DType::kF32, DType::kF32}, false),
                                  GoldenRules(false)};
      const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
      double worst = 0;
      for (size_t row = 0; row < 4; ++row) {
        const std::vector<float> x(inputs[0].begin() + static_cast<int64_t>(row) * n,
                                   inputs[0].begin() + static_cast<int64_t>(row + 1) * n);
        for (const size_t chunk : {size_t{1}, size_t{16}, size_t{1000}, x.size()}) {
          const Moments moments = Welford(x, chunk);
          const float rstd = 1 / std::sqrt(moments.squares / moments.n + 1e-5F);
          for (size_t i = 0; i < x.size(); ++i) {
            const float y =
                (x[i] - moments.mean) * rstd * static_cast<float>(inputs[1][i]) + static_cast<float>(inputs[2][i]);
            const size_t at = row * x.size() + i;
            worst = std::max(worst, std::fabs(y - got.value[at]) / (got.reach[0][at] + got.reach[1][at]));
          }
        }
      }
      EXPECT_LE(worst, 1) << name << " " << n;
      EXPECT_GT(worst, 1e-4) << name << " " << n;
    }
  }
}

struct Step {
  float a = 1, b = 0;
};
Step Then(Step first, Step second) {
  return {second.a * first.a, second.a * first.b + second.b};
}

// Inclusive scans: one after the other, in chunks, as a tree by doubling.
std::vector<float> Scan(const std::vector<Step>& steps, size_t chunk) {
  std::vector<Step> h = steps;
  if (chunk == 0) {
    for (size_t distance = 1; distance < h.size(); distance *= 2) {
      std::vector<Step> next = h;
      for (size_t i = distance; i < h.size(); ++i) next[i] = Then(h[i - distance], h[i]);
      h = next;
    }
  } else {
    for (size_t i = 0; i < h.size(); ++i) {
      if (i % chunk != 0) h[i] = Then(h[i - 1], h[i]);
    }
    for (size_t i = chunk; i < h.size(); ++i) h[i] = Then(h[i / chunk * chunk - 1], h[i]);
  }
  std::vector<float> values;
  for (const Step& step : h) values.push_back(step.b);
  return values;
}

TEST(FormulaOrders, RecurrencesInAnyAssociationStayWithinTheContract) {
  const Contract contract = ParseDeclaration("f32;math=1").value();
  const ErrorRules rules[] = {ContractRules(contract, {DType::kF32, DType::kF32}, false), GoldenRules(false)};
  for (const bool plain : {false, true}) {
    for (const double scale : {0.01, 0.5, 0.99, 1.0}) {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        constexpr int64_t kSteps = 300;
        Graph graph;
        const Axis t = AddAxis(graph, "t", kSteps);
        const Expr a = AddInput(graph, "a", t), b = AddInput(graph, "b", t);
        AddOutput(graph, "h", plain ? CumSum(b, t) : Recur(a, b, t), t);
        std::vector<std::vector<double>> inputs(2);
        std::vector<Step> steps;
        const RandomStream random(seed, 5);
        for (uint64_t i = 0; i < kSteps; ++i) {
          const auto draw = [&](uint64_t k) { return static_cast<double>(random.Below(k, 1 << 20)) * 0x1p-20; };
          const float factor = plain ? 1 : static_cast<float>(scale * (seed % 2 == 0 ? draw(3 * i) : 1 - 0x1p-8));
          const auto term = static_cast<float>(draw(3 * i + 1) - (seed % 3 == 0 ? 0.5 : 0));
          steps.push_back({factor, term});
          inputs[0].push_back(factor), inputs[1].push_back(term);
        }
        const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
        for (const size_t chunk : {size_t{0}, size_t{1}, size_t{7}, size_t{64}, size_t{1000}}) {
          const std::vector<float> h = Scan(steps, chunk);
          for (size_t i = 0; i < h.size(); ++i) {
            EXPECT_LE(std::fabs(h[i] - got.value[i]), got.reach[0][i] + got.reach[1][i])
                << "plain=" << plain << " a<=" << scale << " seed " << seed << " chunk " << chunk << " step " << i;
          }
        }
      }
    }
  }
}

// The error of each row's sum meets all columns alike, however the sum over rows and columns takes them.
TEST(FormulaOrders, ASumOverTwoAxesKnowsWhatIsSharedAlongOneOfThem) {
  constexpr int64_t kRows = 2, kColumns = 64, kTerms = 16384;
  const ErrorRules rules[] = {SigmaRules()};
  const auto deviation = [&](bool sums_alone) {
    Graph graph;
    const Axis a = AddAxis(graph, "a", kRows), b = AddAxis(graph, "b", kColumns), c = AddAxis(graph, "c", kTerms);
    const Expr sums = Sum(AddInput(graph, "x", a + c), c);
    const Expr weights = AddInput(graph, "w", a + b);
    if (sums_alone) {
      AddOutput(graph, "y", sums + 0.0 * Sum(weights, b), a);
    } else {
      AddOutput(graph, "y", Sum(sums * weights, a + b), {});
    }
    const std::vector<std::vector<double>> inputs = {std::vector<double>(kRows * kTerms, 1.5),
                                                     std::vector<double>(kRows * kColumns, 1)};
    return Evaluate(graph, graph.outputs[0], inputs, false, rules).reach[0][0];
  };
  const double of_one = deviation(true), of_all = deviation(false);
  EXPECT_GT(of_one, 0);
  EXPECT_GE(of_all, 0.99 * kColumns * std::sqrt(kRows) * of_one);
  EXPECT_LE(of_all, 1.5 * kColumns * kRows * of_one);
}

}  // namespace
}  // namespace assay::formula

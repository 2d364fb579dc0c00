// SPDX-License-Identifier: Apache-2.0
// Formulas beside operators whose golden values are written by hand: values agree within both errors, and where the
// bound is written by hand too, the formula's is hardly looser.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/by_hand.h"
#include "tests/support/formula/examples.h"

namespace assay::test {
namespace {

struct Pair {
  const char* formula;  // of the examples, [rows, n]
  const char* id;       // "{}": the fill
  bool bound_by_hand = true;
};

constexpr Pair kPairs[] = {
    {"softmax", "softmax/{}/shape=16x{},axis=1/fill={}/seed=3", false},
    {"log_softmax", "softmax/{}/shape=16x{},axis=1,log=1/fill={}/seed=3", false},
    {"logsumexp", "reduce/{}/shape=16x{},axes=1,kind=logsumexp/fill={}/seed=3"},
    {"sum", "reduce/{}/shape=16x{},axes=1/fill={}/seed=3"},
    {"mean", "reduce/{}/shape=16x{},axes=1,kind=mean/fill={}/seed=3"},
    {"l2", "reduce/{}/shape=16x{},axes=1,kind=l2/fill={}/seed=3"},
    {"prod", "reduce/{}/shape=16x{},axes=1,kind=prod/fill={}/seed=3"},
};

struct Ratios {
  double worst = 0, logarithms = 0;
  int64_t count = 0;
};

// Bounds before the output's rounding, E_gold included, element by element.
void Compare(const Pair& pair, std::string_view type, int64_t n, std::string_view fill, const char* declaration,
             Ratios& ratios) {
  const std::string id = fmt::format(fmt::runtime(pair.id), type, n, fill);
  const ByHand by_hand(id, declaration);
  const Problem& problem = by_hand.problem;
  const Golden& golden = by_hand.golden;
  const bool dd = by_hand.double_double;

  formula::Graph graph;
  ExampleNamed(pair.formula).build(graph, 16, n);
  const std::vector<std::vector<double>> x = {by_hand.inputs[0].ToDoubles()};
  const formula::ErrorRules rules[] = {formula::ContractRules(by_hand.contract, {problem.inputs[0].dtype}, dd),
                                       formula::GoldenRules(dd)};
  const formula::Evaluation got = formula::Evaluate(graph, graph.outputs[0], x, dd, rules);
  for (size_t i = 0; i < got.value.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double y = golden.value[i];
    if (!std::isfinite(y)) {
      EXPECT_TRUE(got.value[i] == y || (std::isnan(y) && std::isnan(got.value[i]))) << id << " element " << i;
      continue;
    }
    const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
    const double distance = std::fabs((got.value[i] - y) + ((dd ? got.value_lo[i] : 0) - lo));
    EXPECT_LE(distance, golden.error[at] + got.reach[1][i] + std::fabs(y) * 0x1p-1000) << id << " element " << i;
    const double own = by_hand.bound.At(golden, at), by_formula = got.reach[0][i] + got.reach[1][i];
    if (!pair.bound_by_hand || !std::isfinite(own) || own == 0) continue;
    const double ratio = by_formula / own;
    if (!(ratio <= ratios.worst)) ratios.worst = ratio;
    ratios.logarithms += std::log(std::max(ratio, 1e-6));
    ++ratios.count;
    EXPECT_LE(ratio, 1.5) << id << " " << declaration << " element " << i << ": by hand " << own;
    if (!(ratio <= 1.5)) return;
  }
}

TEST(FormulaOracle, ReductionsAreBoundedAsByHand) {
  Ratios all;
  for (const Pair& pair : kPairs) {
    Ratios ratios;
    for (const char* fill : {"normal", "uniform", "outlier", "cancel-1e4", "masked", "near_one"}) {
      for (const int64_t n : {2, 64, 1000}) {
        if (std::string_view(pair.formula) == "prod" && std::string_view(fill) != "near_one") continue;
        Compare(pair, "f32", n, fill, "f32;math=2", ratios);
        Compare(pair, "f32", n, fill, "f32;math=4;ftz=all", ratios);
        Compare(pair, "bf16", n, fill, "f32acc;math=1", ratios);
        Compare(pair, "f64", n, fill, "f64;math=1", ratios);
      }
    }
    if (!pair.bound_by_hand) continue;
    fmt::print("{:12} bound / bound by hand: at most {:.3f}, mean {:.3f}\n", pair.formula, ratios.worst,
               std::exp(ratios.logarithms / static_cast<double>(ratios.count)));
    RecordProperty(
        fmt::format("ratio {}", pair.formula),
        fmt::format("{:.3f} {:.3f}", ratios.worst, std::exp(ratios.logarithms / static_cast<double>(ratios.count))));
    all.worst = std::max(all.worst, ratios.worst);
    all.logarithms += ratios.logarithms, all.count += ratios.count;
  }
  EXPECT_LE(all.worst, 1.5);
  EXPECT_LE(std::exp(all.logarithms / static_cast<double>(all.count)), 1.1);
}

}  // namespace
}  // namespace assay::test

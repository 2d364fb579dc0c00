// SPDX-License-Identifier: Apache-2.0
// The proofs of known issues of oneDNN's functions (backends/onednn/known_issues.toml), and what the plugin works
// around.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {
namespace {

Plugin& OneDnnFunctions() {
  return PluginAt(ASSAY_ONEDNN_PLUGIN);
}

Op Function(const std::string& name, int64_t n) {
  Op op(name);
  op.In(Dense("x", kF32, {n})).Out(Dense("y", kF32, {n})).Int("n", n);
  if (name == "clip") op.Float("low", -1).Float("high", 1);
  return op;
}

// Implementations that this run found at fault: each proof needs one, or its rule is obsolete.
template <class IsWrong>
int CountWrong(Op op, const std::vector<std::vector<double>>& inputs, const char* contract, const IsWrong& is_wrong) {
  int wrong = 0;
  for (const auto& implementation : OneDnnFunctions().Offered(op)) {
    const bool is_excused = implementation.Declares(contract);
    const auto got = OneDnnFunctions().Run(op, implementation.name, inputs);
    EXPECT_TRUE(is_excused || !is_wrong(got)) << implementation.name << " " << implementation.contract;
    wrong += is_excused && is_wrong(got) ? 1 : 0;
  }
  return wrong;
}

TEST(OneDnnFunctions, ComparisonsLoseNaN) {
  for (const char* name : {"clip", "hardsigmoid", "relu", "relu6", "sigmoid"}) {
    SCOPED_TRACE(name);
    const auto is_number = [](const std::vector<double>& y) { return !std::isnan(y[1]); };
    EXPECT_GT(CountWrong(Function(name, 4), {{0.25, kNaN, 0.5, 0.75}}, "nan=any", is_number), 0);
  }
}

TEST(OneDnnFunctions, ReferenceLoopOfReluMakesNaNOfMinusInfinity) {
  const auto is_nan = [](const std::vector<double>& y) { return std::isnan(y[0]); };
  Op op = Function("relu", 2);
  EXPECT_TRUE(is_nan(OneDnnFunctions().Run(op, "ref-any", {{-kInf, 1}}))) << "its rule is obsolete";
}

TEST(OneDnnFunctions, VectorCodeLosesWhatIsSmallBesideOne) {
  const auto is_not_positive = [](const std::vector<double>& y) { return !(y[0] > 0); };
  EXPECT_GT(CountWrong(Function("softplus", 2), {{-20, 1}}, "ftz=all", is_not_positive), 0);
  const auto is_zero = [](const std::vector<double>& y) { return y[0] == 0; };
  EXPECT_GT(CountWrong(Function("mish", 2), {{-20, 1}}, "ftz=all", is_zero), 0);
  EXPECT_GT(
      CountWrong(Function("logsigmoid", 2), {{20, 1}}, "ftz=all",
                 [](const std::vector<double>& y) { return std::abs(y[0] / -std::log1p(std::exp(-20.0)) - 1) > 1e-3; }),
      0);
}

TEST(OneDnnFunctions, VectorCodeOfPreluMultipliesSlopesByZero) {
  Op op("prelu");
  op.In(Dense("x", kF32, {4})).In(Dense("y", kF32, {4})).Out(Dense("z", kF32, {4}));
  op.Int("n", 4).String("per", "element").Int("rows", 1);
  int wrong = 0;
  for (const auto& implementation : OneDnnFunctions().Offered(op)) {
    const auto z = OneDnnFunctions().Run(op, implementation.name, {{2, -2, 2, -2}, {kInf, 0.5, 0.5, 0.25}});
    EXPECT_EQ(z[1], -1);
    EXPECT_TRUE(z[0] == 2 || std::isnan(z[0])) << z[0];
    wrong += std::isnan(z[0]) ? 1 : 0;
  }
  EXPECT_GT(wrong, 0) << "its rule is obsolete";
}

// Loops with a post-op write nothing of one axis: the plugin hands them two.
TEST(OneDnnFunctions, PostOpsOfOneAxisAreComputed) {
  for (const auto& [name, want] : {std::pair("hardsigmoid", 0.75), std::pair("selu", 1.05070099 * 1.5)}) {
    Op op = Function(name, 3);
    for (const auto& implementation : OneDnnFunctions().Offered(op)) {
      EXPECT_NEAR(OneDnnFunctions().Run(op, implementation.name, {{1.5, 1.5, -9}})[1], want, 1e-6)
          << implementation.name;
    }
  }
}

TEST(OneDnnFunctions, RefusesWhatOneDnnHasNot) {
  Op resize("resize");
  resize.In(Dense("x", kF32, {1, 1, 4, 4})).Out(Dense("y", kF32, {1, 1, 2, 2}));
  resize.Int("n", 1).Int("c", 1).Int("h", 4).Int("w", 4).Int("oh", 2).Int("ow", 2);
  resize.String("mode", "nearest").String("coords", "half_pixel").String("rounding", "round_prefer_floor");
  EXPECT_NE(OneDnnFunctions().Refusal(std::move(resize)).find("round_prefer_ceil"), std::string::npos);
  Op pool("adaptive_avg_pool");
  pool.In(Dense("x", kF32, {1, 1, 5, 4})).Out(Dense("y", kF32, {1, 1, 2, 2}));
  pool.Int("n", 1).Int("c", 1).Int("h", 5).Int("w", 4).Int("oh", 2).Int("ow", 2);
  EXPECT_NE(OneDnnFunctions().Refusal(std::move(pool)).find("windows of one size"), std::string::npos);
}

}  // namespace
}  // namespace plugin_test

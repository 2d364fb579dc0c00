// SPDX-License-Identifier: Apache-2.0
// The suites that ship: every case of them binds, they keep to their budgets, and no kind of case is forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/core/data/fill/fill.h"
#include "harness/core/model/calls_tag.h"
#include "harness/plan/find_suite.h"
#include "harness/plan/suite.h"
#include "ops/conv/conv.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/operator.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::IsSupersetOf;

OpCatalog RealOperators() {
  OpCatalog catalog;
  for (const Operator* op : OperatorRegistry::Global().All()) catalog.names.push_back(op->schema().op);
  catalog.find = [](std::string_view name) -> const OpSchema* {
    const Operator* op = OperatorRegistry::Global().Find(name);
    return op == nullptr ? nullptr : &op->schema();
  };
  catalog.bind = BindCase;
  catalog.op = [](std::string_view name) { return OperatorRegistry::Global().Find(name); };
  return catalog;
}

std::vector<PlannedCase> Shipped(const std::string& name, SuiteScale* scale = nullptr) {
  const auto path = FindSuite(name, {ASSAY_SUITE_DIR});
  EXPECT_TRUE(path) << path.error().message;
  auto cases = LoadSuite(path.value_or(""), RealOperators(), scale);
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *std::move(cases) : std::vector<PlannedCase>();
}

std::set<std::string> Ids(const std::vector<PlannedCase>& cases) {
  std::set<std::string> ids;
  for (const PlannedCase& planned : cases) ids.insert(planned.spec.Id());
  return ids;
}

double Flops(const PlannedCase& planned) {
  const auto problem = OperatorRegistry::Global().Find(planned.spec.op)->Bind(planned.spec);
  EXPECT_TRUE(problem) << planned.where << ": " << problem.error().message;
  return problem ? problem->flops : 0;
}

double TotalFlops(const std::vector<PlannedCase>& cases) {
  double flops = 0;
  for (const PlannedCase& planned : cases) flops += Flops(planned);
  return flops;
}

TEST(ShippedSuites, EveryCaseIsOne) {
  for (const std::string& name : ListSuites({ASSAY_SUITE_DIR})) EXPECT_FALSE(Shipped(name).empty()) << name;
}

// Each operator that declares its own cases gets some from `others` unless a line names it, and they bind.
TEST(ShippedSuites, OthersAreTheOperatorsThatNoLineNames) {
  const auto cases = ParseSuite("gelu dtypes=f32 n=3\nsample 16\nothers\n", "s.suite", RealOperators());
  ASSERT_TRUE(cases) << cases.error().message;
  std::map<std::string, std::set<std::string>> types;
  for (const PlannedCase& planned : *cases) {
    types[planned.spec.op].insert(DTypeListText(planned.spec.dtypes));
    EXPECT_LT(planned.Bound()->problem.flops, 1e5) << planned.spec.Id();
    EXPECT_EQ(planned.timed, planned.spec.op == "gelu");
    EXPECT_EQ(planned.sample, planned.spec.op == "gelu" ? 0 : 16);
  }
  for (const Operator* op : OperatorRegistry::Global().All()) {
    const auto* formula = dynamic_cast<const FormulaOperator*>(op);
    const std::string& name = op->schema().op;
    const size_t expected = formula == nullptr ? 0 : name == "gelu" ? 1 : formula->types().size();
    EXPECT_EQ(types[name].size(), expected) << name;
  }
}

TEST(ShippedSuites, FirstHasEveryOperator) {
  std::set<std::string> ops;
  for (const PlannedCase& planned : Shipped("first")) ops.insert(planned.spec.op);
  for (const Operator* op : OperatorRegistry::Global().All())
    EXPECT_TRUE(ops.count(op->schema().op)) << op->schema().op;
}

TEST(ShippedSuites, DefaultContainsFirstAndFirstContainsSmoke) {
  EXPECT_THAT(Ids(Shipped("first")), IsSubsetOf(Ids(Shipped("default"))));
  EXPECT_THAT(Ids(Shipped("smoke")), IsSubsetOf(Ids(Shipped("first"))));
}

TEST(ShippedSuites, FullContainsTheOthers) {
  const auto normal = Ids(Shipped("default")), covering = Ids(Shipped("covering")), full = Ids(Shipped("full"));
  // GoogleMock's IsSubsetOf takes the square of so many ids.
  EXPECT_TRUE(std::ranges::includes(full, normal));
  EXPECT_TRUE(std::ranges::includes(full, Ids(Shipped("layers"))));
  EXPECT_TRUE(std::ranges::includes(full, covering));
  EXPECT_GT(full.size(), 4 * normal.size());
}

TEST(ShippedSuites, SmokeTakesSeconds) {
  const auto cases = Shipped("smoke");
  EXPECT_GE(cases.size(), 20u);
  EXPECT_LE(cases.size(), 80u);
  EXPECT_LT(TotalFlops(cases), 0.5e9);
}

// Compiling kernels of each case takes most of its time on a machine that has none yet.
TEST(ShippedSuites, FirstTakesAMinute) {
  const auto cases = Shipped("first");
  EXPECT_GE(cases.size(), 300U);
  EXPECT_LE(cases.size(), 400U);
  EXPECT_LT(TotalFlops(cases), 0.5e9);
  EXPECT_LE(std::ranges::count_if(cases, &PlannedCase::timed), 60);
  EXPECT_LE(std::ranges::count_if(cases, [](const PlannedCase& p) { return !p.timed && p.thorough; }), 280);
}

// Most time in it goes to the cases that are timed, and to those that are executed many times over.
TEST(ShippedSuites, DefaultTakesMinutes) {
  const auto cases = Shipped("default");
  EXPECT_LT(TotalFlops(cases), 2e9);
  for (const PlannedCase& planned : cases) EXPECT_LT(Flops(planned), 0.25e9) << planned.spec.Id();
  const auto timed = std::ranges::count_if(cases, &PlannedCase::timed);
  EXPECT_GE(timed, 60);
  EXPECT_LE(timed, 90);
  const auto is_thorough = [](const PlannedCase& planned) { return !planned.timed && planned.thorough; };
  EXPECT_LE(std::ranges::count_if(cases, is_thorough), 540);
  EXPECT_LE(cases.size(), 1050u);
}

TEST(ShippedSuites, DefaultCoversEveryFillKindPolicyAndLayout) {
  std::set<std::string> fills, kinds, dtypes, others;
  for (const PlannedCase& planned : Shipped("default")) {
    const CaseSpec& spec = planned.spec;
    fills.insert(spec.fill.substr(0, spec.fill.find('-')));
    dtypes.insert(spec.op + "/" + DTypeListText(spec.dtypes));
    if (spec.op == "reduce") kinds.insert(AttrReader(spec, *RealOperators().find("reduce")).Text("kind"));
    for (const auto& [key, value] : spec.attrs) {
      if (key == "kind") kinds.insert(value);
      others.insert(key + "=" + value);
    }
  }
  for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "cancel", "ramp", "coded", "subnormal",
                           "special", "pow2", "near_one"}) {
    EXPECT_TRUE(fills.count(fill)) << fill;
  }
  EXPECT_THAT(kinds, IsSupersetOf(RealOperators().find("reduce")->Find("kind")->choices));
  EXPECT_THAT(dtypes, IsSupersetOf({"matmul/f32",    "matmul/bf16",        "matmul/f16",
                                    "matmul/f64",    "matmul/i8-i8-i32",   "matmul/bf16-bf16-f32",
                                    "reduce/f32",    "reduce/bf16",        "reduce/f16",
                                    "reduce/f64",    "reduce/f32-i64",     "reduce/i8-i32",
                                    "conv/f32",      "conv/bf16",          "conv/f16",
                                    "conv/f64",      "conv/bf16-bf16-f32", "conv/i8-i8-i32",
                                    "softmax/bf16",  "softmax/f16",        "attention/f32",
                                    "attention/f16", "attention/bf16",     "attention/f64",
                                    "fft/c64",       "fft/c128",           "fft/f32-c64",
                                    "fft/c64-f32"}));
  EXPECT_THAT(
      others,
      IsSupersetOf({"transa=1",   "transb=1", "beta=1",     "bias=1",   "alpha=0.5", "epilogue=rounded", "nan=ignore",
                    "keepdims=1", "tie=any",  "axes=0+2+3", "axis=0",   "m=1",       "stride=2",         "groups=2",
                    "k=3x3x3",    "k=3",      "causal=1",   "align=tl", "window=8",  "softcap=50",       "mask=bool",
                    "mask=add",   "hkv=2",    "log=1",      "dir=inv",  "norm=ortho"}));
}

// Weights that meet padding at some output: zeros times infinities, tails that read the next weights.
int64_t NonFiniteWeightsAtPadding(const Problem& problem) {
  const ConvArgs op(problem);
  const std::vector<Tensor> inputs = OperatorRegistry::Global().Find("conv")->MakeInputs(problem);
  const std::vector<double> weights = inputs[1].ToDoubles();
  int64_t count = 0;
  for (int64_t k = 0; k < std::ssize(weights); ++k) {
    const ConvArgs::Extents tap = ConvArgs::Split(k % op.Taps(), op.kernel);
    bool padded = false;
    for (int64_t position = 0; position < op.Positions() && !padded; ++position) {
      const ConvArgs::Extents p = ConvArgs::Split(position, op.out);
      for (int axis = 0; axis < 3; ++axis) padded = padded || !op.Sees(axis, p[axis], tap[axis]);
    }
    count += padded && !std::isfinite(weights[k]) ? 1 : 0;
  }
  return count;
}

TEST(ShippedSuites, WeightsThatAreNotFiniteMeetPadding) {
  for (const char* suite : {"smoke", "default"}) {
    int64_t most = 0;
    for (const PlannedCase& planned : Shipped(suite)) {
      if (planned.spec.op != "conv" || planned.spec.fill != "special") continue;
      const auto problem = OperatorRegistry::Global().Find("conv")->Bind(planned.spec);
      ASSERT_TRUE(problem);
      if (IsFloat(problem->outputs[0].dtype)) most = std::max(most, NonFiniteWeightsAtPadding(*problem));
    }
    EXPECT_GE(most, 3) << suite;
  }
}

// prod of many normal numbers underflows, and such a case would prove nothing. Of integers it wraps around.
TEST(ShippedSuites, ProductsUseFillsThatStayInRange) {
  int64_t products = 0;
  for (const PlannedCase& planned : Shipped("full")) {
    const CaseSpec& spec = planned.spec;
    const AttrReader attrs(spec, *RealOperators().find("reduce"));
    if (spec.op != "reduce" || attrs.Text("kind") != "prod") continue;
    if (IsInt(spec.dtypes.front()) || attrs.List("shape").back() <= 8) continue;
    ++products;
    EXPECT_TRUE(spec.fill == "near_one" || spec.fill == "pow2") << spec.Id();
  }
  EXPECT_GT(products, 0);
}

void ExpectSources(const std::string& name, size_t fewest) {
  size_t tagged = 0;
  for (const PlannedCase& planned : Shipped(name)) {
    if (planned.tags.empty()) continue;
    ++tagged;
    EXPECT_THAT(planned.source, HasSubstr("https://")) << planned.where;
  }
  EXPECT_GT(tagged, fewest) << name;
}

std::vector<std::string> ListNetworks() {
  std::vector<std::string> names = ListSuites({ASSAY_SUITE_DIR});
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("models/"); });
  EXPECT_GE(names.size(), 20U);
  return names;
}

TEST(ShippedSuites, ShapesOfModelsNameTheirSourceAndCalls) {
  for (const std::string& name : ListNetworks()) {
    ExpectSources(name, 0);
    for (const PlannedCase& planned : Shipped(name)) {
      EXPECT_EQ(std::ranges::count_if(planned.tags, [](auto& tag) { return CallsOfTag(tag) > 0; }), 1) << planned.where;
    }
  }
  ExpectSources("full", 50);
}

TEST(ShippedSuites, NetworksAreCasesAtSmallerScalesToo) {
  for (const std::string& name : ListNetworks()) {
    const double whole = TotalFlops(Shipped(name));
    for (const int64_t divisor : {2, 4, 8, 16, 32}) {
      SuiteScale scale{.divisor = divisor};
      EXPECT_LT(TotalFlops(Shipped(name, &scale)) * static_cast<double>(divisor), whole) << name << " " << divisor;
      EXPECT_GT(scale.smaller, 0U) << name;
    }
  }
  SuiteScale eighth{.divisor = 8};
  const std::set<std::string> ids = Ids(Shipped("models/llama-3-8b-decode", &eighth));
  EXPECT_TRUE(ids.contains("attention/bf16/b=1,h=4,hkv=1,l=1,s=512,d=128,causal=1/fill=normal/seed=0"));
  EXPECT_TRUE(ids.contains("matmul/bf16/m=1,n=1792,k=512,transb=1/fill=normal/seed=0"));
}

}  // namespace
}  // namespace assay

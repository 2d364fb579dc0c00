// SPDX-License-Identifier: Apache-2.0
// The suites that ship: they parse, they keep to their budgets, and no kind of case is forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/base/fill.h"
#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::IsSupersetOf;

std::vector<PlannedCase> Shipped(const std::string& name) {
  const auto path = FindSuite(name, {ASSAY_SUITE_DIR});
  EXPECT_TRUE(path) << path.error().message;
  auto cases = LoadSuite(path.value_or(""), TestCatalog());
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *std::move(cases) : std::vector<PlannedCase>();
}

std::set<std::string> Ids(const std::vector<PlannedCase>& cases) {
  std::set<std::string> ids;
  for (const PlannedCase& planned : cases) ids.insert(planned.spec.Id());
  return ids;
}

double MatmulFlops(const CaseSpec& spec) {
  if (spec.op != "matmul") return 0;
  const AttrReader read(spec, MatmulSchema());
  return 2.0 * static_cast<double>(read.Int("m")) * static_cast<double>(read.Int("n")) *
         static_cast<double>(read.Int("k")) * static_cast<double>(read.Int("batch"));
}

double FftFlops(const CaseSpec& spec) {
  if (spec.op != "fft") return 0;
  const AttrReader read(spec, FftSchema());
  double points = 1;
  for (const int64_t n : read.List("n")) points *= static_cast<double>(n);
  return 5 * points * std::log2(points) * static_cast<double>(read.Int("batch"));
}

double TotalFlops(const std::vector<PlannedCase>& cases) {
  double flops = 0;
  for (const PlannedCase& planned : cases) flops += MatmulFlops(planned.spec);
  return flops;
}

TEST(ShippedSuites, EachContainsTheSmallerOne) {
  const auto smoke = Ids(Shipped("smoke")), normal = Ids(Shipped("default")), full = Ids(Shipped("full"));
  EXPECT_THAT(smoke, IsSubsetOf(normal));
  EXPECT_THAT(normal, IsSubsetOf(full));
  EXPECT_GT(full.size(), 4 * normal.size());
}

TEST(ShippedSuites, SmokeTakesSeconds) {
  const auto cases = Shipped("smoke");
  EXPECT_GE(cases.size(), 20u);
  EXPECT_LE(cases.size(), 40u);
  EXPECT_LT(TotalFlops(cases), 0.3e9);
}

TEST(ShippedSuites, DefaultTakesAboutAMinute) {
  const auto cases = Shipped("default");
  EXPECT_GE(cases.size(), 60u);
  EXPECT_LE(cases.size(), 150u);
  EXPECT_LT(TotalFlops(cases), 6e9);
  for (const PlannedCase& planned : cases) EXPECT_LT(MatmulFlops(planned.spec), 0.3e9) << planned.spec.Id();
}

TEST(ShippedSuites, DefaultCoversEveryFillKindPolicyAndLayout) {
  std::set<std::string> fills, kinds, dtypes, others;
  for (const PlannedCase& planned : Shipped("default")) {
    const CaseSpec& spec = planned.spec;
    fills.insert(spec.fill.substr(0, spec.fill.find('-')));
    dtypes.insert(spec.op + "/" + DTypeListText(spec.dtypes));
    for (const auto& [key, value] : spec.attrs) {
      if (key == "kind") kinds.insert(value);
      others.insert(key + "=" + value);
    }
  }
  for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "cancel", "ramp", "coded", "subnormal",
                           "special", "pow2", "near_one"}) {
    EXPECT_TRUE(fills.count(fill)) << fill;
  }
  EXPECT_THAT(kinds, IsSupersetOf(ReduceSchema().Find("kind")->choices));
  EXPECT_THAT(dtypes, IsSupersetOf({"matmul/f32", "matmul/bf16", "matmul/f16", "matmul/f64", "matmul/i8-i8-i32",
                                    "matmul/bf16-bf16-f32", "reduce/f32", "reduce/bf16", "reduce/f16", "reduce/f64",
                                    "reduce/f32-i64", "reduce/i8-i32"}));
  EXPECT_THAT(others, IsSupersetOf({"transa=1", "transb=1", "beta=1", "bias=1", "alpha=0.5", "epilogue=rounded",
                                    "nan=ignore", "keepdims=1", "tie=any", "axes=0+2+3", "axes=-1", "m=1"}));
}

TEST(ShippedSuites, DefaultHasEveryKindOfFftCheaply) {
  double flops = 0;
  std::set<std::string> seen;
  for (const PlannedCase& planned : Shipped("default")) {
    flops += FftFlops(planned.spec);
    if (planned.spec.op != "fft") continue;
    const AttrReader read(planned.spec, FftSchema());
    for (const char* key : {"kind", "dir", "norm"}) seen.insert(read.Text(key));
    seen.insert(DTypeListText(planned.spec.dtypes));
  }
  EXPECT_LT(flops, 0.3e9);
  EXPECT_THAT(seen, IsSupersetOf({"c2c", "r2c", "c2r", "fwd", "inv", "none", "ortho", "backward", "c64", "c128",
                                  "f32-c64", "f64-c128", "c64-f32", "c128-f64"}));
}

// prod of normal numbers underflows, and such a case would prove nothing.
TEST(ShippedSuites, ProductsUseFillsThatStayInRange) {
  for (const PlannedCase& planned : Shipped("full")) {
    const CaseSpec& spec = planned.spec;
    if (spec.op != "reduce" || AttrReader(spec, ReduceSchema()).Text("kind") != "prod") continue;
    EXPECT_TRUE(spec.fill == "near_one" || spec.fill == "pow2") << spec.Id();
  }
}

TEST(ShippedSuites, ShapesOfModelsNameTheirSource) {
  size_t tagged = 0;
  for (const PlannedCase& planned : Shipped("full")) {
    if (planned.tags.empty()) continue;
    ++tagged;
    EXPECT_THAT(planned.source, HasSubstr("https://")) << planned.where;
  }
  EXPECT_GT(tagged, 50u);
}

}  // namespace
}  // namespace assay

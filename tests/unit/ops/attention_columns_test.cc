// SPDX-License-Identifier: Apache-2.0
// The loops of golden attention: the same bits with every kind of vector, and with and without a mask that hides
// nothing.
#include <hwy/targets.h>

#include <cstring>

#include "tests/unit/ops/cases.h"

namespace assay::test {
namespace {

void ExpectSamePlanes(const Plane& x, const Plane& y, const std::string& name) {
  ASSERT_EQ(x.size(), y.size()) << name;
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i]) << name << " " << i;
}

void ExpectSame(const Golden& x, const Golden& y) {
  ASSERT_EQ(x.value, y.value);
  ASSERT_EQ(x.value_lo, y.value_lo);
  ExpectSamePlanes(x.magnitude, y.magnitude, "magnitude");
  ExpectSamePlanes(x.sigma, y.sigma, "sigma");
  ExpectSamePlanes(x.error, y.error, "error");
  ASSERT_EQ(x.extra.size(), y.extra.size());
  for (size_t i = 0; i < x.extra.size(); ++i) {
    ASSERT_EQ(x.extra[i].first, y.extra[i].first);
    ExpectSamePlanes(x.extra[i].second, y.extra[i].second, x.extra[i].first);
  }
}

Golden GoldenOf(const std::string& attrs, Tier tier, const std::string& fill = "normal") {
  const Problem problem = Bind("attention/f32/b=1,h=2,l=9,s=150,d=20,dv=77" + attrs + "/fill=" + fill + "/seed=0");
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  if (inputs.size() == 4) std::memset(inputs[3].data(), 1, inputs[3].bytes());
  return Op("attention").ComputeGolden(problem, inputs, tier);
}

TEST(AttentionColumns, AMaskThatHidesNothingChangesNoBit) {
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    for (const std::string fill : {"normal", "outlier", "lognormal"}) {
      SCOPED_TRACE(fill);
      ExpectSame(GoldenOf("", tier, fill), GoldenOf(",mask=bool", tier, fill));
      ExpectSame(GoldenOf(",causal=1", tier, fill), GoldenOf(",causal=1,mask=bool", tier, fill));
    }
  }
}

TEST(AttentionColumns, EveryVectorTargetGivesTheSameBits) {
  std::vector<Golden> first;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<Golden> now;
    for (const std::string fill : {"normal", "lognormal"}) {
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) now.push_back(GoldenOf(",causal=1", tier, fill));
    }
    if (first.empty()) {
      first = std::move(now);
      continue;
    }
    for (size_t i = 0; i < now.size(); ++i) ExpectSame(first[i], now[i]);
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace assay::test

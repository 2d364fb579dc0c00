// SPDX-License-Identifier: Apache-2.0
// The planes of golden attention whose sums are kept in float hold for data on which float is bad; bounds and
// deviations of many columns at a time are those of single ones, with every kind of vector.
#include <hwy/targets.h>

#include <cmath>
#include <functional>

#include "ops/attention/attention.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using Change = std::function<double(double v, int64_t i)>;

std::vector<Tensor> InputsWith(const Problem& problem, const Change& change) {
  std::vector<Tensor> inputs = Op("attention").MakeInputs(problem);
  std::vector<double> v = inputs[2].ToDoubles();
  for (size_t i = 0; i < v.size(); ++i) v[i] = change(v[i], static_cast<int64_t>(i));
  inputs[2].SetDoubles(v);
  return inputs;
}

void WithEveryTarget(const std::function<void()>& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// At least the sums in double, and no more than 1e-4 above them, beside what o in float costs each distance.
void ExpectPlanesHold(const std::string& attrs, const Change& change) {
  SCOPED_TRACE(attrs);
  const Problem problem = Bind("attention/f32/b=1,h=2,l=20,s=300,d=24,dv=37" + attrs + "/fill=normal/seed=3");
  const std::vector<Tensor> inputs = InputsWith(problem, change);
  const Golden best = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const Plane& rows = *best.Extra("rows");
  WithEveryTarget([&] {
    const Golden fast = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
    for (int64_t i = 0; i < fast.size(); ++i) {
      ASSERT_LE(std::abs(fast.value[i] - best.value[i]), fast.error[i] + best.error[i]) << i;
      const auto expect = [&](const char* name, double has, double had, double off) {
        ASSERT_GE(has, had) << name << " " << i;
        ASSERT_LE(has, had * (1 + 1e-4) + off) << name << " " << i;
      };
      expect("magnitude", fast.magnitude[i], best.magnitude[i], 0);
      for (const auto& [name, mean] : {std::pair("dot_weight", kDotMean), std::pair("added_weight", kAddedMean)}) {
        const double of_row = rows[i / problem.Int("dv") * kRowFacts + mean];
        const double off = of_row * (0x1.1p-24 * std::abs(best.value[i]) + 0x1p-80 * (*best.Extra("range"))[i]);
        expect(name, (*fast.Extra(name))[i], (*best.Extra(name))[i], off + 0x1p-126);
      }
    }
  });
}

TEST(AttentionPlanes, FloatSumsHoldWhateverTheValuesAre) {
  const auto as_it_is = [](double v, int64_t) { return v; };
  for (const std::string attrs : {"", ",causal=1", ",mask=bool", ",mask=add", ",window=70,softcap=2"}) {
    ExpectPlanesHold(attrs, as_it_is);
  }
  ExpectPlanesHold("", [](double v, int64_t) { return 1000 + v; });     // distances cancel
  ExpectPlanesHold("", [](double v, int64_t) { return 0x1p20 * v; });   // within float's part of the range
  ExpectPlanesHold("", [](double v, int64_t) { return 0x1p100 * v; });  // squares overflow in float
  ExpectPlanesHold("", [](double v, int64_t) { return 0x1p-26 * std::copysign(1 + std::abs(v), v); });
  ExpectPlanesHold("", [](double v, int64_t) { return 0x1p-120 * v; });  // squares underflow
  ExpectPlanesHold("", [](double v, int64_t i) { return i % 3 == 0 ? 0 : v; });
  ExpectPlanesHold("", [](double v, int64_t i) { return i % 29 == 0 ? 0x1p16 * v : v; });  // few large ones
}

struct Bounds {
  std::vector<double> a, deviation, systematic;
};
Bounds BoundsOf(const Problem& problem, const Golden& golden, const Contract& contract) {
  const BoundModel bound = Op("attention").Bound(problem, 0, golden, contract);
  Bounds of;
  for (int64_t i = 0; i < golden.size(); ++i) {
    of.a.push_back((*bound.terms.at(0).plane)[i]);
    of.deviation.push_back((*bound.statistic.deviations.at(0).plane)[i]);
    of.systematic.push_back((*bound.statistic.systematic.at(0).plane)[i]);
  }
  return of;
}

// A column of zeros, whose root of no squares is left to single numbers, changes nothing of the others in its row.
TEST(AttentionPlanes, BoundsOfManyColumnsAreThoseOfSingleOnes) {
  constexpr int64_t kWide = 21, kZero = 4;
  for (const std::string attrs : {"", ",causal=1", ",mask=add", ",softcap=3"}) {
    const Problem problem = Bind("attention/f32/b=1,h=1,l=40,s=90,d=16,dv=21" + attrs + "/fill=normal/seed=5");
    const auto golden_of = [&](bool zero) {
      return Op("attention")
          .ComputeGolden(problem, 0,
                         InputsWith(problem, [&](double v, int64_t i) { return zero && i % kWide == kZero ? 0 : v; }),
                         Tier::kReproducible);
    };
    const Golden whole = golden_of(false), with_zeros = golden_of(true);
    for (const char* declaration : {"f32acc", "f32acc;mid=bf16", "f16acc;math=4"}) {
      SCOPED_TRACE(attrs + " " + declaration);
      const Contract contract = Declared(declaration);
      const Bounds first = BoundsOf(problem, whole, contract);
      WithEveryTarget([&] {
        const Bounds now = BoundsOf(problem, whole, contract), single = BoundsOf(problem, with_zeros, contract);
        ASSERT_EQ(now.a, first.a);
        ASSERT_EQ(now.deviation, first.deviation);
        ASSERT_EQ(now.systematic, first.systematic);
        for (int64_t i = 0; i < whole.size(); ++i) {
          if (i % kWide == kZero) continue;
          ASSERT_EQ(single.deviation[i], first.deviation[i]) << i;
          ASSERT_EQ(single.systematic[i], first.systematic[i]) << i;
          ASSERT_EQ(single.a[i], first.a[i]) << i;
        }
      });
    }
  }
}

}  // namespace
}  // namespace assay::test

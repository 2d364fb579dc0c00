// SPDX-License-Identifier: Apache-2.0
// Recurrences with factors behind operands that are not finite: what a reach of zero states holds for every
// association, as parallel scans have, and it is stated where they all agree.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"

namespace assay::formula {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kSteps = 24;

struct Pair {
  float a = 1, b = 0;
};

// A Pair maps h to a h + b. Applies `first`, then `then`; each stands for one step or several.
Pair Join(const Pair& first, const Pair& then) {
  return {then.a * first.a, then.a * first.b + then.b};
}

// Joins the steps from `begin` to `end`, associated at random.
Pair Scan(const std::vector<Pair>& steps, size_t begin, size_t end, std::mt19937_64& random) {
  if (end - begin == 1) return steps[begin];
  const size_t middle = begin + 1 + random() % (end - begin - 1);
  const Pair first = Scan(steps, begin, middle, random);
  return Join(first, Scan(steps, middle, end, random));
}

Evaluation Stated(const std::vector<double>& a, const std::vector<double>& b) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", std::ssize(a));
  const Expr factor = AddInput(graph, "a", n), term = AddInput(graph, "b", n);
  AddOutput(graph, "h", Recur(factor, term, n), n);
  const Contract contract = ParseDeclaration("f32;math=4").value();
  const ErrorRules rules[] = {ContractRules(contract, {DType::kF32, DType::kF32}, false)};
  return Evaluate(graph, graph.outputs[0], std::vector{a, b}, false, rules);
}

bool IsRight(double y, double v, double reach) {
  if (reach == HUGE_VAL) return true;
  if (std::isnan(v)) return std::isnan(y);
  if (std::isinf(v)) return y == v;
  return std::fabs(y - v) <= reach;
}

std::vector<double> Ordinary(int64_t count, double value) {
  return std::vector<double>(static_cast<size_t>(count), value);
}

TEST(RecurrenceSpecial, WhatIsStatedHoldsForEveryAssociation) {
  const float special[] = {HUGE_VALF, -HUGE_VALF, NAN, 0, -0.F, 1e-30F, 1e30F, -1e38F, 1e-42F, -3, 1e-19F};
  int64_t stated_behind = 0, behind = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> factor(0, seed % 2 == 0 ? 1.0F : 1.5F), term(-2, 2);
    const uint64_t rarity = 8 + 40 * (seed % 3);
    std::vector<Pair> steps;
    std::vector<double> a, b;
    for (int64_t t = 0; t < kSteps; ++t) {
      Pair step{factor(random), term(random)};
      if (random() % rarity == 0) step.a = special[random() % std::size(special)];
      if (random() % rarity == 0) step.b = special[random() % std::size(special)];
      steps.push_back(step), a.push_back(step.a), b.push_back(step.b);
    }
    const Evaluation got = Stated(a, b);
    for (size_t t = 0; t < steps.size(); ++t) {
      if (!std::isfinite(got.value[t])) {
        ++behind;
        stated_behind += got.reach[0][t] == 0 ? 1 : 0;
      }
      for (int tries = 0; tries < 6; ++tries) {
        const double y = Scan(steps, 0, t + 1, random).b;
        ASSERT_TRUE(IsRight(y, got.value[t], got.reach[0][t]))
            << "seed " << seed << " step " << t << ": " << y << " instead of " << got.value[t] << ", reach "
            << got.reach[0][t];
      }
    }
  }
  EXPECT_GT(behind, 10000);
  EXPECT_GT(static_cast<double>(stated_behind), 0.6 * static_cast<double>(behind));
}

TEST(RecurrenceSpecial, NaNStaysForGood) {
  std::vector<double> a = Ordinary(64, 0.25), b = Ordinary(64, 1);
  b[3] = std::nan("");
  a[20] = 0, a[40] = kInf;  // which a NaN outlives
  const Evaluation got = Stated(a, b);
  for (size_t t = 0; t < a.size(); ++t) {
    EXPECT_EQ(std::isnan(got.value[t]), t >= 3) << t;
    EXPECT_LE(got.reach[0][t], t < 3 ? 1e-5 : 0) << t;
  }
}

// 0.25^64 is 2^-128: a scan that multiplies these factors first flushes it, or has few bits of it.
TEST(RecurrenceSpecial, AnInfinityIsCertainUntilFactorsMayVanish) {
  std::vector<double> a = Ordinary(90, 0.25), b = Ordinary(90, 1);
  b[2] = -kInf;
  const Evaluation got = Stated(a, b);
  EXPECT_EQ(got.value[50], -kInf);
  EXPECT_EQ(got.reach[0][50], 0);
  EXPECT_EQ(got.reach[0][80], HUGE_VAL);
}

TEST(RecurrenceSpecial, WhatMayHaveOverflowedStaysOpen) {
  std::vector<double> a = Ordinary(8, 0.5), b = Ordinary(8, 1);
  b[1] = 3e38, b[2] = 3e38, a[2] = 1;
  const Evaluation got = Stated(a, b);
  EXPECT_LT(got.reach[0][1], HUGE_VAL);
  EXPECT_EQ(got.reach[0][2], HUGE_VAL);
  EXPECT_EQ(got.reach[0][7], HUGE_VAL) << "half of infinity is infinite";
}

}  // namespace
}  // namespace assay::formula

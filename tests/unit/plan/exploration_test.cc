// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/exploration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "ops/operator.h"

namespace assay {
namespace {

constexpr CoverLimits kSmall{.elements = 4096, .flops = 1e6};

const Operator& Softmax() {
  return *OperatorRegistry::Global().Find("softmax");
}

// The first cases, told of each case when it is there what `margin_of` says.
using MarginOf = std::function<std::optional<double>(const CaseSpec&)>;
std::vector<CaseSpec> Explore(uint64_t seed, int count, const MarginOf& margin_of) {
  Exploration exploration(Softmax(), kSmall, seed);
  std::vector<CaseSpec> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back(exploration.Next().value());
    exploration.Judged(cases.back(), true, margin_of(cases.back()));
  }
  return cases;
}

std::optional<double> NoMargin(const CaseSpec&) {
  return std::nullopt;
}

TEST(Exploration, TheSameSeedAndMarginsGiveTheSameCasesAndAnotherSeedDoesNot) {
  const auto margin = [](const CaseSpec& spec) { return static_cast<double>(spec.seed % 97) / 100; };
  const std::vector<CaseSpec> cases = Explore(7, 60, margin);
  EXPECT_EQ(Explore(7, 60, margin), cases);
  EXPECT_NE(Explore(8, 60, margin), cases);
  EXPECT_NE(Explore(7, 60, NoMargin), cases);
}

TEST(Exploration, EachCaseIsNewAndWithinTheLimits) {
  const Candidates candidates(Softmax(), kSmall);
  std::set<std::string> ids;
  for (const CaseSpec& spec : Explore(1, 300, NoMargin)) {
    EXPECT_TRUE(ids.insert(spec.Id()).second) << spec.Id();
    EXPECT_EQ(candidates.Refusal(spec), "") << spec.Id();
  }
}

// Nor do other types count as left to explore.
TEST(Exploration, OneTypeAlone) {
  Exploration all(Softmax(), kSmall, 1), one(Softmax(), kSmall, 1, {"bf16"});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(DTypeListText(one.Next().value().dtypes), "bf16");
  EXPECT_LT(one.Coverage()[0].possible, all.Coverage()[0].possible);
  CaseSpace space = Softmax().Space();
  EXPECT_TRUE(NarrowTypes(space, {"f32", "i8"}));
  EXPECT_FALSE(NarrowTypes(space, {"i8"}));
}

TEST(Exploration, SizesAreNotThoseOfTheDeclarationAlone) {
  std::set<std::string> listed;
  for (const Knob& knob : Softmax().Space().knobs) {
    for (const auto& value : knob.values) listed.insert(value[0]);
  }
  const OpSchema& schema = Softmax().schema();
  int others = 0;
  for (const CaseSpec& spec : Explore(1, 600, NoMargin)) {
    for (const int64_t extent : AttrReader(spec, schema).List("shape")) {
      others += !listed.contains(std::to_string(extent));
    }
  }
  EXPECT_GT(others, 20);
}

// Half of the cases are random, and half have new combinations. This test is about the random ones.
TEST(Exploration, DeclaredSizesKeepTheirShareHoweverLongItLasts) {
  std::set<std::string> declared;
  const CaseSpace space = Softmax().Space();
  for (const auto& value : space.knobs[2].values) declared.insert(value[0]);
  Exploration exploration(Softmax(), {.elements = 1e5, .flops = 1e7}, 11);
  const auto share_of = [&](int count) {
    int sizes = 0, found = 0;
    for (int i = 0; i < count; ++i) {
      const CaseSpec spec = exploration.Next().value();
      for (const int64_t extent : AttrReader(spec, Softmax().schema()).List("shape")) {
        if (i % 2 == 0 || extent < 32) continue;
        ++sizes;
        found += declared.contains(std::to_string(extent));
      }
    }
    return static_cast<double>(found) / sizes;
  };
  const double first = share_of(1500);
  share_of(3000);
  EXPECT_GT(first, 0.25);
  EXPECT_NEAR(share_of(1500), first, 0.095);  // some 1,100 sizes: three deviations
}

TEST(Exploration, ReachesAllPairs) {
  Exploration exploration(Softmax(), {.elements = 512, .flops = 1e5}, 3);
  for (int i = 0; i < 1000; ++i) exploration.Judged(exploration.Next().value(), true, std::nullopt);
  const std::vector<Explored> sets = exploration.Coverage();
  ASSERT_EQ(sets.size(), 2u);  // threes, too, as all pairs were tried
  EXPECT_GT(sets[0].possible, 100);
  EXPECT_EQ(sets[0].covered, sets[0].possible);
}

TEST(Exploration, CountsWhatNoBackendTakesApart) {
  Exploration exploration(Softmax(), kSmall, 3);
  const CaseSpec one = exploration.Next().value(), two = exploration.Next().value();
  exploration.Judged(one, true, std::nullopt);
  exploration.Judged(two, false, std::nullopt);
  const Explored pairs = exploration.Coverage()[0];
  EXPECT_GT(pairs.covered, 0);
  EXPECT_GT(pairs.refused, 0);
  EXPECT_LT(pairs.covered + pairs.refused, pairs.possible);
  exploration.Next().value();  // of which nobody knows yet
  EXPECT_EQ(exploration.Coverage()[0].refused, pairs.refused);
}

TEST(Exploration, SearchesTheNeighbourhoodOfLargeMargins) {
  const auto is_near = [](const CaseSpec& spec) { return spec.fill == "outlier"; };
  const auto count = [&](const std::vector<CaseSpec>& cases) { return std::ranges::count_if(cases, is_near); };
  const auto drawn = count(Explore(5, 400, NoMargin));
  const auto sought = count(Explore(5, 400, [&](const CaseSpec& spec) { return is_near(spec) ? 0.9 : 0.1; }));
  EXPECT_GT(sought, drawn + 40);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "tests/designs/cover.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/plan/cover/exploration.h"
#include "tests/designs/sample_operator.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const SampleOperator& TheSample() {
  static const SampleOperator sample;
  return sample;
}

// Three sizes, whose relation hardly a random draw meets, and one that none meets.
class ThreeSizes : public SampleOperator {
 public:
  CaseSpace Space() const override {
    CaseSpace space;
    space.Vary("dtypes", {"f32"});
    for (const char* key : {"m", "n", "k"}) {
      std::vector<std::string> values;
      for (int value = 1; value <= 130; ++value) values.push_back(std::to_string(value));
      space.AddKnob(key, values);
    }
    AddRelation(space, "m and n", {"m", "n"}, {"60", "other"},
                [](const SpaceView& view) { return view.Int("m") == 60 && view.Int("n") == 60 ? 0 : 1; });
    AddRelation(space, "all", {"m", "n", "k"}, {"negative", "positive"},
                [](const SpaceView& view) { return view.Int("m") + view.Int("n") + view.Int("k") < 0 ? 0 : 1; });
    space.Vary("bias", {"0", "1"});
    return space;
  }
};

// With transa=1, only one pair of sizes with an even sum is accepted; the others are refused in the same words.
class OneOfManySizes : public SampleOperator {
 public:
  CaseSpace Space() const override {
    CaseSpace space;
    space.Vary("dtypes", {"f32"});
    for (const char* key : {"m", "n"}) {
      std::vector<std::string> values;
      for (int value = 1; value <= 100; ++value) values.push_back(std::to_string(value));
      space.AddKnob(key, values);
    }
    space.AddKnob("k", {"1"});
    AddRelation(space, "sum", {"m", "n"}, {"even", "odd"},
                [](const SpaceView& view) { return static_cast<int>((view.Int("m") + view.Int("n")) % 2); });
    space.Vary("transa", {"0", "1"});
    return space;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    const AttrReader attrs(spec, schema());
    const int64_t m = attrs.Int("m"), n = attrs.Int("n");
    const bool is_even = (m + n) % 2 == 0;
    if (attrs.Int("transa") == 1 && is_even && (m != 37 || n != 41)) {
      return UsageError(fmt::format("with transa=1, m={} and n={} must be 37 and 41", m, n));
    }
    Problem problem;
    problem.spec = assay::Canonicalise(spec, schema()).value();
    problem.outputs = {{"y", DType::kF32, {m, n}}};
    return problem;
  }
};

// Every case that the knobs can make and the operator takes, by brute force.
std::vector<Levels> EveryCase(const CoverLimits& limits) {
  const Candidates candidates(TheSample(), limits);
  std::vector<Levels> all;
  Choice choice(candidates.knobs());
  while (true) {
    const CaseSpec spec = candidates.SpecOf(choice).value();
    if (candidates.Refusal(spec).empty()) all.push_back(candidates.LevelsOf(spec));
    size_t knob = 0;
    while (knob < choice.size() && ++choice[knob] == candidates.values(knob)) choice[knob++] = 0;
    if (knob == choice.size()) return all;
  }
}

TEST(Tuples, EachHasItsOwnNumber) {
  const CaseSpace space = TheSample().Space();
  std::vector<int> all;
  for (int d = 0; d < std::ssize(space.dimensions); ++d) all.push_back(d);
  for (const int strength : {2, 3}) {
    const TupleSet set(space, all, strength);
    std::set<Tuple> seen;
    for (int64_t index = 0; index < set.size(); ++index) {
      const Tuple tuple = set.At(index);
      EXPECT_TRUE(seen.insert(tuple).second);
      Levels levels(space.dimensions.size(), -1);
      for (const auto& [dimension, level] : tuple) levels[static_cast<size_t>(dimension)] = level;
      std::vector<int64_t> visited;
      set.Each(levels, [&](int64_t at) { visited.push_back(at); });
      EXPECT_THAT(visited, ElementsAre(index));
    }
  }
}

TEST(Cover, HasEveryCombinationThatSomeCaseHasAndSaysOfTheRestThatNoneDoes) {
  for (const CoverLimits limits : {CoverLimits{}, CoverLimits{.elements = 20}}) {
    const std::vector<Levels> every = EveryCase(limits);
    const Cover cover = MakeCover(TheSample(), {.strength = 3, .limits = limits});
    ASSERT_EQ(cover.sets.size(), 2u);
    for (const CoveredSet& set : cover.sets) {
      std::vector<bool> possible(static_cast<size_t>(set.tuples.size())), covered = possible;
      for (const Levels& levels : every)
        set.tuples.Each(levels, [&](int64_t i) { possible[static_cast<size_t>(i)] = true; });
      const Candidates candidates(TheSample(), limits);
      for (const CaseSpec& spec : cover.cases) {
        EXPECT_EQ(candidates.Refusal(spec), "");
        set.tuples.Each(candidates.LevelsOf(spec), [&](int64_t i) { covered[static_cast<size_t>(i)] = true; });
      }
      EXPECT_EQ(covered, possible);
      for (size_t i = 0; i < possible.size(); ++i) EXPECT_EQ(set.reason[i] == -1, possible[i]);
    }
    EXPECT_LT(cover.cases.size(), every.size() / 5);
  }
}

TEST(Cover, SaysWhyACombinationIsImpossible) {
  const Cover cover = MakeCover(TheSample(), {});
  EXPECT_THAT(cover.sets[0].reasons, Contains("bias=N must be N for integers"));
  EXPECT_THAT(cover.sets[0].reasons, Contains("too many rows"));
  EXPECT_THAT(cover.sets[0].reasons, Contains("ramps look alike"));
  EXPECT_THAT(cover.sets[0].reasons, Contains("no m gives both"));  // even, and one more than a multiple of 8
}

TEST(Cover, FindsWhatOneOfThousandsOfChoicesHasAndIsNotSureOfWhatItDidNotSearchToTheEnd) {
  const ThreeSizes op;
  const Cover cover = MakeCover(op, {});
  const CoveredSet& pairs = cover.sets[0];
  int found = 0, not_found = 0;
  for (int64_t index = 0; index < pairs.tuples.size(); ++index) {
    const std::string text = TupleText(op.Space(), pairs.tuples.At(index));
    const int reason = pairs.reason[static_cast<size_t>(index)];
    if (text.find("negative") != std::string::npos) {
      ++not_found;
      EXPECT_EQ(reason, kNotFound) << text;
    } else {
      found += text.find("=60") != std::string::npos;
      EXPECT_EQ(reason, kCovered) << text;
    }
  }
  EXPECT_EQ(found, 4);      // with bias=0, with bias=1, with the type, and whatever k is
  EXPECT_EQ(not_found, 5);  // as two million choices are too many
}

TEST(Cover, CallsNothingImpossibleBecauseAFewSizesAreRefused) {
  const OneOfManySizes op;
  const Cover cover = MakeCover(op, {});
  const CoveredSet& pairs = cover.sets[0];
  for (int64_t index = 0; index < pairs.tuples.size(); ++index) {
    EXPECT_EQ(pairs.reason[static_cast<size_t>(index)], kCovered) << TupleText(op.Space(), pairs.tuples.At(index));
  }
}

TEST(Cover, IsTheSameEachTime) {
  EXPECT_EQ(MakeCover(TheSample(), {.strength = 3}).cases, MakeCover(TheSample(), {.strength = 3}).cases);
}

// Random draws, from which `assay explore` takes its cases, find nearly all pairs that a search to the end finds.
TEST(Cover, HasFewPairsThatAnExplorationDoesNotFind) {
  const Operator& op = *OperatorRegistry::Global().Find("softmax");
  const CoverLimits limits{.elements = 4096, .flops = 1e5};
  const CoveredSet pairs = std::move(MakeCover(op, {.limits = limits}).sets[0]);
  const auto possible = std::ranges::count(pairs.reason, kCovered);
  Exploration exploration(op, limits, 5);
  int cases = 0;
  for (; exploration.Coverage().size() == 1; ++cases) {
    exploration.Judged(exploration.Next().value(), true, std::nullopt);
    ASSERT_LT(cases, 2000);
  }
  const Explored found = exploration.Coverage()[0];
  EXPECT_GT(found.covered, 0.97 * static_cast<double>(possible));
  EXPECT_LE(found.covered, pairs.tuples.size());
}

}  // namespace
}  // namespace assay

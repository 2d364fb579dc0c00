// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/cover.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/plan/cover/coverage.h"
#include "tests/unit/plan/sample_operator.h"
#include "tests/unit/plan/test_catalog.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
                [](const CaseView& view) { return view.Int("m") == 60 && view.Int("n") == 60 ? 0 : 1; });
    AddRelation(space, "all", {"m", "n", "k"}, {"negative", "positive"},
                [](const CaseView& view) { return view.Int("m") + view.Int("n") + view.Int("k") < 0 ? 0 : 1; });
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
                [](const CaseView& view) { return static_cast<int>((view.Int("m") + view.Int("n")) % 2); });
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

OpCatalog With(const Operator& op) {
  OpCatalog catalog = TestCatalog();
  catalog.op = [&op](std::string_view name) -> const Operator* { return name == "matmul" ? &op : nullptr; };
  return catalog;
}

OpCatalog WithSample() {
  return With(TheSample());
}

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
  const std::vector<CoverLine> lines = {{"matmul", {}}};
  const auto cases = ParseSuite("cover pairs matmul", "s.suite", With(op)).value();
  EXPECT_EQ(CoverageOf(cases, lines, With(op))[0].missing.size(), 5u);
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

TEST(CoverLine, PlansCasesThatAreNotTimed) {
  const auto cases = ParseSuite("cover pairs matmul max_elements=20 max_flops=100", "s.suite", WithSample());
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), MakeCover(TheSample(), {.limits = {.elements = 20, .flops = 100}}).cases.size());
  for (const PlannedCase& planned : *cases) {
    EXPECT_FALSE(planned.timed);
    EXPECT_TRUE(planned.thorough);
    EXPECT_LE(AttrReader(planned.spec, MatmulSchema()).Int("m"), 20);
  }
  // One that another line plans too is timed.
  const std::string id = cases->front().spec.Id();
  const AttrReader attrs(cases->front().spec, MatmulSchema());
  std::string line = "matmul dtypes=" + DTypeListText(cases->front().spec.dtypes) + " fill=" + cases->front().spec.fill;
  for (const char* key : {"m", "n", "k", "transa", "bias"}) line += std::string(" ") + key + "=" + attrs.Text(key);
  const auto both = ParseSuite("cover pairs matmul max_elements=20 max_flops=100\n" + line, "s.suite", WithSample());
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->size(), cases->size());
  EXPECT_TRUE(both->front().timed);
}

TEST(CoverLine, RepeatsAsManyOfEachListOfTypesAsItSays) {
  const auto cases = ParseSuite("cover pairs matmul max_elements=20 max_flops=100 thorough=2", "s.suite", WithSample());
  ASSERT_TRUE(cases) << cases.error().message;
  std::map<std::string, int> thorough, planned;
  for (const PlannedCase& c : *cases) {
    const std::string types = DTypeListText(c.spec.dtypes);
    ++planned[types];
    thorough[types] += c.thorough ? 1 : 0;
  }
  ASSERT_GT(planned.size(), 1U);
  for (const auto& [types, count] : planned) EXPECT_EQ(thorough[types], std::min(count, 2)) << types;
}

TEST(CoverLine, ErrorsPointAtTheWord) {
  const auto error_of = [](std::string_view line) {
    const auto cases = ParseSuite(line, "s.suite", WithSample());
    return cases ? std::string("none") : cases.error().message;
  };
  EXPECT_THAT(error_of("cover pairs"), HasSubstr("s.suite:1:1: cover takes two words"));
  EXPECT_THAT(error_of("cover fours matmul"), HasSubstr("s.suite:1:7: 'fours' is neither pairs nor triples"));
  EXPECT_THAT(error_of("cover pairs matmull"), HasSubstr("s.suite:1:13: no operator 'matmull'"));
  EXPECT_THAT(error_of("cover pairs matmul max=3"), HasSubstr("s.suite:1:20: 'max=3' is not max_elements=NUMBER"));
  EXPECT_THAT(error_of("cover pairs matmul max_flops=no"), HasSubstr("no is not a number"));
  EXPECT_THAT(error_of("cover pairs matmul max_elements=64 thorough=1 max_elements=128"),
              HasSubstr("s.suite:1:47: max_elements=128 after max_elements=64: write one of them"));
  EXPECT_THAT(error_of("cover pairs matmul thorough=0"),
              HasSubstr("s.suite:1:20: thorough=0 is not a number of at least 1; thorough=1 executes the"));
  const auto unbound = ParseSuite("cover pairs matmul", "s.suite", TestCatalog());
  ASSERT_FALSE(unbound);
  EXPECT_THAT(unbound.error().message, HasSubstr("no operator 'matmul'"));
}

TEST(Coverage, TellsWhatASuiteLacks) {
  const std::vector<CoverLine> lines = {{"matmul", {.strength = 2, .limits = {.elements = 20}}}};
  const auto design = ParseSuite("cover pairs matmul max_elements=20", "s.suite", WithSample()).value();
  const auto full = CoverageOf(design, lines, WithSample());
  ASSERT_EQ(full.size(), 1u);
  EXPECT_THAT(full[0].missing, IsEmpty());
  EXPECT_GT(full[0].covered, 50);
  EXPECT_EQ(full[0].impossible.count("bias=N must be N for integers"), 1u);

  const auto one = ParseSuite("matmul dtypes=f32 m=7 n=1 k=1", "s.suite", WithSample()).value();
  const auto part = CoverageOf(one, lines, WithSample());
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part[0].covered, 8 * 7 / 2);  // of its eight properties
  EXPECT_EQ(part[0].possible(), full[0].possible());
  EXPECT_THAT(part[0].missing, Contains("dtypes=f32, bias=1"));
  EXPECT_THAT(part[0].missing, Not(Contains("dtypes=f32, bias=0")));
  EXPECT_THAT(CoverageText(part, false), HasSubstr("--verbose shows them"));
  EXPECT_THAT(CoverageText(part, true), HasSubstr("    dtypes=f32, bias=1\n"));
  EXPECT_THAT(CoverageJson(part), HasSubstr("\"dtypes=f32, bias=1\""));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// That a covering design calls no combination of sizes impossible which a case has: against all cases, by brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ops/operator.h"
#include "tests/designs/cover.h"

namespace assay {
namespace {

using ::testing::IsEmpty;

constexpr CoverLimits kLimits{.elements = 4096, .flops = 1e5};

// The pairs that cases have, against what a design says of them.
class Pairs {
 public:
  explicit Pairs(const char* op)
      : candidates_(*OperatorRegistry::Global().Find(op), kLimits),
        design_(MakeCover(*OperatorRegistry::Global().Find(op), {.limits = kLimits})) {}

  const Candidates& candidates() const { return candidates_; }
  size_t Knob(const char* key) const {
    const auto has = [&](const assay::Knob& knob) { return knob.keys[0] == key; };
    const auto& knobs = candidates_.space().knobs;
    return static_cast<size_t>(std::ranges::find_if(knobs, has) - knobs.begin());
  }
  int64_t Value(const char* key, int value) const {
    return std::stoll(candidates_.space().knobs[Knob(key)].values[static_cast<size_t>(value)][0]);
  }

  // Whether the choice is a case; its pairs are then possible.
  bool See(const Choice& choice) {
    const Result<CaseSpec> spec = candidates_.CaseOf(choice);
    if (!spec) return false;
    ++cases_;
    const CoveredSet& pairs = design_.sets[0];
    pairs.tuples.Each(candidates_.LevelsOf(choice, *spec), [&](int64_t pair) {
      if (pairs.reason[static_cast<size_t>(pair)] == kCovered || !wrong_.insert(pair).second) return;
      examples_.push_back(TupleText(candidates_.space(), pairs.tuples.At(pair)) + ": " + spec->Id());
    });
    return true;
  }

  int cases() const { return cases_; }
  // Pairs that no case of the design has, with a case that has them.
  const std::vector<std::string>& wrong() const { return examples_; }

 private:
  Candidates candidates_;
  Cover design_;
  int cases_ = 0;
  std::set<int64_t> wrong_;
  std::vector<std::string> examples_;
};

TEST(Reachable, MatmulOfAllSizes) {
  Pairs pairs("matmul");
  Choice choice(pairs.candidates().knobs());
  int &m = choice[pairs.Knob("m")], &n = choice[pairs.Knob("n")], &k = choice[pairs.Knob("k")];
  const int values = pairs.candidates().values(pairs.Knob("m"));
  for (choice[pairs.Knob("batch")] = 0; choice[pairs.Knob("batch")] < 4; ++choice[pairs.Knob("batch")]) {
    for (m = 0; m < values; ++m) {
      for (n = 0; n < values; ++n) {
        if (pairs.Value("m", m) * pairs.Value("n", n) > 4096) break;
        for (k = 0; k < values; ++k) {
          if ((pairs.Value("m", m) + pairs.Value("n", n)) * pairs.Value("k", k) > 4096) break;
          pairs.See(choice);
        }
      }
    }
  }
  EXPECT_GT(pairs.cases(), 10000);
  EXPECT_THAT(pairs.wrong(), IsEmpty());
}

// One head, no masks (they hide keys), and the data that show most. Every eighth s is combined with each l; dv is the
// smallest or the largest that fits.
TEST(Reachable, AttentionOfManySizes) {
  Pairs pairs("attention");
  Choice choice(pairs.candidates().knobs());
  int &l = choice[pairs.Knob("l")], &s = choice[pairs.Knob("s")];
  int &d = choice[pairs.Knob("d")], &dv = choice[pairs.Knob("dv")];
  const int lengths = pairs.candidates().values(pairs.Knob("l")), widths = pairs.candidates().values(pairs.Knob("d"));
  for (l = 0; l < lengths; ++l) {
    for (s = l % 8; s < lengths && pairs.Value("l", l) + pairs.Value("s", s) <= 2048; s += 8) {
      const int64_t most = 4096 / (pairs.Value("l", l) + pairs.Value("s", s));
      for (d = 0; d < widths && pairs.Value("d", d) < most; ++d) {
        int largest = 0;
        while (largest + 1 < widths && pairs.Value("d", d) + pairs.Value("dv", largest + 1) <= most) ++largest;
        for (const int width : {0, largest}) {
          dv = width;
          pairs.See(choice);
        }
      }
    }
  }
  EXPECT_GT(pairs.cases(), 1500);
  EXPECT_THAT(pairs.wrong(), IsEmpty());
}

class ReachableAtRandom : public testing::TestWithParam<const char*> {};

// Whatever else a case has: at random, small values more often.
TEST_P(ReachableAtRandom, EveryCase) {
  Pairs pairs(GetParam());
  std::mt19937_64 random(4);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<uint64_t>(bound)); };
  for (int i = 0; i < 8000; ++i) {
    Choice choice(pairs.candidates().knobs());
    for (size_t knob = 0; knob < choice.size(); ++knob) {
      const int count = pairs.candidates().values(knob);
      if (below(2) == 0) choice[knob] = std::min({below(count), below(count)});
    }
    pairs.See(choice);
  }
  EXPECT_GT(pairs.cases(), 250);
  EXPECT_THAT(pairs.wrong(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Operators, ReachableAtRandom,
                         testing::Values("attention", "conv", "fft", "matmul", "reduce", "softmax"),
                         [](const auto& op) { return std::string(op.param); });

}  // namespace
}  // namespace assay

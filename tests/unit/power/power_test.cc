// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `assay power`: confidence limits, counts and the envelope of correct results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/tools/power/power_envelope.h"
#include "harness/tools/power/power_groups.h"
#include "harness/tools/power/power_loop.h"
#include "harness/tools/power/power_tally.h"
#include "harness/tools/power/power_text.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Without an event the limit solves (1 - p)^n = 0.05.
TEST(PowerTally, UpperLimit) {
  for (const int64_t n : {1, 10, 2000}) EXPECT_NEAR(UpperLimit(0, n), 1 - std::pow(0.05, 1.0 / n), 1e-9) << n;
  EXPECT_NEAR(UpperLimit(0, 2000), 3.0 / 2000, 1e-5);
  // (1 - p)^10 + 10 p (1 - p)^9 = 0.05 at p = 0.39416 (tables of Clopper and Pearson, one-sided).
  EXPECT_NEAR(UpperLimit(1, 10), 0.39416, 1e-4);
  EXPECT_EQ(UpperLimit(7, 7), 1);
  EXPECT_EQ(UpperLimit(0, 0), 1);
  EXPECT_GT(UpperLimit(50000, 100000), 0.5);
  EXPECT_LT(UpperLimit(50000, 100000), 0.505);
}

// Two-sided limits of tables: 9 of 10, and none or all.
TEST(PowerInterval, ClopperAndPearson) {
  EXPECT_NEAR(ShareInterval(9, 10).low, 0.5550, 1e-4);
  EXPECT_NEAR(ShareInterval(9, 10).high, 0.9975, 1e-4);
  EXPECT_NEAR(ShareInterval(20, 20).low, std::pow(0.025, 1.0 / 20), 1e-9);
  EXPECT_EQ(ShareInterval(20, 20).high, 1);
  EXPECT_EQ(ShareInterval(0, 20).low, 0);
  EXPECT_EQ(ShareInterval(0, 0).low, 0);
}

// 20 cases of 50 pairs each: misses that are spread evenly say as much as 1000 pairs, all in one case far less.
TEST(PowerInterval, PairsOfOneCaseCountForLessWhereTheyAreMissedTogether) {
  std::vector<DrawnTogether> even(20, {49, 50}), together(20, {50, 50});
  together[0] = {30, 50};
  const Interval alone = ShareInterval(980, 1000), spread = ClusteredInterval(even),
                 lumped = ClusteredInterval(together);
  EXPECT_EQ(spread.low, alone.low);
  EXPECT_EQ(spread.high, alone.high);
  EXPECT_LT(lumped.low, 0.93);
  EXPECT_GT(lumped.low, 0.5);
  EXPECT_GT(lumped.high, alone.high);
}

TEST(PowerInterval, CasesAreTheTrialsWhereAllPairsAreCaughtOrNone) {
  const std::vector<DrawnTogether> all(20, {50, 50}), none(20, {0, 50});
  EXPECT_EQ(ClusteredInterval(all).low, ShareInterval(20, 20).low);
  EXPECT_EQ(ClusteredInterval(all).high, 1);
  EXPECT_EQ(ClusteredInterval(none).high, ShareInterval(0, 20).high);
  EXPECT_EQ(ClusteredInterval(none).low, 0);
  const std::vector<DrawnTogether> with_empty = {{50, 50}, {0, 0}};
  EXPECT_EQ(ClusteredInterval(with_empty).low, ShareInterval(1, 1).low);
  EXPECT_EQ(ClusteredInterval({}).low, 0);
  EXPECT_EQ(ClusteredInterval({}).high, 1);
}

std::vector<PlannedCase> CasesOf(const std::map<std::string, int>& counts) {
  std::vector<PlannedCase> cases;
  for (const auto& [op, count] : counts) {
    for (int i = 0; i < count; ++i) {
      PlannedCase& one = cases.emplace_back();
      one.spec.op = op, one.spec.dtypes = {DType::kF32}, one.spec.fill = "normal";
      one.spec.seed = static_cast<uint64_t>(i);
    }
  }
  return cases;
}

TEST(PowerSample, TakesOfEachOperatorInProportionAndAtLeastOne) {
  const auto cases = CasesOf({{"conv", 300}, {"fft", 97}, {"matmul", 3}});
  const auto sample = SampleCases(cases, 40, 1);
  std::map<std::string, int> counts;
  for (const PlannedCase& one : sample) ++counts[one.spec.op];
  EXPECT_EQ(counts, (std::map<std::string, int>{{"conv", 30}, {"fft", 9}, {"matmul", 1}}));
  EXPECT_EQ(SampleCases(cases, 400, 1).size(), 400u);
}

TEST(PowerSample, FollowsFromTheSeedAndASmallerOneIsPartOfALarger) {
  const auto cases = CasesOf({{"conv", 100}, {"fft", 100}});
  const auto ids = [&](size_t size, uint64_t seed) {
    std::vector<std::string> all;
    for (const PlannedCase& one : SampleCases(cases, size, seed)) all.push_back(one.spec.Id());
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto small = ids(20, 7), large = ids(60, 7);
  EXPECT_EQ(small, ids(20, 7));
  EXPECT_NE(small, ids(20, 8));
  EXPECT_TRUE(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}

TEST(PowerSample, LeavesLargeCasesOut) {
  auto cases = CasesOf({{"conv", 3}});
  for (const double flops : {1e6, 1e7, 1e8}) {
    auto bound = std::make_shared<BoundCase>();
    bound->problem.flops = flops;
    cases[static_cast<size_t>(std::lround(std::log10(flops))) - 6].held = std::move(bound);
  }
  EXPECT_EQ(KeepCasesUpTo(cases, 1e7).size(), 2u);
  EXPECT_EQ(KeepCasesUpTo(cases, 1e5).size(), 0u);
}

Opinions All(Opinion opinion) {
  Opinions opinions;
  opinions.fill(opinion);
  return opinions;
}

TEST(PowerTally, CountsEffectivePairsAndLeavesOutWhatHasNoRule) {
  PowerTally tally;
  tally.pairs.push_back({"a", "c", 2.1, 5, All(Opinion::kRejects), ""});
  tally.pairs.push_back({"b", "c", kInf, kInf, All(Opinion::kAccepts), ""});
  tally.pairs.push_back({"d", "c", 2.0, 3, All(Opinion::kRejects), ""});
  tally.pairs.push_back({"e", "c", 9, 9, All(Opinion::kNoRule), ""});
  tally.legal.Add(All(Opinion::kAccepts));
  tally.legal.Add(All(Opinion::kRejects));
  tally.legal.Add(All(Opinion::kNoRule));
  const RuleSummary s = SummariseRule(tally, 2);
  EXPECT_EQ(s.effective_pairs, 2);
  EXPECT_EQ(s.CaughtFraction(), 0.5);
  EXPECT_EQ(s.all_pairs, 3);
  EXPECT_EQ(s.all_caught, 2);
  EXPECT_EQ(s.class_pairs, 3);
  EXPECT_EQ(s.not_applicable_pairs, 1);
  EXPECT_EQ(s.legal_tensors, 2);
  EXPECT_EQ(s.false_alarms, 1);
  EXPECT_EQ(s.not_applicable_tensors, 1);
}

Golden Values(std::vector<double> values) {
  Golden golden;
  golden.value = std::move(values);
  golden.magnitude = Plane(golden.size(), true);
  golden.error = Plane(golden.size(), true);
  return golden;
}

FaultPair Pair(const std::string& fault, const std::string& id, bool caught, uint32_t channels, double effect = 9) {
  return {fault, id, effect, effect, All(caught ? Opinion::kRejects : Opinion::kAccepts), "", channels};
}

TEST(PowerGroups, AFaultCountsOnceForItsOperatorWhereSomeCaseCatchesIt) {
  PowerTally tally;
  tally.pairs = {Pair("fault.a", "conv/1", true, 0b1), Pair("fault.a", "conv/2", false, 0),
                 Pair("fault.b", "conv/1", false, 0), Pair("fault.a", "fft/1", true, 0b101),
                 Pair("fault.c", "fft/1", true, 0b1, 1)};
  const auto groups = PowerByOperator(tally);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].op, "conv");
  EXPECT_EQ((std::vector{groups[0].pairs, groups[0].caught, groups[0].faults, groups[0].faults_caught}),
            (std::vector<int64_t>{3, 1, 2, 1}));
  EXPECT_EQ(groups[0].never_caught, std::vector<std::string>{"fault.b"});
  EXPECT_EQ(groups[0].tensor_pairs, 0);
  EXPECT_EQ(groups[2].op, "all");
  EXPECT_EQ((std::vector{groups[2].pairs, groups[2].caught, groups[2].faults, groups[2].faults_caught}),
            (std::vector<int64_t>{4, 2, 3, 2}));
  const auto channels = PowerByChannel(tally);
  EXPECT_EQ((std::pair{channels[0].caught, channels[0].alone}), (std::pair<int64_t, int64_t>{2, 1}));
  EXPECT_EQ((std::pair{channels[2].caught, channels[2].alone}), (std::pair<int64_t, int64_t>{1, 0}));
  EXPECT_NE(PowerText(tally, {}).find("caught on no case: fault.b of conv"), std::string::npos);
  EXPECT_EQ(PowerJson(tally, {})["operators"][1]["op"], "fft");
}

TEST(PowerGroups, PairsByTheTensorsLargestErrorAreCountedApart) {
  PowerTally tally;
  tally.pairs = {Pair("fault.a", "conv/1", true, 0b1), Pair("fault.b", "conv/1", false, 0),
                 Pair("fault.c", "conv/1", false, 0)};
  tally.pairs[0].tensor_effect = 3, tally.pairs[1].tensor_effect = kInf, tally.pairs[2].tensor_effect = 1.5;
  const auto groups = PowerByOperator(tally);
  EXPECT_EQ((std::vector{groups[0].pairs, groups[0].tensor_pairs, groups[0].tensor_caught}),
            (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(SummariseRule(tally, kAssayRule).TensorCaughtFraction(), 0.5);
}

TEST(PowerGroups, ChannelsAreThoseWhoseMarginsFail) {
  Record r;
  EXPECT_EQ(FindRejectingChannels(r), 0b100000U);
  r.bound_margin = 0.5, r.stat_margin = 2, r.exact_margin = kInf;
  EXPECT_EQ(FindRejectingChannels(r), 0b001001U);
}

TEST(PowerEnvelope, LargestErrorOfAnySeedPerElement) {
  const Contract f32 = ParseDeclaration("f32").value();
  Envelope envelope;
  envelope.Add(f32, Values({1, 10}), std::vector<double>{1.5, 10});
  envelope.Add(f32, Values({2, 20}), std::vector<double>{1.75, 20.125});
  const Golden golden = Values({3, 30});
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{4, 30}, 0, nullptr).of_element, 2);    // 1 / 0.5
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{4, 30.5}, 0, nullptr).of_element, 4);  // 0.5 / 0.125
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{4, 30.5}, 0, nullptr).of_tensor, 2);   // 1 / 0.5
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{3, 30.5}, 0, nullptr).of_tensor, 1);   // 0.5 / 0.5
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{3, 30}, 0, nullptr).of_element, 0);
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{3, 30}, 0, nullptr).of_tensor, 0);
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{NAN, 30}, 0, nullptr).of_element, kInf);  // unwritten
}

TEST(PowerEnvelope, ExactResultsAllowNothingButNoise) {
  Envelope envelope;
  Golden golden = Values({8});
  envelope.Add(ParseDeclaration("f32").value(), golden, std::vector<double>{8});
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{9}, 0, nullptr).of_element, kInf);
  golden.magnitude.Set(0, 8);
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{8 + 0x1p-39}, 0x1p-40, nullptr).of_element, 0.25);
}

TEST(PowerEnvelope, WeakerClassesWidenItForAllButNotForAStrongerClass) {
  const Contract f32 = ParseDeclaration("f32").value(), f16 = ParseDeclaration("f16acc").value();
  Envelope envelope;
  envelope.Add(f32, Values({1}), std::vector<double>{1.125});
  envelope.Add(f16, Values({1}), std::vector<double>{2});
  const Golden golden = Values({1});
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{1.5}, 0, nullptr).of_element, 0.5);
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{1.5}, 0, &f32).of_element, 4);
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{1.5}, 0, &f16).of_element, 0.5);
}

TEST(PowerEnvelope, NothingIsSaidWhereACorrectResultOverflows) {
  Envelope envelope;
  const Golden golden = Values({1e5, 1});
  envelope.Add(ParseDeclaration("f16acc").value(), golden, std::vector<double>{kInf, 1.5});
  EXPECT_EQ(envelope.Effect(golden, std::vector<double>{NAN, 1}, 0, nullptr).of_element, 0);
}

TEST(PowerText, JsonNamesEveryMissedFaultAndHasNoBareInfinity) {
  PowerTally tally;
  tally.pairs.push_back({"fault.a", "case-1", kInf, kInf, All(Opinion::kAccepts), "why"});
  tally.pairs.push_back({"fault.b", "case-1", 3, 3, All(Opinion::kRejects), "bound"});
  tally.legal.Add(All(Opinion::kAccepts));
  const auto json = PowerJson(tally, {});
  EXPECT_EQ(json["assay"]["caught_fraction"], 0.5);
  EXPECT_EQ(json["assay"]["false_alarms"], 0);
  EXPECT_EQ(json["tosa"]["legal_tensors"], 1);
  ASSERT_EQ(json["missed"].size(), 1u);
  EXPECT_EQ(json["missed"][0]["fault"], "fault.a");
  EXPECT_EQ(json["missed"][0]["effect_nonfinite"], "inf");
  EXPECT_TRUE(json["missed"][0]["effect"].is_null());
  EXPECT_NE(PowerText(tally, {}).find("missed: fault.a on case-1: why"), std::string::npos);
}

// 3 / 15000 and 3 / 700: the many tensors that bounds were tuned on say nothing about those that were held back.
TEST(PowerText, HeldBackTensorsHaveALimitOfTheirOwn) {
  PowerTally tally;
  for (int i = 0; i < 15000; ++i) tally.legal.Add(All(Opinion::kAccepts));
  for (int i = 0; i < 700; ++i) tally.held_back.Add(All(Opinion::kAccepts));
  const auto json = PowerJson(tally, {});
  EXPECT_NEAR(json["assay"]["false_alarm_upper_95"], 3.0 / 15000, 1e-6);
  EXPECT_NEAR(json["assay"]["held_back_upper_95"], 3.0 / 700, 2e-5);
  const std::string text = PowerText(tally, {});
  EXPECT_NE(text.find("0.0 % (0/15000)    0.02 %        0.0 % (0/700)    0.43 %"), std::string::npos) << text;
  EXPECT_NE(text.find("at least 2000 held-back tensors"), std::string::npos);
  for (int i = 700; i < kLeastHeldBack; ++i) tally.held_back.Add(All(Opinion::kAccepts));
  EXPECT_EQ(PowerText(tally, {}).find("at least"), std::string::npos);
}

TEST(PowerText, ASampleSaysOfWhatAndHowToHaveItAgain) {
  PowerRun run;
  run.cases = 40, run.sampled_from = 2000, run.sample_seed = 7;
  EXPECT_NE(
      PowerText({}, run).find("a random sample of 2000, of each operator in proportion: --sample 40 --sample-seed 7"),
      std::string::npos);
  EXPECT_EQ(PowerJson({}, run)["sampled_from"], 2000);
  EXPECT_EQ(PowerText({}, {}).find("sample"), std::string::npos);
}

TEST(HeldBackSeeds, BeginWhereTheyAreToldTo) {
  EXPECT_EQ(HeldBackSeeds({.held_back = 2}), (std::vector<uint64_t>{1000, 1001}));
  EXPECT_EQ(HeldBackSeeds({.held_back = 2, .held_back_from = 5000}), (std::vector<uint64_t>{5000, 5001}));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// The time left that runs of suite `default` say, in simulated runs: on machines of other speed, on backends that are
// slower or faster than the recorded ones, with compilers that take long at first, and with costs that scatter.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/terminal/progress.h"
#include "harness/core/model/case_spec.h"
#include "harness/engine/expected_cost.h"
#include "harness/plan/catalog.h"

namespace assay::cli {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;

const std::vector<PlannedCase>& DefaultCases() {
  static const auto cases = LoadSuite(ASSAY_TEST_ROOT "/ops/suites/default.suite", Catalog());
  return cases.value();
}

struct Machine {
  std::vector<std::string> backends;
  double speed;      // of the recorded one
  double compile_s;  // at the first case of an operator and its types
};

// Seconds that each case is expected to take.
const std::vector<double>& ExpectedSeconds(const std::string& backend) {
  static std::map<std::string, std::vector<double>> known;
  std::vector<double>& seconds = known[backend];
  if (!seconds.empty()) return seconds;
  const ExpectedCost cost(DefaultCases(), std::vector{backend}, true, 1);
  for (size_t i = 0; i < DefaultCases().size(); ++i) seconds.push_back(cost.Until(i + 1) - cost.Until(i));
  return seconds;
}

// Backends that compile their kernels, and operators that they have.
const std::set<std::string> kCompiling = {"opencl", "vulkan"};
const std::set<std::string> kCompiled = {"attention", "conv", "fft", "matmul", "reduce", "softmax"};

// Backends differ from the recorded ones by up to a factor of 1.5, and each case by 2.
std::vector<double> SecondsOfCases(const Machine& machine) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> seconds(DefaultCases().size());
  for (const std::string& backend : machine.backends) {
    const double factor = std::pow(1.5, uniform(random)) / machine.speed;
    std::set<std::string> compiled;
    for (size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] += ExpectedSeconds(backend)[i] * factor * std::pow(2, uniform(random));
      const CaseSpec& spec = DefaultCases()[i].spec;
      const bool is_offered = spec.op != "reduce" || !IsInt(spec.dtypes.front());
      if (!kCompiling.contains(backend) || !kCompiled.contains(spec.op) || !is_offered) continue;
      if (compiled.insert(spec.op + DTypeListText(spec.dtypes)).second) seconds[i] += machine.compile_s / machine.speed;
    }
  }
  return seconds;
}

// ", about 8 min left" as seconds; 0 if nothing is said.
double SecondsSaid(const std::string& text) {
  double number = 0;
  char unit[8] = "";
  if (std::sscanf(text.c_str(), ", about %lf %7s left", &number, unit) != 2) return 0;
  return number * (unit[0] == 's' ? 1 : unit[0] == 'm' ? 60 : 3600);
}

// By how much the worst of what is said is off, from 20 s on until a tenth is left.
double WorstFactor(const Machine& machine) {
  const std::vector<double> seconds = SecondsOfCases(machine);
  const double all_s = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<double> behind_s = {0};
  for (size_t i = 0; i < seconds.size(); ++i) {
    double sum = 0;
    for (const std::string& backend : machine.backends) sum += ExpectedSeconds(backend)[i];
    behind_s.push_back(behind_s.back() + sum);
  }
  const auto begin = TimeLeft::Clock::now();
  TimeLeft left;
  double now_s = 0, worst = 1;
  for (size_t i = 0; i < seconds.size() && now_s < 0.9 * all_s; now_s += seconds[i++]) {
    const auto now = begin + duration_cast<TimeLeft::Clock::duration>(duration<double>(now_s));
    left.Expect(behind_s[i], behind_s.back() - behind_s[i], now);
    if (now_s < 20) continue;
    const double said_s = SecondsSaid(left.Text(now)), left_s = all_s - now_s;
    EXPECT_GT(said_s, 0);
    worst = std::max({worst, said_s / left_s, left_s / said_s});
  }
  return worst;
}

// The recorded cases of formulas are small ones alone.
TEST(TimeLeft, CasesOfFormulasThatAreTimedTakeTimeToo) {
  std::vector<PlannedCase> cases = LoadSuite(ASSAY_TEST_ROOT "/ops/suites/first.suite", Catalog()).value();
  for (PlannedCase& planned : cases) planned.timed = true;
  const ExpectedCost cost(cases, std::vector<std::string>{"cpu"}, false, 1);
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_GT(cost.Until(i + 1), cost.Until(i)) << cases[i].spec.Id();
}

// Runs that compile all kernels anew say too much at first.
TEST(TimeLeft, IsWithinAFactorOfTwoAfterTwentySeconds) {
  const std::vector<std::vector<std::string>> choices = {
      {"cpu", "onednn", "opencl", "vulkan"}, {"cpu"}, {"onednn"}, {"vulkan"}, {"cpu", "torch"}};
  for (const auto& backends : choices) {
    for (const double speed : {0.2, 0.5, 1.0, 2.0}) {
      EXPECT_LE(WorstFactor({backends, speed, 0}), 2) << fmt::format("{} speed {}", fmt::join(backends, ","), speed);
      EXPECT_LE(WorstFactor({backends, speed, 1}), 4.5) << fmt::format("{} cold, {}", fmt::join(backends, ","), speed);
    }
  }
}

std::string TextAfter(double elapsed_s, std::vector<double> behind_s, double all_s) {
  const auto begin = TimeLeft::Clock::now();
  TimeLeft left;
  for (const double s : behind_s) left.Expect(s, all_s - s, begin);
  return left.Text(begin + duration_cast<TimeLeft::Clock::duration>(duration<double>(elapsed_s)));
}

TEST(TimeLeft, IsSaidInSecondsMinutesAndHours) {
  EXPECT_EQ(TextAfter(25, {0, 25}, 100), ", about 75 s left");
  EXPECT_EQ(TextAfter(100, {0, 100}, 1000), ", about 15 min left");
  EXPECT_EQ(TextAfter(3598, {0, 358}, 3598), ", about 9.0 h left");
  EXPECT_EQ(TextAfter(2, {0, 1}, 100), "");     // too early
  EXPECT_EQ(TextAfter(10, {0}, 100), "");       // nothing to go by
  EXPECT_EQ(TextAfter(10, {0, 100}, 100), "");  // none
}

TEST(TimeLeft, WhatIsBehindARunAtFirstTookNoneOfItsTime) {
  EXPECT_EQ(TextAfter(25, {500, 525}, 600), ", about 75 s left");
  EXPECT_EQ(TextAfter(25, {500, 0, 25}, 100), ", about 75 s left");  // the next pass
}

TEST(ExpectedCost, FurtherRoundsTakeTheTimingAlone) {
  const std::vector<std::string> cpu = {"cpu"};
  const auto& cases = DefaultCases();
  const ExpectedCost once(cases, cpu, true, 1), thrice(cases, cpu, true, 3), untimed(cases, cpu, false, 3);
  const double timing_s = (thrice.Total() - once.Total()) / 2;
  EXPECT_GT(timing_s, 0);
  EXPECT_LT(timing_s, once.Total());
  EXPECT_EQ(untimed.Total(), untimed.Until(cases.size()));
  EXPECT_EQ(thrice.Until(cases.size()), once.Total());
  EXPECT_NEAR(thrice.Until(2 * cases.size()), once.Total() + timing_s, 1e-9);
  EXPECT_NEAR(thrice.Until(3 * cases.size()), thrice.Total(), 1e-9);
  EXPECT_EQ(ExpectedCost({}, cpu, true, 1).Until(7), 0);
}

}  // namespace
}  // namespace assay::cli

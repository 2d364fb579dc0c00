// SPDX-License-Identifier: Apache-2.0
// Sums of squares of 16-bit numbers: the roundings of legal ones lean to one side, and the statistic grants that and no
// more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "harness/judge/verdict.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

double NarrowTo(DType type, double x) {
  return RoundTo(FormatOf(type), x);
}

// One after the other, in eight lanes, or pairwise.
enum class Order : uint8_t { kSequential, kLanes, kPairwise };

float SumInF32(std::vector<float> terms, Order order) {
  if (order == Order::kPairwise) {
    for (size_t n = terms.size(); n > 1; n = (n + 1) / 2) {
      for (size_t i = 0; i < n / 2; ++i) terms[i] = terms[2 * i] + terms[2 * i + 1];
      if (n % 2 == 1) terms[n / 2] = terms[n - 1];
    }
    return terms[0];
  }
  std::vector<float> lanes(order == Order::kLanes ? 8 : 1);
  for (size_t i = 0; i < terms.size(); ++i) lanes[i % lanes.size()] += terms[i];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

void SetData(const std::function<double(std::mt19937_64&)>& draw, StatisticCase& c) {
  std::mt19937_64 random(7);
  std::vector<double> values(static_cast<size_t>(c.inputs[0].size()));
  for (double& x : values) x = NarrowTo(c.problem.inputs[0].dtype, draw(random));
  c.inputs[0].SetDoubles(values);
  c.golden = c.op.ComputeGolden(c.problem, 0, c.inputs, Tier::kFast);
  c.bound = c.op.Bound(c.problem, 0, c.golden, c.contract);
}

// A norm in f32. `lost` terms are left out of each sum, and `divisor` is added to the number of terms.
std::vector<double> RmsNorm(const StatisticCase& c, Order order, size_t lost = 0, int divisor = 0) {
  const std::vector<double> x = c.inputs[0].ToDoubles(), gamma = c.inputs[1].ToDoubles();
  const auto n = static_cast<size_t>(c.problem.Int("n"));
  std::vector<double> y;
  for (size_t row = 0; row < x.size(); row += n) {
    std::vector<float> squares;
    for (size_t i = row; i < row + n - lost; ++i) squares.push_back(static_cast<float>(x[i] * x[i]));
    const float mean = SumInF32(squares, order) / static_cast<float>(static_cast<int>(n) + divisor);
    const float scale = 1 / std::sqrt(mean + 1e-6F);
    for (size_t i = 0; i < n; ++i) {
      const float result = static_cast<float>(x[row + i]) * scale * static_cast<float>(gamma[i]);
      y.push_back(NarrowTo(c.problem.outputs[0].dtype, result));
    }
  }
  return y;
}

std::vector<double> L2(const StatisticCase& c, Order order) {
  const std::vector<double> x = c.inputs[0].ToDoubles();
  std::vector<double> y;
  const size_t n = x.size() / c.golden.value.size();
  for (size_t row = 0; row < x.size(); row += n) {
    std::vector<float> squares;
    for (size_t i = row; i < row + n; ++i) squares.push_back(static_cast<float>(x[i] * x[i]));
    y.push_back(NarrowTo(c.problem.outputs[0].dtype, std::sqrt(SumInF32(squares, order))));
  }
  return y;
}

TEST(NarrowSquares, SumsInF32AreLegalInAnyOrder) {
  const std::function<double(std::mt19937_64&)> draws[] = {
      [](auto& random) { return std::normal_distribution<double>()(random); },
      [](auto& random) { return std::uniform_real_distribution<double>(0, 1)(random); },
      [](auto& random) { return std::uniform_real_distribution<double>(1, 2)(random); },
      [](auto& random) { return std::uniform_real_distribution<double>(1, 1.06)(random); },
      [](auto& random) { return std::uniform_real_distribution<double>(1.41, 1.5)(random); },
      [](auto& random) { return std::exp(std::normal_distribution<double>()(random)); },
  };
  for (const char* type : {"bf16", "f16"}) {
    for (const int n : {64, 1000, 4096, 20000}) {
      StatisticCase norm(fmt::format("rms_norm/{}/rows=8,n={}/fill=normal/seed=0", type, n), "acc=f32;math=4");
      StatisticCase l2(fmt::format("reduce/{}-f32/shape=8x{},axes=1,kind=l2/fill=normal/seed=0", type, n),
                       "acc=f32;math=4");
      for (const auto& draw : draws) {
        SetData(draw, norm), SetData(draw, l2);
        for (const Order order : {Order::kSequential, Order::kLanes, Order::kPairwise}) {
          for (const auto& [c, got] : {std::pair(&norm, RmsNorm(norm, order)), std::pair(&l2, L2(l2, order))}) {
            const ErrorMetrics metrics = c->Judge(got);
            ASSERT_TRUE(metrics.statistic.applicable) << c->problem.spec.Id();
            EXPECT_TRUE(metrics.Holds() && metrics.statistic.Holds())
                << c->problem.spec.Id() << " draw " << &draw - draws << ": " << metrics.statistic.reason;
          }
        }
      }
    }
  }
}

// Numbers of 16 bits that were converted to f32 have the same squares.
TEST(NarrowSquares, ThoseOfAWideTypeAreLegalToo) {
  StatisticCase c("rms_norm/f32/rows=8,n=2500/fill=normal/seed=0", "acc=f32;math=4");
  SetData(
      [](auto& random) { return NarrowTo(DType::kBF16, 1 + 0.06 * std::uniform_real_distribution<double>()(random)); },
      c);
  const ErrorMetrics metrics = c.Judge(RmsNorm(c, Order::kSequential));
  EXPECT_TRUE(metrics.Holds() && metrics.statistic.Holds()) << metrics.statistic.reason;
}

// The bound lets three quarters of lost terms and a wrong divisor pass in such rows.
TEST(NarrowSquares, AWrongDivisorAndALostTermAreFarOff) {
  for (const char* type : {"bf16", "f16"}) {
    const StatisticCase c(fmt::format("rms_norm/{}/rows=8,n=4096/fill=normal/seed=0", type), "acc=f32;math=4");
    for (const auto& [lost, divisor] : {std::pair(0, -1), std::pair(1, 0), std::pair(2, 0)}) {
      const ErrorMetrics metrics = c.Judge(RmsNorm(c, Order::kLanes, static_cast<size_t>(lost), divisor));
      EXPECT_GT(metrics.statistic.max_r, kUserElementThreshold) << type << " " << lost << " " << divisor;
    }
  }
}

}  // namespace
}  // namespace assay::test

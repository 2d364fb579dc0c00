// SPDX-License-Identifier: Apache-2.0
// Twins of means over lengths that are no power of two: whatever is legal stays within the tolerance, and no missing or
// doubled term does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/core/data/fill/rng.h"
#include "ops/reduce/reduce.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/sums.h"

namespace assay::test {
namespace {

enum class Way : uint8_t { kDivideSum, kMultiplySum, kDivideTerms, kMultiplyTerms, kFmaTerms, kScaleBlocks };
constexpr Way kWays[] = {Way::kDivideSum,     Way::kMultiplySum, Way::kDivideTerms,
                         Way::kMultiplyTerms, Way::kFmaTerms,    Way::kScaleBlocks};

struct MeanMachine {
  DType format = DType::kF32;
  bool truncates = false;

  double Round(double x) const {
    const FloatFormat& f = FormatOf(format);
    const double nearest = RoundTo(f, x);
    return truncates && std::abs(nearest) > std::abs(x) ? nearest - std::copysign(UlpAt(f, x), x) : nearest;
  }
  double Mean(Way way, std::span<const double> x, double count) const {
    const double reciprocal = Round(1 / count);
    const bool first = way == Way::kDivideTerms || way == Way::kMultiplyTerms;
    const size_t width = way == Way::kScaleBlocks ? 7 : x.size();
    double total = 0;
    for (size_t begin = 0; begin < x.size(); begin += width) {
      double sum = 0;
      for (size_t k = begin; k < std::min(x.size(), begin + width); ++k) {
        if (way == Way::kFmaTerms) {
          sum = Round(x[k] * reciprocal + sum);
        } else if (first) {
          sum = Round(sum + Round(way == Way::kDivideTerms ? x[k] / count : x[k] * reciprocal));
        } else {
          sum = Round(sum + x[k]);
        }
      }
      total = way == Way::kScaleBlocks ? Round(total + Round(sum * reciprocal)) : sum;
    }
    if (way == Way::kDivideSum) return Round(total / count);
    return way == Way::kMultiplySum ? Round(total * reciprocal) : total;
  }
};

Problem MeanOf(const char* dtypes, int64_t rows, int64_t terms) {
  return Bind(fmt::format("reduce/{}/shape={}x{},axes=1,kind=mean/fill=normal/seed=0", dtypes, rows, terms));
}

bool Passes(const Twin& twin, DType out, int64_t row, double mean) {
  return Accepts(twin, out, row, RoundTo(FormatOf(out), mean));
}

// 0: as it is; 1: reversed; 2: climbs as high as it can and comes down; 3: the other way round; else: random.
void Arrange(uint64_t order, std::vector<double>& x) {
  if (order == 1) std::ranges::reverse(x);
  if (order == 2) std::ranges::sort(x, std::greater<>());
  if (order == 3) std::ranges::sort(x);
  if (order < 4) return;
  const RandomStream random(order, 5);
  for (auto i = static_cast<uint64_t>(x.size()) - 1; i > 0; --i) std::swap(x[i], x[random.Below(i, i + 1)]);
}

struct MeanTwinCase {
  const char* dtypes;
  const char* declaration;
  DType format;
};
constexpr MeanTwinCase kMeanTypes[] = {{"f32", "acc=f32", DType::kF32},  {"f32", "acc=f32;math=2;ftz=all", DType::kF32},
                                       {"bf16", "acc=f32", DType::kF32}, {"f16", "acc=f32;out=rz", DType::kF32},
                                       {"f64", "acc=f64", DType::kF64},  {"f16", "acc=f16", DType::kF16}};

TEST(MeanTwin, NoLegalOrderOrScalingRaisesAnAlarm) {
  int64_t runs = 0;
  for (const MeanTwinCase& type : kMeanTypes) {
    for (int64_t terms : {3, 5, 7, 11, 49, 100, 768, 1000, 2880, 12544}) {
      const Problem problem = MeanOf(type.dtypes, 3, terms);
      const bool narrow = type.format == DType::kF16;
      const std::vector<Twin> twins = TwinsOf(problem, type.declaration);
      ASSERT_TRUE(narrow || twins.size() >= 2) << problem.spec.Id();
      const uint64_t seeds = terms != 768 ? 12 : test::kIsFull ? 1000 : 200;
      for (const Twin& twin : twins) {
        for (uint64_t order = 0; order < seeds; ++order) {
          const int64_t row = static_cast<int64_t>(order % 3);
          std::vector<double> x = ReduceArgs(problem).Row(twin.inputs[0], row);
          Arrange(order, x);
          for (Way way : kWays) {
            for (bool truncates : {false, true}) {
              if (truncates && type.format == DType::kF64) continue;
              const double mean = MeanMachine{type.format, truncates}.Mean(way, x, static_cast<double>(terms));
              ++runs;
              ASSERT_TRUE(Passes(twin, problem.outputs[0].dtype, row, mean))
                  << problem.spec.Id() << " " << type.declaration << " way " << static_cast<int>(way) << " order "
                  << order << ": " << mean << " instead of " << twin.expected[row];
            }
          }
        }
      }
    }
  }
  EXPECT_GT(runs, test::kIsFull ? 100000 : 30000);
}

// Each term with the twin that has it, under the ways that round least and most.
TEST(MeanTwin, EveryMissingOrDoubledTermIsSeen) {
  for (const MeanTwinCase& type : kMeanTypes) {
    for (int64_t terms : {7, 49, 768, 12544}) {
      const Problem problem = MeanOf(type.dtypes, 2, terms);
      const std::vector<Twin> twins = TwinsOf(problem, type.declaration);
      if (type.format == DType::kF16 && twins.empty()) continue;  // too narrow for that many terms
      ASSERT_GE(twins.size(), 2u);
      if (terms > 1000 && &type != &kMeanTypes[0]) continue;  // as many terms each time as other lengths have in all
      std::vector<bool> tested(static_cast<size_t>(terms));
      for (size_t variant = 0; variant < twins.size(); ++variant) {
        const int64_t row = static_cast<int64_t>(variant % 2);
        const std::vector<double> all = ReduceArgs(problem).Row(twins[variant].inputs[0], row);
        std::vector<double> x;  // zeros add nothing
        std::ranges::copy_if(all, std::back_inserter(x), [](double v) { return v != 0; });
        for (size_t k = 0, place = 0; k < all.size(); ++k) {
          if (all[k] == 0) continue;
          tested[k] = true;
          for (double copies : {0.0, 2.0}) {
            for (Way way : {Way::kDivideSum, Way::kFmaTerms}) {
              if (terms > 1000 && ((copies == 0) == (k % 2 == 0) || way == Way::kDivideSum)) continue;
              std::vector<double> faulty = x;
              faulty[place] *= copies;
              const double mean = MeanMachine{type.format}.Mean(way, faulty, static_cast<double>(terms));
              ASSERT_FALSE(Passes(twins[variant], problem.outputs[0].dtype, row, mean))
                  << problem.spec.Id() << " variant " << variant << " term " << k << " x " << copies;
            }
          }
          ++place;
        }
      }
      EXPECT_EQ(std::ranges::count(tested, false), 0) << problem.spec.Id();
    }
  }
}

TEST(MeanTwin, ToleratesNoMoreThanHalfATerm) {
  for (const MeanTwinCase& type : kMeanTypes) {
    for (int64_t terms : {3, 100, 768, 2880, 12544}) {
      const Problem problem = MeanOf(type.dtypes, 5, terms);
      for (const Twin& twin : TwinsOf(problem, type.declaration)) {
        for (int64_t row = 0; row < 5; ++row) {
          const double ulp = UlpAt(FormatOf(problem.outputs[0].dtype), twin.expected[row]);
          EXPECT_GT(twin.ToleranceAt(row), 0);
          EXPECT_LE(twin.ToleranceAt(row) * ulp, twin.expected[row] / 2);
        }
      }
    }
  }
}

TEST(MeanTwin, NoneWhereATermCouldHide) {
  EXPECT_TRUE(TwinsOf(MeanOf("f16", 1, 768), "acc=f16").empty());
  EXPECT_TRUE(TwinsOf(MeanOf("f32", 1, 100001), "acc=f32").empty());
  EXPECT_EQ(TwinsOf(MeanOf("f32", 1, 23001), "acc=f32").size(), 8u);
  EXPECT_TRUE(TwinsOf(MeanOf("f16", 1, 100001), "acc=f32").empty()) << "1/K is subnormal";
  EXPECT_TRUE(TwinsOf(MeanOf("f32", 1, 768), "acc=f32;mid=f16").empty());
  EXPECT_FALSE(TwinsOf(MeanOf("f64", 1, 100001), "acc=f64").empty());
}

TEST(MeanTwin, NarrowAccumulatorsFail) {
  const Problem problem = MeanOf("f32", 1, 768);
  for (const Twin& twin : TwinsOf(problem, "acc=f32")) {
    std::vector<double> x = ReduceArgs(problem).Row(twin.inputs[0], 0);
    for (Way way : kWays) {
      EXPECT_FALSE(Passes(twin, DType::kF32, 0, MeanMachine{DType::kBF16}.Mean(way, x, 768))) << static_cast<int>(way);
    }
  }
}

}  // namespace
}  // namespace assay::test

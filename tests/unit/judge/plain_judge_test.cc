// SPDX-License-Identifier: Apache-2.0
// The short way by which most elements are judged says to the last bit what all rules together say. A bound that could
// admit other results, but does not, sends every element through all of them.
#include <gtest/gtest.h>

#include <bit>

#include "harness/judge/judge.h"
#include "tests/unit/judge/judged_case.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

void ExpectSame(const Judgement& got, const Judgement& expected, double value) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  EXPECT_EQ(got.accepted, expected.accepted) << value;
  EXPECT_EQ(got.finite, expected.finite) << value;
  EXPECT_EQ(bits(got.error), bits(expected.error)) << value;
  EXPECT_EQ(bits(got.allowed), bits(expected.allowed)) << value;
  EXPECT_EQ(bits(got.rounding), bits(expected.rounding)) << value;
}

// Every element with its own result, its golden value's neighbours, and what an accident may leave there.
void ExpectSameByAllRules(const JudgedCase& c) {
  BoundModel hesitant = c.bound;
  hesitant.also.assign(c.golden.value.size(), 0);
  const DType type = c.got.dtype();
  const ElementJudge judge(c.golden, c.bound, c.contract, type), by_all(c.golden, hesitant, c.contract, type);
  const std::vector<double> results = c.got.ToDoubles();
  for (int64_t i = 0; i < c.values(); ++i) {
    const double result = results[static_cast<size_t>(i)], rounded = judge.Rounded(i);
    const double ulp = UlpAt(FormatOf(type), rounded);
    for (const double x : {result, rounded, rounded + ulp, rounded - ulp, -result, 0.0, -0.0, 1.0, kNaN, kInf, -kInf,
                           FormatOf(type).max_finite}) {
      ExpectSame(judge.Judge(i, x), by_all.Judge(i, x), x);
    }
  }
}

class PlainJudge : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, PlainJudge,
                         testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3,
                                         DType::kC64),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(PlainJudge, SaysWhatAllRulesSay) {
  for (const OutputRounding out : {OutputRounding::kNearest, OutputRounding::kTowardZero, OutputRounding::kAny}) {
    for (const bool special : {false, true}) {
      JudgedCase c({.dtype = GetParam(), .shape = {13, 31}, .special = special});
      c.contract.out = out;
      ExpectSameByAllRules(c);
    }
  }
}

// Half a gap is right for one of the neighbours alone.
TEST_P(PlainJudge, LeavesTiesWithoutATolerance) {
  JudgedCase c({.dtype = GetParam(), .shape = {64}});
  const double step = UlpAt(FormatOf(GetParam()), 1);
  for (int64_t i = 0; i < c.values(); ++i) {
    c.golden.value[static_cast<size_t>(i)] = 1 + step * (static_cast<double>(i) + 0.5);
    c.golden.magnitude.Set(i, 0);
    c.golden.error.Set(i, 0);
  }
  ExpectSameByAllRules(c);
}

TEST_P(PlainJudge, LeavesInfiniteBounds) {
  JudgedCase c({.dtype = GetParam(), .shape = {64}});
  for (int64_t i = 0; i < c.values(); i += 3) c.golden.magnitude.Set(i, kInf);
  for (int64_t i = 1; i < c.values(); i += 3) c.golden.error.Set(i, kInf);
  ExpectSameByAllRules(c);
}

}  // namespace
}  // namespace assay

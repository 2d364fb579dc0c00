// SPDX-License-Identifier: Apache-2.0
// Every rule about NaN, infinities and overflow, one line each, on the single-element judge and
// through the whole pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/judge/judge.h"
#include "tests/unit/judge/judged_case.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

struct Rule {
  const char* name;
  double golden, got;
  bool accepted;
  DType dtype = DType::kF16;
  double accumulated = 0.5;  // A
  double magnitude = 1;      // S; the accumulator overflows at 1e30
  double golden_error = 0;
  unsigned also = 0;  // BoundModel::also
  OutputRounding rounding = OutputRounding::kNearest;
  PartialSigns signs = PartialSigns::kEither;
};

constexpr Rule Terms(const char* name, double golden, double magnitude, double got, bool accepted) {
  Rule rule{name, golden, got, accepted, DType::kF32, .5, magnitude};
  rule.signs = PartialSigns::kOfTerms;
  return rule;
}

const Rule kRules[] = {
    {"NanForNan", kNaN, kNaN, true},
    {"FiniteForNan", kNaN, 1, false},
    {"ZeroForNan", kNaN, 0, false},
    {"InfForNan", kNaN, kInf, false},
    {"NanAsWell", 1, kNaN, true, DType::kF16, .5, 1, 0, kAlsoNan},
    {"NanAsWellIsNotAnythingElse", 1, 9, false, DType::kF16, .5, 1, 0, kAlsoNan},
    {"NanAsWellIsNotInf", 1, kInf, false, DType::kF16, .5, 1, 0, kAlsoNan},
    {"NanAsWellKeepsTheBound", 1, 1.25, true, DType::kF16, .5, 1, 0, kAlsoNan},
    {"ValueForNan", kNaN, 7, true, DType::kF16, .5, 1, 0, kAlsoValue},
    {"OtherValueForNan", kNaN, 8, false, DType::kF16, .5, 1, 0, kAlsoValue},
    {"EitherInf", 1, -kInf, true, DType::kF16, .5, 1, 0, kAlsoInfinity},
    {"InfAsWellIsNotNan", 1, kNaN, false, DType::kF16, .5, 1, 0, kAlsoInfinity},
    {"SignedInf", -1, -kInf, true, DType::kF16, .5, 1, 0, kAlsoSignedInfinity},
    {"SignedInfOfTheOtherSign", -1, kInf, false, DType::kF16, .5, 1, 0, kAlsoSignedInfinity},
    {"SignedFinite", -1, -500, true, DType::kF16, .5, 1, 0, kAlsoSignedFinite},
    {"SignedFiniteZero", -1, 0, true, DType::kF16, .5, 1, 0, kAlsoSignedFinite},
    {"SignedFiniteOfTheOtherSign", -1, 500, false, DType::kF16, .5, 1, 0, kAlsoSignedFinite},
    {"SignedFiniteIsNotNan", -1, kNaN, false, DType::kF16, .5, 1, 0, kAlsoSignedFinite},
    {"Anything", 1, kNaN, true, DType::kF16, .5, 1, 0, kAnything},
    {"NanForNanWhateverTheBound", kNaN, 1, false, DType::kF16, kInf},
    {"InfForInfWhateverTheBound", kInf, 1, false, DType::kF16, kInf},
    {"OtherInfWhateverTheBound", kInf, -kInf, false, DType::kF16, kInf},
    {"NanForInfWithoutABound", kInf, kNaN, true, DType::kF16, kInf},
    {"FreeWhenGoldenErrorInfinite", kNaN, 1, true, DType::kF16, .5, 1, kInf},
    {"FreeFiniteWhenGoldenErrorInfinite", 1, kNaN, true, DType::kF16, .5, 1, kInf},
    {"NanForFinite", 1, kNaN, false},
    {"InfForFinite", 1, kInf, false},
    {"InfForInf", kInf, kInf, true},
    {"MinusInfForInf", kInf, -kInf, false},
    {"InfForMinusInf", -kInf, kInf, false},
    {"FiniteForInf", kInf, 65504, false},
    {"NanForInf", kInf, kNaN, false},
    {"InfBeyondRange", 70000, kInf, true},
    {"MinusInfBeyondRange", -70000, -kInf, true},
    {"WrongSignBeyondRange", 70000, -kInf, false},
    {"NanBeyondRange", 70000, kNaN, false},
    {"FiniteBeyondRange", 70000, 65504, false},
    {"FiniteBeyondRangeEvenWithinTolerance", 65530, 65504, false},
    {"InfNearThreshold", 65519.75, kInf, true},
    {"FiniteNearThreshold", 65519.75, 65504, true},
    {"FiniteJustBeyondThreshold", 65520.25, 65504, true},
    {"InfBelowThreshold", 65519.25, kInf, false},
    {"FarInfWhenBoundReachesIt", 100, -kInf, true, DType::kF16, 70000},
    {"PartialOverflowGivesInf", 1, kInf, true, DType::kF32, .5, 1e30},
    {"PartialOverflowGivesEitherSign", 1, -kInf, true, DType::kF32, .5, 1e30},
    {"PartialOverflowGivesNan", 1, kNaN, true, DType::kF32, .5, 1e30},
    {"PartialOverflowBelowThreshold", 1, kNaN, false, DType::kF32, .5, 0.9e30},
    {"PartialOverflowIsNoExcuseForFinite", 1, 9, false, DType::kF32, .5, 1e30},
    {"NanForInfAfterPartialOverflow", kInf, kNaN, true, DType::kF32, .5, 1e30},
    {"FiniteForInfAfterPartialOverflow", kInf, 1, false, DType::kF32, .5, 1e30},
    // y = S: no term is negative. y = -S / 2: a quarter of S is positive.
    Terms("PositiveTermsOverflowUp", 3e30, 3e30, kInf, true),
    Terms("PositiveTermsOverflowNeverDown", 3e30, 3e30, -kInf, false),
    Terms("PositiveTermsOverflowNeverToNan", 3e30, 3e30, kNaN, false),
    Terms("NegativeTermsOverflowDown", -3e30, 3e30, -kInf, true),
    Terms("NegativeTermsOverflowNeverUp", -3e30, 3e30, kInf, false),
    Terms("MixedTermsOverflowDown", -1e30, 2e30, -kInf, true),
    Terms("MixedTermsOverflowNotUpEach", -1e30, 2e30, kInf, false),
    Terms("MixedTermsOverflowUpWhereEnough", -2e30, 4e30, kInf, true),
    Terms("MixedTermsOverflowToNanWhereEnough", -2e30, 4e30, kNaN, true),
    Terms("InfinityBesideTermsOfAnySign", kInf, 1e30, kNaN, true),
    {"SquaresOverflowUp", 1, kInf, true, DType::kF32, .5, 1e30, 0, 0, OutputRounding::kNearest,
     PartialSigns::kNonNegative},
    {"SquaresOverflowNeverDown", 1, -kInf, false, DType::kF32, .5, 1e30, 0, 0, OutputRounding::kNearest,
     PartialSigns::kNonNegative},
    {"SquaresOverflowNeverToNan", 1, kNaN, false, DType::kF32, .5, 1e30, 0, 0, OutputRounding::kNearest,
     PartialSigns::kNonNegative},
    {"NoInfinityOverflowsToNan", 500, kNaN, true, DType::kE4M3},
    {"NoInfinityNanInRange", 100, kNaN, false, DType::kE4M3},
    {"NoInfinityGoldenInf", kInf, kNaN, true, DType::kE4M3},
    {"TowardZeroStopsAtLargest", 70000, 65504, true, DType::kF16, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroKeepsSign", 70000, -65504, false, DType::kF16, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroOtherFinite", 70000, 65472, false, DType::kF16, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroNeverOverflows", 70000, kInf, false, DType::kF16, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroSumsMayOverflow", 70000, kInf, true, DType::kF16, .5, 1e30, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroSaturatesWithoutInfinity", 500, 448, true, DType::kE4M3, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"TowardZeroHasNoNanEither", 500, kNaN, false, DType::kE4M3, .5, 1, 0, 0, OutputRounding::kTowardZero},
    {"AnyRoundingStopsAtLargest", 70000, 65504, true, DType::kF16, .5, 1, 0, 0, OutputRounding::kAny},
    {"AnyRoundingOverflows", 70000, kInf, true, DType::kF16, .5, 1, 0, 0, OutputRounding::kAny},
    {"SignedZeros", -0.0, 0.0, true, DType::kF16, 0},
    {"InfiniteBoundTakesAnyFinite", 1, 60000, true, DType::kF16, kInf},
    // Where A is infinite the contract promises nothing, and the measured power says so (inconclusive).
    {"InfiniteBoundPromisesNothing", 1, kNaN, true, DType::kF16, kInf},
    {"LargeFiniteBoundIsNoExcuseForNan", 1, kNaN, false, DType::kF32, 1e30},
    {"WithinBound", 1, 1.5, true},
    {"BeyondBound", 1, 1.6, false},
};

class NonFinite : public testing::TestWithParam<Rule> {};
INSTANTIATE_TEST_SUITE_P(Rules, NonFinite, testing::ValuesIn(kRules),
                         [](const auto& test) { return std::string(test.param.name); });

// The rule's element among ordinary ones, at a place that the vector path would take.
TEST_P(NonFinite, IsJudgedByTheRule) {
  const Rule& rule = GetParam();
  constexpr int64_t kPlace = 21;
  JudgedCase c({.dtype = rule.dtype, .shape = {43}, .wide = true, .noise = 0});
  Plane third(c.values(), true);
  for (double& y : c.golden.value) y = 1;
  c.bound.terms = {{&c.second, 1}};
  c.bound.also_value = &third;
  if (rule.also != 0) Admit(c.bound, c.values(), kPlace, rule.also);
  c.bound.partial_overflow_at = 1e30;
  c.bound.partial_signs = rule.signs;
  c.contract.out = rule.rounding;
  std::vector<double> out(c.golden.value);
  c.golden.value[kPlace] = rule.golden;
  c.golden.error.Set(kPlace, rule.golden_error);
  c.golden.magnitude.Set(kPlace, rule.magnitude);
  c.second.Set(kPlace, rule.accumulated);
  third.Set(kPlace, 7);
  out[kPlace] = rule.got;
  c.got.SetDoubles(out);

  const ElementJudge judge(c.golden, c.bound, c.contract, rule.dtype);
  EXPECT_EQ(judge.Judge(kPlace, rule.got).accepted, rule.accepted);
  EXPECT_FALSE(judge.Unbounded(kPlace) && judge.IsBoundedEverywhere());
  EXPECT_FALSE(judge.MayOverflow(kPlace) && judge.OverflowsNowhere());
  const ErrorMetrics m = c.Judge();
  EXPECT_EQ(m.Holds(), rule.accepted) << m.where;
  EXPECT_EQ(m.violations + m.nonfinite_mismatch, rule.accepted ? 0 : 1);
  if (rule.accepted) return;
  EXPECT_EQ(m.worst_index, kPlace);
  EXPECT_EQ(m.where, "1 of 43 elements, [21]");
  if (m.nonfinite_mismatch > 0) {
    ASSERT_TRUE(m.nonfinite_example);
    EXPECT_EQ(m.nonfinite_example->index, kPlace);
  }
}

// Which is what spares a look at each element.
TEST(NonFiniteRules, PlanesOfOrdinaryNumbersRuleOutWhatNoElementHas) {
  JudgedCase c({.shape = {43}, .extra_term = true, .wide = true});
  const auto rules_out = [&] {
    const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
    return std::pair(judge.IsBoundedEverywhere(), judge.OverflowsNowhere());
  };
  EXPECT_EQ(rules_out(), std::pair(true, true));
  c.second.Set(7, 1e47);  // its share of A is beyond f32's range
  EXPECT_EQ(rules_out(), std::pair(true, false));
  c.bound.terms[1].coefficient = 1e300;  // their product is infinite
  EXPECT_EQ(rules_out(), std::pair(false, false));
  c.second.Set(7, kNaN);
  EXPECT_EQ(rules_out(), std::pair(false, false));
}

TEST(NonFiniteRules, ExactOutputsNeedTheSameValue) {
  JudgedCase c({.shape = {4}, .exact = true});
  c.golden.value = {kNaN, kInf, -kInf, -0.0};
  c.got.SetDoubles(c.golden.value);
  EXPECT_TRUE(c.Judge().Holds());
  EXPECT_TRUE(c.Judge().bit_exact);
  c.golden.value[3] = 0.0;
  EXPECT_TRUE(c.Judge().Holds());
  c.got.SetDoubles(std::vector<double>{kNaN, kInf, kInf, 0});
  EXPECT_EQ(c.Judge().nonfinite_mismatch, 1);
  EXPECT_EQ(c.Judge().nonfinite_example->index, 2);
  c.got.SetDoubles(std::vector<double>{kInf, kInf, -kInf, 0});
  EXPECT_EQ(c.Judge().nonfinite_example->index, 0);
}

// An infinite coefficient (h u >= 1) bounds nothing, but an element with no terms is still exact.
TEST(NonFiniteRules, InfiniteCoefficientOfNothing) {
  JudgedCase c({.shape = {2}});
  c.bound.terms[0].coefficient = kInf;
  c.golden.magnitude.Set(0, 0);
  c.golden.error.Set(0, 0);
  c.golden.value = {0, 1};
  c.got.SetDoubles(std::vector<double>{0, 1000});
  EXPECT_TRUE(c.Judge().Holds());
  EXPECT_EQ(c.Judge().finite, 2);
  c.got.SetDoubles(std::vector<double>{1, 1000});
  EXPECT_EQ(c.Judge().violations, 1);
  EXPECT_EQ(c.Judge().worst_index, 0);
}

}  // namespace
}  // namespace assay

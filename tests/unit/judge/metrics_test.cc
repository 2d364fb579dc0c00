// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness/core/base/parallel.h"
#include "harness/judge/judge.h"
#include "hwy/highway.h"
#include "tests/unit/judge/judged_case.h"

namespace assay {
namespace {

constexpr DType kAllTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2,
                               DType::kI8,  DType::kI32, DType::kI64, DType::kC64,  DType::kC128, DType::kU8};

void ExpectClose(double got, long double expected, const char* what) {
  EXPECT_LE(std::fabs(got - expected), 1e-11L * std::fabs(expected)) << what << " " << got << " " << expected;
}

void ExpectEqualsNaive(const JudgedCase& c) {
  const ErrorMetrics m = c.Judge();
  const NaiveMetrics n = MeasureNaively(c);
  const auto finite = static_cast<long double>(n.finite);
  EXPECT_EQ(m.finite, n.finite);
  EXPECT_EQ(m.violations, n.violations);
  EXPECT_EQ(m.nonfinite_mismatch, n.nonfinite_mismatch);
  EXPECT_EQ(m.bit_exact, n.bit_exact && m.Holds());
  ExpectClose(m.max_abs_err, n.max_abs, "max_abs_err");
  ExpectClose(m.max_rel_err, n.max_rel, "max_rel_err");
  ExpectClose(m.max_ulp_err, n.max_ulp, "max_ulp_err");
  ExpectClose(m.rms_err, std::sqrt(n.sum_e2 / finite), "rms_err");
  if (n.sum_y2 > 0) ExpectClose(m.nmse.value(), n.sum_e2 / n.sum_y2, "nmse");
  if (std::isinf(n.margin)) {
    EXPECT_TRUE(std::isinf(m.bound_margin));
  } else {
    ExpectClose(m.bound_margin, n.margin, "bound_margin");
  }
  ExpectClose(m.range.zero_share, n.zeros / finite, "zero_share");
  const int parts = IsComplex(c.got.dtype()) ? 2 : 1;
  EXPECT_EQ(m.worst_index, n.worst < 0 ? -1 : n.worst / parts);
  EXPECT_EQ(m.where.empty(), m.Holds());
  EXPECT_EQ(m.nonfinite_example.has_value(), n.nonfinite_mismatch > 0);
  if (!m.statistic.applicable) return;
  ExpectClose(m.statistic.sum_r2, n.sum_r2, "sum_r2");
  ExpectClose(m.statistic.max_r, n.max_r, "max_r");
  ExpectClose(m.statistic.sigma_acc_rms, std::sqrt(n.sum_sigma2 / finite), "sigma_acc_rms");
  EXPECT_NEAR(m.statistic.bias_z, static_cast<double>(n.sum_bias / std::sqrt(finite)), 1e-9 * (1 + m.statistic.max_r));
}

class EveryType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Metrics, EveryType, testing::ValuesIn(kAllTypes),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(EveryType, EqualsNaive) {
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {37, 271}}));
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {13}, .seed = 2}));
}

TEST_P(EveryType, EqualsNaiveWithViolations) {
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {9001}, .seed = 3, .noise = 3}));
}

TEST_P(EveryType, EqualsNaiveOnTheGeneralPath) {
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {5003}, .seed = 4, .extra_term = true, .wide = true}));
}

TEST_P(EveryType, EqualsNaiveWithNonFiniteValues) {
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {20011}, .seed = 5, .special = !IsInt(GetParam())}));
}

TEST_P(EveryType, EqualsNaiveWhenExact) {
  ExpectEqualsNaive(JudgedCase({.dtype = GetParam(), .shape = {4099}, .seed = 6, .exact = true}));
}

TEST(Metrics, EqualsNaiveWithLowParts) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16}) {
    ExpectEqualsNaive(JudgedCase({.dtype = dtype, .shape = {5003}, .seed = 7, .low_parts = true}));
  }
}

// Everything that a record holds, as bits.
std::vector<uint64_t> Bits(const ErrorMetrics& m) {
  std::vector<uint64_t> bits;
  for (const double x : {m.max_abs_err, m.max_rel_err, m.max_ulp_err, m.rms_err, m.nmse.value_or(-1), m.bound_margin,
                         m.statistic.sum_r2, m.statistic.max_r, m.statistic.bias_z, m.statistic.sigma_acc_rms,
                         m.statistic.effective_bits.value_or(-1), m.range.zero_share, m.range.min, m.range.max}) {
    bits.push_back(std::bit_cast<uint64_t>(x));
  }
  for (const int64_t x : {m.finite, m.violations, m.nonfinite_mismatch, m.worst_index}) {
    bits.push_back(static_cast<uint64_t>(x));
  }
  for (const WorstElement& w : m.worst) bits.push_back(static_cast<uint64_t>(w.index));
  return bits;
}

TEST(Metrics, SameBitsForEveryThreadCount) {
  const JudgedCase c({.shape = {123457}, .seed = 8, .special = true, .noise = 2});
  const int before = ThreadCount();
  SetThreadCount(1);
  const auto one = Bits(c.Judge());
  for (const int threads : {2, 3, 7}) {
    SetThreadCount(threads);
    EXPECT_EQ(Bits(c.Judge()), one) << threads << " threads";
  }
  SetThreadCount(before);
}

TEST(Metrics, SameBitsForEveryInstructionSet) {
  const JudgedCase narrow({.shape = {50021}, .seed = 9});
  const JudgedCase wide({.dtype = DType::kF16, .shape = {50021}, .seed = 9});
  const auto expected_narrow = Bits(narrow.Judge()), expected_wide = Bits(wide.Judge());
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_EQ(Bits(narrow.Judge()), expected_narrow) << hwy::TargetName(target);
    EXPECT_EQ(Bits(wide.Judge()), expected_wide) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Golden and bound with the same number in wide and narrow planes: the two paths of the kernel.
TEST(Metrics, InPlacePathEqualsGeneralPath) {
  const JudgedCase direct({.shape = {30011}, .seed = 10});
  JudgedCase general({.shape = {30011}, .seed = 10});
  general.golden.value_lo.assign(30011, 0.0);
  EXPECT_EQ(Bits(direct.Judge()), Bits(general.Judge()));
}

// The second of two wrong elements of a lane has the larger error. Its unit is that of the format's largest numbers,
// however large the golden value is.
TEST(Metrics, UlpsBeyondTheFormatAreThoseOfItsLargestNumbers) {
  JudgedCase c({.dtype = DType::kF16, .shape = {16}});
  c.golden.value[0] = 0x1p-10, c.SetGot(0, 0x1p-10 + 2000 * 0x1p-20);
  c.golden.value[8] = 1e6, c.SetGot(8, 65504);
  EXPECT_EQ(c.Judge().max_ulp_err, (1e6 - 65504) / 32);
}

TEST(Metrics, OneWrongElementIsFoundAnywhere) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    JudgedCase c({.dtype = dtype, .shape = {4099 + 512}, .noise = 0});
    for (int64_t i = 0; i < c.values(); ++i) c.golden.value[static_cast<size_t>(i)] = 1;
    c.got.SetDoubles(c.golden.value);
    ASSERT_TRUE(c.Judge().Holds());
    std::vector<int64_t> places = {4095, 4096, 4097, 4099, c.values() - 2, c.values() - 1};
    for (int64_t i = 0; i < 18; ++i) places.insert(places.end(), {i, 504 + i, 4088 + i, c.values() - 1 - i});
    for (const int64_t place : places) {
      c.SetGot(place, 1.5);
      const ErrorMetrics m = c.Judge();
      ASSERT_EQ(m.violations, 1) << place;
      ASSERT_EQ(m.worst_index, place);
      ASSERT_EQ(m.worst.size(), 1U);
      EXPECT_EQ(m.worst[0].got, 1.5);
      EXPECT_EQ(m.worst[0].error, 0.5);
      EXPECT_LT(m.worst[0].tolerance, 0.5);
      EXPECT_FALSE(m.bit_exact);
      c.SetGot(place, 1);
    }
  }
}

TEST(Metrics, JustWithinAndJustBeyondTheBound) {
  JudgedCase c({.dtype = DType::kF64, .shape = {1}, .wide = true});
  c.golden.value[0] = 8;
  c.golden.error.Set(0, 0);
  c.golden.magnitude.Set(0, 1);
  c.bound.terms[0].coefficient = 0.25;
  c.bound.u_out = 0;
  c.SetGot(0, 8.25);
  EXPECT_EQ(c.Judge().violations, 0);
  EXPECT_NEAR(c.Judge().bound_margin, 1, 1e-14);
  c.SetGot(0, 8.25 + 0x1p-46);
  EXPECT_EQ(c.Judge().violations, 1);
}

// Checks the largest and the smallest number that are accepted.
TEST(Metrics, TolerancesLieWithinTheHardBound) {
  const JudgedCase c({.dtype = DType::kF16, .shape = {500}, .extra_term = true});
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF16);
  for (int64_t i = 0; i < c.values(); ++i) {
    const double bound = c.bound.LargestToleranceAt(c.golden, i), a = c.bound.At(c.golden, i);
    for (const double end : {-a, a}) {
      const double got = RoundTo(FormatOf(DType::kF16), c.golden.value[static_cast<size_t>(i)] + 0.999 * end);
      const Judgement judged = judge.Judge(i, got);
      EXPECT_TRUE(judged.accepted);
      EXPECT_LE(judged.Margin(), 1);
      EXPECT_LE(std::fabs(judged.error), judged.Tolerance());
      EXPECT_LE(judged.Tolerance(), bound * (1 + 0x1p-40));
    }
  }
}

// Selections and integers: one ulp below a power of two is as far as half an ulp above it, and still wrong, also where
// the contract flushes.
TEST(Metrics, ExactGoldenPermitsNoRounding) {
  JudgedCase c({.shape = {1}});
  c.golden.exact = true;
  c.golden.value = {8};
  c.golden.error.Set(0, 0);
  c.bound.terms.clear();
  c.SetGot(0, 8);
  EXPECT_TRUE(c.Judge().Holds());
  c.SetGot(0, 8 - 0x1p-21);
  EXPECT_EQ(c.Judge().violations, 1);
  c.contract.ftz = Flush::kOut;
  EXPECT_EQ(c.Judge().violations, 1);
  EXPECT_TRUE(std::isinf(c.Judge().bound_margin));
  c.golden.value = {0x1.8p-127};  // a subnormal f32
  for (const double right : {0.0, 0x1.8p-127}) {
    c.SetGot(0, right);
    EXPECT_TRUE(c.Judge().Holds()) << right;
  }
  c.SetGot(0, 0x1p-126);
  EXPECT_FALSE(c.Judge().Holds());
}

// Integer sums of a float accumulator: a bound in place of equality, on the vector path and at a tile's end alike.
TEST(Metrics, IntegersWithABoundMayBeOffByIt) {
  JudgedCase c({.dtype = DType::kI32, .shape = {4099}, .noise = 0});
  c.bound.exact = false;
  c.bound.terms = {{&c.second, 1}};
  for (double& y : c.golden.value) y = 1 << 25;
  c.second = c.golden.error = c.golden.sigma = Plane(c.values(), false);
  std::vector<double> out(c.golden.value);
  for (int64_t place : {64, 4098}) {
    c.second.Set(place, 2.5);
    out[static_cast<size_t>(place)] += 2;
  }
  c.got.SetDoubles(out);
  EXPECT_TRUE(c.Judge().Holds()) << c.Judge().where;
  EXPECT_FALSE(c.Judge().bit_exact);
  EXPECT_NEAR(c.Judge().bound_margin, 0.8, 1e-9);
  for (int64_t place : {64, 4098, 70, 0}) {
    const double y = c.GotValue(place);
    c.SetGot(place, y + 1);
    EXPECT_EQ(c.Judge().violations, 1) << place;
    c.SetGot(place, y);
  }
  // Where the accumulator may leave the integers, a conversion gives their limits.
  c.SetGot(70, -0x1p31);
  EXPECT_FALSE(c.Judge().Holds());
  Admit(c.bound, c.values(), 70, kAlsoIntegerLimits);
  EXPECT_TRUE(c.Judge().Holds()) << c.Judge().where;
  c.SetGot(70, -0x1p30);
  EXPECT_FALSE(c.Judge().Holds());
}

TEST_P(EveryType, PerfectRoundingIsBitExactAndHolds) {
  JudgedCase c({.dtype = GetParam(), .shape = {31, 101}, .seed = 11});
  // Without any allowance for the accumulator.
  for (BoundTerm& term : c.bound.terms) term.coefficient = 0;
  c.golden.error = Plane(c.values(), false);
  c.got.SetDoubles(c.golden.value);
  const ErrorMetrics m = c.Judge();
  EXPECT_TRUE(m.Holds()) << m.where;
  EXPECT_TRUE(m.bit_exact);
  EXPECT_LE(m.max_ulp_err, 0.5);
  EXPECT_EQ(m.statistic.sum_r2, 0);
}

TEST(Metrics, LowPartsDecideTies) {
  JudgedCase c({.shape = {2}, .low_parts = true, .noise = 0});
  const double tie = 1 + 0x1p-24;  // half way between two f32 numbers
  c.golden.value = {tie, tie};
  c.golden.value_lo = {0x1p-80, -0x1p-80};
  c.got.SetDoubles(std::vector<double>{1 + 0x1p-23, 1});
  EXPECT_TRUE(c.Judge().bit_exact);
  c.got.SetDoubles(std::vector<double>{1, 1});
  EXPECT_FALSE(c.Judge().bit_exact);
}

TEST(Metrics, LargeI64AreComparedExactly) {
  JudgedCase c({.dtype = DType::kI64, .shape = {3}, .low_parts = true});
  const int64_t big = (int64_t{1} << 60) + 1;
  c.golden.value = {0x1p60, 0x1p63, 5};
  c.golden.value_lo = {1, -1, 0};
  const auto out = c.got.As<int64_t>();
  out[0] = big, out[1] = std::numeric_limits<int64_t>::max(), out[2] = 5;
  EXPECT_TRUE(c.Judge().Holds()) << c.Judge().where;
  EXPECT_TRUE(c.Judge().bit_exact);
  out[0] = big - 1;
  EXPECT_EQ(c.Judge().violations, 1);
  EXPECT_EQ(c.Judge().worst_index, 0);
}

TEST(Metrics, WorstElementsAreTheWorstInOrder) {
  const JudgedCase c({.shape = {100003}, .seed = 12, .noise = 5});
  const ErrorMetrics m = c.Judge();
  ASSERT_EQ(m.worst.size(), kWorstCount);
  EXPECT_EQ(m.worst[0].margin, m.bound_margin);
  std::vector<double> margins;
  for (int64_t i = 0; i < c.values(); ++i) {
    const double a = c.bound.terms[0].coefficient * c.golden.magnitude[i] + c.golden.error[i];
    const double y = c.golden.value[static_cast<size_t>(i)];
    const double got = c.got.As<float>()[static_cast<size_t>(i)];
    const double half = std::fabs(got - std::nextafter(static_cast<float>(got), y > got ? HUGE_VALF : -HUGE_VALF)) / 2;
    margins.push_back((std::fabs(got - y) - half) / a);
  }
  std::sort(margins.rbegin(), margins.rend());
  for (size_t k = 0; k < kWorstCount; ++k) {
    EXPECT_NEAR(m.worst[k].margin / margins[k], 1, 1e-12);
  }
}

TEST(Metrics, EffectiveBitsNameTheAccumulator) {
  // Errors of an 11-bit accumulator in an f32 output, on sigma planes of 24 bits.
  JudgedCase c({.shape = {100000}, .seed = 13});
  const double u16 = 0x1p-11;
  std::vector<double> out(c.golden.value);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] += (i % 2 ? 1 : -1) * u16 * c.golden.sigma[static_cast<int64_t>(i)];
  }
  c.got.SetDoubles(out);
  EXPECT_NEAR(c.Judge().statistic.effective_bits.value(), 11, 0.01);
  c.got.SetDoubles(c.golden.value);
  EXPECT_FALSE(c.Judge().statistic.effective_bits.has_value());
}

TEST(Metrics, RangeTellsConstantOutputs) {
  JudgedCase c({.shape = {700}, .seed = 14});
  c.got.SetDoubles(std::vector<double>(700, 0.0));
  EXPECT_TRUE(c.Judge().range.constant);
  EXPECT_EQ(c.Judge().range.zero_share, 1);
  c.SetGot(699, 1);
  EXPECT_FALSE(c.Judge().range.constant);
  EXPECT_EQ(c.Judge().range.max, 1);
}

}  // namespace
}  // namespace assay

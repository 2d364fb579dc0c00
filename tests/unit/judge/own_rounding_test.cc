// SPDX-License-Identifier: Apache-2.0
// A result is right if it is the rounding of some real within A of the golden value: this is tested wherever formats
// change their step, against MPFR's roundings of a fine grid of reals.
#include "harness/judge/own_rounding.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/metrics.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

struct Mode {
  DType dtype;
  OutputRounding rounding;
  bool flushes;
};

std::string NameOf(const Mode& m) {
  const char* roundings[] = {"nearest", "nearest_away", "toward_zero", "any"};
  return std::string(Name(m.dtype)) + "_" + roundings[static_cast<int>(m.rounding)] + (m.flushes ? "_flushes" : "");
}

std::vector<Mode> AllModes() {
  std::vector<Mode> all;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kE5M2, DType::kE4M3, DType::kF32}) {
    for (int rounding = 0; rounding < 4; ++rounding) {
      for (const bool flushes : {false, true}) all.push_back({dtype, static_cast<OutputRounding>(rounding), flushes});
    }
  }
  for (int rounding = 0; rounding < 4; ++rounding) {
    all.push_back({DType::kI8, static_cast<OutputRounding>(rounding), false});
  }
  return all;
}

double RoundToIntegerWith(double t, mpfr_rnd_t direction) {
  mpfr_t x;
  mpfr_init2(x, 53);
  mpfr_set_d(x, t, MPFR_RNDN);
  direction == MPFR_RNDN ? mpfr_roundeven(x, x) : mpfr_rint(x, x, direction);
  const double rounded = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return rounded;
}

// t as MPFR rounds it to the format, subnormals and overflow included.
double RoundWith(DType type, double t, mpfr_rnd_t direction) {
  if (IsInt(type)) return RoundToIntegerWith(t, direction);
  const FloatFormat& format = FormatOf(type);
  mpfr_set_emin(format.min_exponent - format.precision + 2);
  mpfr_set_emax(std::ilogb(format.max_finite) + 1);
  mpfr_t x;
  mpfr_init2(x, format.precision);
  int inexact = mpfr_set_d(x, t, direction);
  inexact = mpfr_check_range(x, inexact, direction);
  mpfr_subnormalize(x, inexact, direction);
  const double rounded = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  return rounded;
}

// MPFR has no rounding that breaks ties away from zero, so this holds both neighbours against t.
double RoundAwayWith(DType type, double t) {
  const double low = RoundWith(type, t, MPFR_RNDZ), nearest = RoundWith(type, t, MPFR_RNDN);
  const double high = RoundWith(type, t, MPFR_RNDA);
  return low != high && nearest == low && std::isfinite(high) && std::fabs(t - low) == std::fabs(high - t) ? high
                                                                                                           : nearest;
}

void AddRoundings(const Mode& mode, double t, std::set<double>& right) {
  if (mode.flushes && std::fabs(t) < FormatOf(mode.dtype).MinNormal()) right.insert(0);
  if (mode.rounding == OutputRounding::kNearest) right.insert(RoundWith(mode.dtype, t, MPFR_RNDN) + 0.0);
  if (mode.rounding == OutputRounding::kNearestAway) right.insert(RoundAwayWith(mode.dtype, t) + 0.0);
  if (mode.rounding == OutputRounding::kTowardZero) right.insert(RoundWith(mode.dtype, t, MPFR_RNDZ) + 0.0);
  if (mode.rounding != OutputRounding::kAny) return;
  right.insert(RoundWith(mode.dtype, t, MPFR_RNDD) + 0.0);
  right.insert(RoundWith(mode.dtype, t, MPFR_RNDU) + 0.0);
}

double GapOf(DType type, double x) {
  return IsInt(type) ? 1 : UlpAt(FormatOf(type), x);
}

double Next(DType type, double x, int steps) {
  if (IsInt(type)) return x + steps;
  const FloatFormat& format = FormatOf(type);
  for (; steps > 0; --steps) x = RoundTo(format, x + 0.75 * UlpAt(format, x));
  for (; steps < 0; ++steps) x = -Next(type, -x, 1);
  return x;
}

// Where gaps change, and places without anything special.
std::vector<double> Places(DType type) {
  if (IsInt(type)) return {-110, -64, -3, -2, -1, 0, 1, 2, 3, 31, 64, 110};
  const FloatFormat& format = FormatOf(type);
  const double eta = format.MinSubnormal(), least = format.MinNormal(), top = std::exp2(std::ilogb(format.max_finite));
  std::vector<double> places = {
      0,   eta,     2 * eta,         least / 2, least, 2 * least, 1, 1.5, 2, 4, 8 - 2 * UlpAt(format, 4),
      top, top / 2, Next(type, 3, 1)};
  for (size_t i = places.size(); i-- > 1;) places.push_back(-places[i]);
  return places;
}

struct Element {
  double y, a, got;
  bool right;
};

// Every number around each place, with every A, as a result of every y around it.
std::vector<Element> Elements(const Mode& mode) {
  const double most = IsInt(mode.dtype) ? 127 : FormatOf(mode.dtype).max_finite;
  std::vector<Element> all;
  for (const double place : Places(mode.dtype)) {
    const double ulp = GapOf(mode.dtype, place), grid = ulp / 16;
    for (int j = -24; j <= 24; ++j) {
      const double y = place + j * grid;
      if (std::fabs(y) >= most - 4 * ulp) continue;
      for (const double a : {0.0, grid / 2, 3.5 * grid, 8.5 * grid, 20.5 * grid}) {
        std::set<double> right;
        AddRoundings(mode, y - a, right);
        AddRoundings(mode, y + a, right);
        for (double t = y - std::floor(a / grid) * grid; t <= y + a; t += grid) AddRoundings(mode, t, right);
        for (int step = -5; step <= 5; ++step) {
          const double got = Next(mode.dtype, place, step);
          if (std::isfinite(got)) all.push_back({y, a, got, right.contains(got)});
        }
      }
    }
  }
  return all;
}

// Elements as one tensor to judge, each with its own A.
struct Judged {
  Judged(const Mode& mode, const std::vector<Element>& elements) : got(mode.dtype, {std::ssize(elements)}) {
    const int64_t n = got.size();
    golden.shape = got.shape();
    golden.magnitude = golden.sigma = golden.error = Plane(n, true);
    std::vector<double> results;
    for (const Element& e : elements) {
      golden.magnitude.Set(std::ssize(results), e.a);
      golden.value.push_back(e.y);
      results.push_back(e.got);
    }
    got.SetDoubles(results);
    contract.out = mode.rounding;
    contract.ftz = mode.flushes ? Flush::kOut : Flush::kNone;
    bound = OutputBound(contract, mode.dtype);
    if (IsInt(mode.dtype)) {  // of numbers that are none yet
      bound.exact = false;
      bound.lambda_out = mode.rounding == OutputRounding::kNearest ? 0.5 : 1;
    }
    bound.terms = {{&golden.magnitude, 1}};
  }
  Judged(const Judged&) = delete;

  Golden golden;
  Tensor got;
  Contract contract;
  BoundModel bound;
};

class RoundedOutput : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, RoundedOutput, testing::ValuesIn(AllModes()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(RoundedOutput, AcceptsExactlyTheRoundingsWithinA) {
  const std::vector<Element> elements = Elements(GetParam());
  const Judged c(GetParam(), elements);
  const ElementJudge judge(c.golden, c.bound, c.contract, GetParam().dtype);
  int64_t right = 0, wrong = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Element& e = elements[i];
    const Judgement judged = judge.Judge(static_cast<int64_t>(i), e.got);
    ASSERT_EQ(judged.accepted, e.right) << "y " << e.y << " A " << e.a << " got " << e.got << " beyond "
                                        << judged.Beyond();
    ++(e.right ? right : wrong);
  }
  EXPECT_GT(right, 1000);
  EXPECT_GT(wrong, 1000);
  const ErrorMetrics m = Measure(c.golden, c.bound, c.contract, c.got);
  EXPECT_EQ(m.violations, wrong);
  EXPECT_EQ(m.nonfinite_mismatch, 0);
}

// The golden value as the output would round it uses nothing of A.
TEST_P(RoundedOutput, PerfectlyRoundedResultsHaveNoMargin) {
  std::vector<Element> perfect;
  for (const Element& e : Elements(GetParam())) {
    std::set<double> right;
    AddRoundings(GetParam(), e.y, right);
    for (const double got : right) perfect.push_back({e.y, e.a, got, true});
  }
  const Judged c(GetParam(), perfect);
  const ErrorMetrics m = Measure(c.golden, c.bound, c.contract, c.got);
  EXPECT_TRUE(m.Holds()) << m.where;
  EXPECT_EQ(m.bound_margin, 0);
  EXPECT_EQ(m.worst_index, -1);
}

TEST(RoundedOutput, MarginIsWhatIsLeftOverA) {
  // 1.004 and 1: bf16 numbers near 1 are 2^-7 apart above it, 2^-8 below.
  const std::vector<Element> elements = {{1 + 0x1.8p-8, 0x1p-8, 1, true}, {1 - 0x1.8p-9, 0x1p-8, 1, true}};
  const Judged c({DType::kBF16, OutputRounding::kNearest, false}, elements);
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kBF16);
  EXPECT_NEAR(judge.Judge(0, 1).Margin(), 0.5, 1e-9);
  EXPECT_NEAR(judge.Judge(1, 1).Margin(), 0.25, 1e-9);
}

// Golden values with low parts: the gaps of f64 itself, and a low part that tells which neighbours there are.
TEST(RoundedOutput, LowPartsOfDoubles) {
  const double one = 1, above = 1 + 0x1p-52, below = 1 - 0x1p-53;
  struct Case {
    OutputRounding rounding;
    double lo, a, got;
    bool right;
  };
  const Case cases[] = {
      {OutputRounding::kNearest, 0x1p-54, 0, one, true},
      {OutputRounding::kNearest, 0x1p-54, 0, above, false},
      {OutputRounding::kNearest, 0x1p-54, 0x1p-54, above, true},
      {OutputRounding::kNearest, 0x1p-54, 0x1.8p-55, above, false},
      {OutputRounding::kNearest, -0x1p-55, 0, one, true},
      {OutputRounding::kNearest, -0x1p-55, 0x1p-54, below, true},
      {OutputRounding::kTowardZero, 0x1p-54, 0, one, true},
      {OutputRounding::kTowardZero, 0x1p-54, 0, above, false},
      {OutputRounding::kTowardZero, -0x1p-60, 0, below, true},
      {OutputRounding::kTowardZero, -0x1p-60, 0, one, false},
      {OutputRounding::kAny, 0x1p-60, 0, above, true},
      {OutputRounding::kAny, 0x1p-60, 0, below, false},
      {OutputRounding::kAny, -0x1p-60, 0, below, true},
      {OutputRounding::kAny, -0x1p-60, 0, above, false},
      {OutputRounding::kAny, 0, 0, above, false},
      {OutputRounding::kAny, 0, 0, one, true},
  };
  for (const Case& c : cases) {
    Judged judged({DType::kF64, c.rounding, false}, {{1, c.a, c.got, c.right}});
    judged.golden.value_lo = {c.lo};
    const ElementJudge judge(judged.golden, judged.bound, judged.contract, DType::kF64);
    EXPECT_EQ(judge.Judge(0, c.got).accepted, c.right)
        << static_cast<int>(c.rounding) << " lo " << c.lo << " A " << c.a << " got " << c.got - 1;
  }
}

}  // namespace
}  // namespace assay

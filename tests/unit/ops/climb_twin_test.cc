// SPDX-License-Identifier: Apache-2.0
// Twins that climb: the declared accumulator is exact in every order, and every narrower one is wrong in every order,
// also where it holds nothing but the end of the sum.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/binding.h"
#include "ops/exact_code.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"
#include "tests/support/simulate/sums.h"

namespace assay::test {
namespace {

constexpr int kClimbing = 1;  // the variant that does

std::vector<double> RunSum(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                           const Arithmetic& unit) {
  if (problem.spec.op == "matmul") return RunMatmul(problem, inputs, schedule, unit);
  if (problem.spec.op == "conv") return RunConv(problem, inputs, schedule, unit, Padding::kSkipped);
  return RunReduce(problem, inputs, schedule, unit);
}

Twin ClimbingTwin(const Problem& problem, const char* declaration) {
  std::optional<Twin> twin = Op(problem.spec.op).MakeTwin(problem, 0, Declared(declaration), kClimbing);
  EXPECT_TRUE(twin.has_value());
  return twin ? *std::move(twin) : Twin{};
}

void ExpectExactInEveryOrder(const Problem& problem, const Twin& twin, const char* declaration) {
  for (const Schedule& schedule : AllSchedules(5)) {
    EXPECT_EQ(RunSum(problem, twin.inputs, schedule, ArithmeticOf(Declared(declaration))), twin.expected)
        << "order " << static_cast<int>(schedule.order);
  }
}

// A significand of so many bits, with f32's range.
bool AnyLost(const Twin& twin, int precision) {
  FloatFormat format = FormatOf(DType::kF32);
  format.precision = precision;
  return std::ranges::any_of(twin.expected, [&](double y) { return RoundTo(format, y) != y; });
}

void ExpectNarrowIsWrongInEveryOrder(const Problem& problem, const Twin& twin, DType narrow) {
  EXPECT_TRUE(AnyLost(twin, FormatOf(narrow).precision)) << "a conversion at the end would pass as " << Name(narrow);
  for (const Schedule& schedule : AllSchedules(5)) {
    EXPECT_NE(RunSum(problem, twin.inputs, schedule, Arithmetic{.format = narrow}), twin.expected)
        << Name(narrow) << ", order " << static_cast<int>(schedule.order);
  }
}

// The integer cases of the suites, with fewer rows, columns and pixels.
constexpr const char* kIntegerCases[] = {"matmul/i8-i8-i32/m=1,n=9,k=2048",
                                         "matmul/i8-i8-i32/m=2,n=3,k=3072",
                                         "matmul/i8-i8-i32/m=2,n=3,k=16384",
                                         "matmul/i8-i8-i32/m=1,n=1,k=131071",
                                         "matmul/i8-i8-i32/m=3,n=2,k=1041",
                                         "matmul/i8-i8-i32/m=3,n=2,k=1042",
                                         "matmul/i8-i8-i32/m=3,n=2,k=1040",
                                         "matmul/i8-i8-i32/m=2,n=3,k=1025",
                                         "conv/i8-i8-i32/n=1,c=2048,o=5,i=3x3,k=1x1",
                                         "conv/i8-i8-i32/n=1,c=256,o=3,i=6x6,k=3x3,pad=1",
                                         "conv/i8-i8-i32/n=1,c=116,o=4,i=7x7,k=3x3,pad=1",
                                         "conv/i8-i8-i32/n=1,c=1041,o=4,i=9x9,k=1x1",
                                         "conv/i8-i8-i32/n=1,c=1027,o=4,i=9x9,k=1x1",
                                         "conv/i8-i8-i32/n=1,c=2400,o=4,i=5x5,k=1x1,groups=2",
                                         "reduce/i8-i32/shape=1x140000,axes=1",
                                         "reduce/i8-i32/shape=1x131100,axes=1"};

TEST(ClimbingTwin, FloatSumsOfIntegersAreWrongInEveryOrder) {
  for (const char* attrs : kIntegerCases) {
    const Problem problem = Bind(fmt::format("{}/fill=uniform/seed=0", attrs));
    SCOPED_TRACE(problem.spec.Id());
    ASSERT_GT(Op(problem.spec.op).TraitsOf(problem, 0).largest_integer_sum, 0x1p24);
    const Twin twin = ClimbingTwin(problem, "acc=i32");
    ASSERT_EQ(std::ssize(twin.expected), NumElements(problem.outputs[0].shape));
    ExpectExactInEveryOrder(problem, twin, "acc=i32");
    ExpectNarrowIsWrongInEveryOrder(problem, twin, DType::kF32);
  }
}

// Where operands are too small for that, f32 holds whatever they make, and the case says so.
TEST(ClimbingTwin, ShortIntegerSumsFitIntoFloat) {
  for (const char* attrs : {"matmul/i8-i8-i32/m=3,n=2,k=1024", "matmul/i8-i8-i32/m=16,n=7,k=768",
                            "conv/i8-i8-i32/n=1,c=256,o=3,i=6x6,k=2x2", "reduce/i8-i32/shape=2x1000,axes=1"}) {
    const Problem problem = Bind(fmt::format("{}/fill=uniform/seed=0", attrs));
    SCOPED_TRACE(problem.spec.Id());
    EXPECT_LE(Op(problem.spec.op).TraitsOf(problem, 0).largest_integer_sum, 0x1p24);
    const Twin twin = ClimbingTwin(problem, "acc=i32");
    ExpectExactInEveryOrder(problem, twin, "acc=i32");
    EXPECT_FALSE(AnyLost(twin, 24));
    EXPECT_TRUE(AnyLost(twin, 11));
  }
  EXPECT_EQ(Op("matmul").TraitsOf(Bind("matmul/f32/m=3,n=2,k=9999/fill=normal/seed=0"), 0).largest_integer_sum, 0);
}

struct Declaration {
  const char* dtypes;
  const char* declaration;
  std::vector<DType> narrower;
};

// Without --full each arithmetic has every second shape, and the next one the others.
TEST(ClimbingTwin, EveryNarrowerAccumulatorIsWrongInEveryOrder) {
  int turn = 0;
  for (const auto& [dtypes, declaration, narrower] :
       {Declaration{"f64", "acc=f64", {DType::kF32, DType::kBF16}},
        Declaration{"f32", "acc=f32", {DType::kF16, DType::kBF16}},
        Declaration{"f32", "in=tf32rz;acc=f32", {DType::kF16, DType::kBF16}},
        Declaration{"f16-f16-f32", "acc=f32", {DType::kF16, DType::kBF16}},
        Declaration{"bf16-bf16-f32", "acc=f32", {DType::kF16, DType::kBF16}},
        Declaration{"bf16-bf16-f32", "acc=tc<24,8>", {DType::kF16, DType::kBF16}}}) {
    ++turn;
    for (const char* shape :
         {"matmul m=2,n=3,k=33", "matmul m=1,n=5,k=1000", "matmul m=2,n=2,k=4096,alpha=-2,bias=1",
          "conv n=1,c=64,o=4,i=6x5,k=3x3,pad=1", "conv n=1,c=9,o=9,i=6x6,k=3x3,groups=9",
          "conv n=1,c=512,o=3,i=3x3,k=1x1,bias=1", "reduce shape=3x1000,axes=1", "reduce shape=3x20,axes=1"}) {
      if (!kIsFull && turn++ % 2 != 0) continue;
      const std::string text = shape, op = text.substr(0, text.find(' '));
      const std::string types = op == "reduce" ? std::string(dtypes).substr(std::string(dtypes).find('-') + 1) : dtypes;
      const Problem problem = Bind(fmt::format("{}/{}/{}/fill=normal/seed=0", op, types, text.substr(op.size() + 1)));
      SCOPED_TRACE(problem.spec.Id() + " " + declaration);
      const Twin twin = ClimbingTwin(problem, declaration);
      ExpectExactInEveryOrder(problem, twin, declaration);
      for (const DType narrow : narrower) ExpectNarrowIsWrongInEveryOrder(problem, twin, narrow);
    }
  }
}

// A matrix unit of 14 bits that declares f32.
TEST(ClimbingTwin, OfProductsOfEightBitsShowsFourteenBitUnits) {
  const Problem problem = Bind("matmul/e4m3-e4m3-f32/m=2,n=3,k=1000/fill=normal/seed=0");
  EXPECT_TRUE(AnyLost(ClimbingTwin(problem, "acc=f32"), 14));
  const Twin declared = ClimbingTwin(problem, "acc=tc<13,32>");
  EXPECT_FALSE(AnyLost(declared, 14));
  EXPECT_TRUE(AnyLost(declared, 11));
}

TEST(SmallestFactor, IsTheFirstOfAllThatDivide) {
  const auto expect = [](int64_t t, int64_t limit, int64_t other_limit) {
    int64_t first = 0;
    for (int64_t f = std::min(limit, t); f >= 1; --f) {
      if (t % f == 0 && t / f <= other_limit) first = f;
    }
    EXPECT_EQ(SmallestFactor(t, limit, other_limit), first) << t << ", " << limit << ", " << other_limit;
  };
  for (int64_t t = 1; t < 400; ++t) {
    for (const int64_t limit : {1, 7, 64, 300}) expect(t, limit, 300);
  }
  constexpr int64_t kPrime = 16381;  // the last before 2^14
  for (const int64_t t : {kPrime * kPrime, kPrime * kPrime - 1, kPrime * kPrime + 2, int64_t{1} << 28}) {
    expect(t, 1 << 14, 1 << 14);
  }
  // Quotients that are near to whole numbers, and dividends beyond a double's integers.
  expect((int64_t{1} << 52) + 1, 1 << 20, int64_t{1} << 40);
  expect((int64_t{1} << 53) - 1, 1 << 20, int64_t{1} << 52);
  expect((int64_t{1} << 55) + 3, 1 << 20, int64_t{1} << 54);
}

TEST(ClimbingCode, SumsAreOddAndWithinTheBudget) {
  for (const int64_t terms : {1, 2, 3, 64, 65, 4095, 20000}) {
    for (const int64_t limit : {int64_t{8}, int64_t{127}, int64_t{2048}, int64_t{1} << 24}) {
      for (const double budget : {0x1p11, 0x1p24, 0x1p31, 0x1p53}) {
        if (terms == 64 && limit > 2048) continue;  // as long a search as with 65, which is odd
        const auto code = ExactCode::PlanClimbing(
            {.terms = terms, .first = limit, .second = limit, .partial = budget, .result = budget});
        if (!code) {
          EXPECT_LT(budget / static_cast<double>(terms), 4) << "there is room";
          continue;
        }
        const auto sum = static_cast<double>(code->Sum(1));
        EXPECT_EQ(code->Sum(1) % 2, 1) << terms;
        int64_t most = 0;
        for (int64_t k = 0; k < terms; ++k) {
          ASSERT_GT(code->Term(k, 1), 0);
          ASSERT_LE(std::max(code->First(k, 1), code->Second(k, 1)), limit);
          most = std::max(most, code->Term(k, 1));
        }
        EXPECT_LT(sum + static_cast<double>(most), budget) << "one of them twice";
      }
    }
  }
}

}  // namespace
}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// Formulas of integers: what kernels may store in narrower registers before it is compared or widened, quotients of
// zero, numbers and constants beyond 2^53.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "harness/judge/judge_output.h"
#include "ops/formula/digest.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using namespace formula;  // NOLINT: formulas read better without
using Integers = std::vector<int64_t>;
using OfTwo = std::function<Expr(Expr, Expr, Axis)>;

Tensor HoldIntegers(const Operand& operand, const Integers& values) {
  Tensor wide(DType::kI64, operand.shape);
  std::ranges::copy(values, wide.As<int64_t>().begin());
  if (operand.dtype == DType::kI64) return wide;
  Tensor tensor(operand.dtype, operand.shape);
  tensor.SetDoubles(wide.ToDoubles());
  return tensor;
}

std::vector<Tensor> HoldEach(const Problem& problem, const std::vector<Integers>& values) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) tensors.push_back(HoldIntegers(problem.inputs[i], values[i]));
  return tensors;
}

constexpr int64_t kFar = (int64_t{1} << 60) + 1;

// A function of a and b along n, in one list of types.
struct Formula {
  Formula(const std::string& types, int64_t n, const OfTwo& of, bool sums = false)
      : op("formula",
           [types, of, sums](Definition& d) {
             d.SetDoc("y = f(a, b)");
             const Axis axis = d.Axis("n", "elements"), one = d.Axis("one", "results");
             const Expr a = d.In("a", axis + one), b = d.In("b", axis + one);
             d.Out("y", of(a, b, axis), sums ? Axes(one) : axis + one);
             d.SetTypes({types});
           }),
        problem(*op.Bind(*ParseId("formula/" + types + "/n=" + std::to_string(n) + ",one=1/fill=normal/seed=0"))) {}

  bool Accepts(const Integers& a, const Integers& b, const Integers& y) const {
    const std::vector<Tensor> inputs = HoldEach(problem, {a, b});
    EXPECT_TRUE(op.CheckInputs(problem, inputs).has_value());
    const Contract declared = Declared("acc=f64");
    bool accepts[2];
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = op.ComputeGolden(problem, 0, inputs, tier);
      const BoundModel bound = op.Bound(problem, 0, golden, declared);
      Tensor got = HoldIntegers(problem.outputs[0], y);
      accepts[tier == Tier::kFast] = JudgeOutput({op, problem, 0, inputs, golden, bound, declared}, got).Holds();
    }
    EXPECT_EQ(accepts[0], accepts[1]);
    return accepts[0];
  }

  FormulaOperator op;
  Problem problem;
};

// 100 + 100 is -56 in i8, and 200 in a wider register. Elements that stay in i8 are exact.
TEST(UndefinedIntegers, NarrowSumsBeforeAChoiceAreOpenWhereTheyWrap) {
  const std::vector<OfTwo> functions = {
      [](Expr a, Expr b, Axis) { return Maximum(a + b, b - b); },
      [](Expr a, Expr b, Axis) { return Select(LessEqual(a + b, b - b), a - a, a - a + 1); },
      [](Expr a, Expr b, Axis) { return Select(a + b, a, b); },
      [](Expr a, Expr b, Axis) { return FloorDivide(a + b, a - a + 3); },
      [](Expr a, Expr b, Axis) { return Abs(a + b); },
  };
  const Integers a = {100, 5, -7}, b = {100, 6, 7};
  const std::vector<Integers> right = {{0, 11, 0}, {1, 1, 0}, {100, 5, 7}, {66, 3, 0}, {56, 11, 0}};
  for (size_t k = 0; k < functions.size(); ++k) {
    const Formula f("i8-i8-i8", 3, functions[k]);
    EXPECT_TRUE(f.Accepts(a, b, right[k])) << k;
    Integers other = right[k];
    other[0] = -19;
    EXPECT_TRUE(f.Accepts(a, b, other)) << k;  // undefined
    for (const size_t i : {1, 2}) {
      other = right[k];
      ++other[i];
      EXPECT_FALSE(f.Accepts(a, b, other)) << k << " " << i;
    }
    const Formula wide("i16-i16-i16", 3, functions[k]);
    other = right[k], other[0] = -19;
    EXPECT_FALSE(wide.Accepts(a, b, other)) << k;
  }
}

TEST(UndefinedIntegers, SumsThatAreOnlyAddedAndMovedWrapAround) {
  const Formula f("i8-i8-i8", 3, [](Expr a, Expr b, Axis) { return Select(Less(a, b), a + b, a * b) - b; });
  EXPECT_TRUE(f.Accepts({99, 5, 64}, {100, 6, 64}, {99, 5, -64}));
  EXPECT_FALSE(f.Accepts({99, 5, 64}, {100, 6, 64}, {99, 5, -63}));
  EXPECT_FALSE(f.Accepts({99, 5, 64}, {100, 6, 64}, {98, 5, -64}));
}

// Products of i8 are stored as i8 or as i64 before they are added in i64.
TEST(UndefinedIntegers, NarrowProductsAreOpenInAWiderSum) {
  const auto dot = [](Expr a, Expr b, Axis n) { return Sum(a * b, n); };
  const Formula f("i8-i8-i64", 3, dot, true);
  for (const int64_t y : {120 - 56, 120 + 200, 7}) EXPECT_TRUE(f.Accepts({2, 10, 5}, {100, 10, 4}, {y}));
  EXPECT_TRUE(f.Accepts({2, 10, 5}, {50, 10, 4}, {220}));
  EXPECT_FALSE(f.Accepts({2, 10, 5}, {50, 10, 4}, {221}));
  const Formula narrow("i8-i8-i8", 3, dot, true);
  EXPECT_TRUE(narrow.Accepts({2, 10, 5}, {100, 10, 4}, {64}));
  EXPECT_FALSE(narrow.Accepts({2, 10, 5}, {100, 10, 4}, {65}));
  const Formula terms(
      "i8-i8-i64", 3, [](Expr a, Expr, Axis n) { return Sum(a, n); }, true);
  EXPECT_TRUE(terms.Accepts({100, 100, 5}, {0, 0, 0}, {205}));
  EXPECT_FALSE(terms.Accepts({100, 100, 5}, {0, 0, 0}, {205 - 256}));
}

TEST(UndefinedIntegers, LargestOfSumsIsOpenWhereOneWraps) {
  const int64_t most = (int64_t{1} << 31) - 1;
  const Formula f(
      "i32-i32-i32", 3, [](Expr a, Expr b, Axis n) { return Max(a + b, n); }, true);
  for (const int64_t y : {int64_t{7}, most}) EXPECT_TRUE(f.Accepts({most, 1, 2}, {1, 1, 5}, {y}));
  EXPECT_TRUE(f.Accepts({most, 1, 2}, {0, 1, 5}, {most}));
  EXPECT_FALSE(f.Accepts({most, 1, 2}, {0, 1, 5}, {7}));
}

TEST(UndefinedIntegers, QuotientsOfZeroAreOpenAndSoIsWhatTheyDecide) {
  const Formula quotient("i32-i32-i32", 4, [](Expr a, Expr b, Axis) { return FloorDivide(a, b); });
  const int64_t least = -(int64_t{1} << 31);
  const Integers x = {5, 0, least, -7}, y = {0, 0, -1, 2};
  EXPECT_TRUE(quotient.Accepts(x, y, {0, 9, least, -4}));
  EXPECT_TRUE(quotient.Accepts(x, y, {-1, 0, 3, -4}));
  EXPECT_FALSE(quotient.Accepts(x, y, {0, 9, least, -3}));
  const Formula decides("i32-i32-i32", 4,
                        [](Expr a, Expr b, Axis) { return Select(Less(FloorDivide(a, b), a), b, a); });
  for (const int64_t any : {0, 5, 77}) EXPECT_TRUE(decides.Accepts(x, y, {any, 1, 2, -7}));
  EXPECT_FALSE(decides.Accepts(x, y, {0, 1, 2, 2}));
  // A kernel that looks at the divisor first is right about the rest.
  const Formula guarded("i32-i32-i32", 4, [](Expr a, Expr b, Axis) { return Select(b, FloorDivide(a, b), b - 1); });
  EXPECT_TRUE(guarded.Accepts(x, y, {-1, -1, 8, -4}));
  EXPECT_FALSE(guarded.Accepts(x, y, {0, -1, 8, -4}));
}

// Modulo 2^64 in any order of work, but in no comparison.
TEST(UndefinedIntegers, ProductsOfWideIntegersWrapAroundWhereNothingLooksAtThem) {
  const Formula f("i64-i64-i64", 2, [](Expr a, Expr b, Axis) { return (a * b - a) * b + a * a; });
  const auto right = [](uint64_t a, uint64_t b) { return static_cast<int64_t>((a * b - a) * b + a * a); };
  const Integers a = {kFar, -kFar}, b = {kFar - 5, 77}, y = {right(a[0], b[0]), right(a[1], b[1])};
  EXPECT_TRUE(f.Accepts(a, b, y));
  for (const int64_t off : {-2, -1, 1, 2}) EXPECT_FALSE(f.Accepts(a, b, {y[0], y[1] + off}));
  const Formula looks("i64-i64-i64", 2, [](Expr x, Expr z, Axis) { return Maximum(x * z, z); });
  EXPECT_FALSE(StaysInIntegers(looks.op.DefinitionOf(looks.problem, 0).graph(), std::array{DType::kI64, DType::kI64},
                               DType::kI64));
}

TEST(UndefinedIntegers, ConstantsBeyondDoubleAreIntegers) {
  const Formula f("i64-i64-i64", 2, [](Expr a, Expr, Axis) { return a + Const(*a.graph, 0x1p60, 1); });
  EXPECT_TRUE(f.Accepts({5, -kFar}, {0, 0}, {kFar + 5, 0}));
  for (const int64_t off : {-100, -1, 1, 100}) EXPECT_FALSE(f.Accepts({5, -kFar}, {0, 0}, {kFar + 5 + off, 0}));
}

TEST(UndefinedIntegers, NumbersBeyondDoubleAreRefusedWhereAnOutputIsReal) {
  const Formula real("i64-i64-f64", 2, [](Expr a, Expr b, Axis) { return Select(Equal(a, b), a - a + 1.0, a - a); });
  const auto given = [&](int64_t x) { return HoldEach(real.problem, {{0, x}, {0, 0}}); };
  EXPECT_TRUE(real.op.CheckInputs(real.problem, given(int64_t{1} << 53)).has_value());
  const Status refused = real.op.CheckInputs(real.problem, given((int64_t{1} << 54) + 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("a[1,0] is 18014398509481985, beyond 2^53, and y"), std::string::npos)
      << refused.error().message;
  // Drawn numbers are within.
  for (const char* fill : {"normal", "extremes", "large"}) {
    const Problem problem =
        *real.op.Bind(*ParseId("formula/i64-i64-f64/n=99,one=1/fill=" + std::string(fill) + "/seed=0"));
    EXPECT_TRUE(real.op.CheckInputs(problem, real.op.MakeInputs(problem)).has_value()) << fill;
  }
}

TEST(UndefinedIntegers, AnyByteOfABoolButZeroIsTrue) {
  Tensor bytes(DType::kBool, {3});
  const uint8_t stored[] = {2, 0, 255};
  std::memcpy(bytes.data(), stored, 3);
  EXPECT_EQ(bytes.ToDoubles(), (std::vector<double>{1, 0, 1}));
  Integers values(3);
  ToI64(DType::kBool, bytes.data(), values);
  EXPECT_EQ(values, (Integers{1, 0, 1}));
}

// Without one of the small terms a sum about 2^62 is another integer, and the same double.
TEST(UndefinedIntegers, OmittedTermsThatRoundToTheResultAreLeftOut) {
  const Problem problem = Bind("reduce/i64/shape=1x4,axes=1/fill=normal/seed=0");
  const std::vector<Tensor> inputs = HoldEach(problem, {{int64_t{1} << 62, 1, 3, 1 << 20}});
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const std::vector<int64_t> elements = {0};
  for (const Mutant& mutant : Op("reduce").OmittedTerms(problem, 0, inputs, golden.value, elements)) {
    EXPECT_TRUE(mutant.term == 0 || mutant.term == 3) << mutant.term;
    EXPECT_NE(mutant.value, golden.value[0]);
  }
}

// Versions without registers stored values of the same graphs, by the digest of the graph alone.
TEST(UndefinedIntegers, ValuesStoredBeforeThereWereRegistersAreNotRead) {
  const auto is_as_before = [](const std::string& types, const OfTwo& of) {
    const Formula formula(types, 3, of);
    return formula.op.FormulaDigest(formula.problem, 0) ==
           DigestOf(formula.op.DefinitionOf(formula.problem, 0).graph());
  };
  const auto product = [](Expr a, Expr b, Axis) { return a * b; };
  EXPECT_FALSE(is_as_before("i64", product));
  EXPECT_FALSE(is_as_before("i8", [](Expr a, Expr b, Axis) { return FloorDivide(a + b, b); }));
  EXPECT_TRUE(is_as_before("i32", product));
  EXPECT_TRUE(is_as_before("f32", product));
}

}  // namespace
}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// Quantisation: what is right around ties, at the ends of a type and for what is not finite, and faults that have to be
// seen: ties away from zero, digits cut off, bits that wrap, conversions that do not saturate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const char* const kTypes[] = {"f32-f32-i8",    "bf16-f32-i8",  "f16-f32-i8",   "f32-f32-e4m3",
                              "bf16-f32-e4m3", "f16-f32-e4m3", "f32-f32-e5m2", "bf16-f32-e5m2",
                              "f16-f32-e5m2",  "f32-f32-u8",   "bf16-f32-u8",  "f16-f32-u8"};
const char* const kTypesWithZero[] = {"f32-f32-i8-i8", "bf16-f32-i8-i8", "f32-f32-u8-u8",
                                      "f16-f32-u8-u8", "f32-f32-i32-i8", "f32-f32-i32-u8"};

double Largest(DType out) {
  return out == DType::kU8 ? 255 : IsInt(out) ? 127 : FormatOf(out).max_finite;
}
double Smallest(DType out) {
  return out == DType::kU8 ? 0 : IsInt(out) ? -128 : -FormatOf(out).max_finite;
}
double GapAt(DType out, double t) {
  return IsInt(out) ? 1 : UlpAt(FormatOf(out), t);
}
double Saturated(DType out, double t) {
  return std::isnan(t) ? t : std::clamp(t, Smallest(out), Largest(out));
}

// How quotients become numbers of the output: the right way and four wrong ones.
double Right(DType out, double t) {
  const double s = Saturated(out, t);
  return IsInt(out) ? std::nearbyint(s) : RoundTo(FormatOf(out), s);
}
double AwayFromZero(DType out, double t) {
  const double gap = GapAt(out, t), n = t / gap;
  return Saturated(out, std::copysign(std::floor(std::fabs(n) + 0.5), n) * gap);
}
double CutOff(DType out, double t) {
  return Saturated(out, std::trunc(t / GapAt(out, t)) * GapAt(out, t));
}
double Wrapped(DType out, double t) {
  const auto byte = static_cast<uint8_t>(std::llrint(IsInt(out) ? t : 0) & 0xFF);
  if (IsInt(out)) return out == DType::kU8 ? byte : static_cast<int8_t>(byte);
  return std::fabs(t) > Largest(out) ? std::fmod(t, Largest(out)) : Right(out, t);
}
double Unsaturated(DType out, double t) {
  return IsInt(out) ? Wrapped(out, t) : RoundTo(FormatOf(out), t);
}

using Conversion = double (*)(DType, double);

// The converted tensor, computed in double from the inputs.
std::vector<double> Converted(const Problem& problem, const std::vector<Tensor>& inputs, Conversion convert) {
  const std::vector<double> x = inputs[0].ToDoubles(), scale = inputs[1].ToDoubles();
  const std::vector<double> zeros = inputs.size() == 3 ? inputs[2].ToDoubles() : std::vector<double>();
  const auto columns = static_cast<size_t>(problem.Int("n"));
  const std::string& per = problem.Text("per");
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t own = per == "tensor" ? 0 : per == "row" ? i / columns : i % columns;
    const double zero = zeros.empty() ? static_cast<double>(problem.Int("zero")) : zeros[own];
    y.push_back(convert(problem.outputs[0].dtype, x[i] / scale[own] + zero));
  }
  return y;
}

struct Seen {
  int64_t by_case = 0, by_twin = 0;
};

Seen Judge(const std::string& id, Conversion convert, const char* contract = "f32acc;math=1") {
  const Problem problem = Bind(id);
  const Operator& op = Op("quantize");
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const DeclaredBound bound = BoundOf(problem, golden, contract);
  const ElementJudge judge = JudgeBy(bound, golden);
  Seen seen;
  const std::vector<double> y = Converted(problem, inputs, convert);
  for (size_t i = 0; i < y.size(); ++i) seen.by_case += judge.Judge(static_cast<int64_t>(i), y[i]).accepted ? 0 : 1;
  const std::vector<Twin> twins = TwinsOf(problem, contract);
  EXPECT_EQ(twins.size(), 1U) << id;
  for (const Twin& twin : twins) {
    const std::vector<double> coded = Converted(problem, twin.inputs, convert);
    for (size_t i = 0; i < coded.size(); ++i) {
      seen.by_twin += Accepts(twin, problem.outputs[0].dtype, static_cast<int64_t>(i), coded[i]) ? 0 : 1;
    }
  }
  return seen;
}

void ExpectFourFaultsSeen(std::span<const char* const> all_types) {
  for (const std::string types : all_types) {
    for (const std::string per : {"tensor", "row", "column"}) {
      const std::string id =
          "quantize/" + types + "/rows=5,n=60" + (per == "tensor" ? "" : ",per=" + per) + "/fill=normal/seed=0";
      const Seen right = Judge(id, Right);
      EXPECT_EQ(right.by_case + right.by_twin, 0) << id;
      EXPECT_GT(Judge(id, AwayFromZero).by_twin, 20) << id;
      EXPECT_GT(Judge(id, CutOff).by_twin, 20) << id;
      EXPECT_GT(Judge(id, CutOff).by_case, 20) << id;
      EXPECT_GT(Judge(id, Wrapped).by_twin, 20) << id;
      EXPECT_GT(Judge(id, Unsaturated).by_twin, 5) << id;
    }
  }
}

TEST(Quantize, FourFaultsAreSeenInEveryType) {
  ExpectFourFaultsSeen(kTypes);
}

// Kernels that round as C's round() does say so, and are then held to it.
TEST(Quantize, TiesAwayFromZeroAreRightWhereTheContractHasThem) {
  std::vector<std::string> all(std::begin(kTypes), std::end(kTypes));
  all.insert(all.end(), std::begin(kTypesWithZero), std::end(kTypesWithZero));
  for (const std::string& types : all) {
    const std::string id = "quantize/" + types + "/rows=5,n=60,per=row/fill=normal/seed=0";
    const Seen right = Judge(id, AwayFromZero, "f32acc;math=1;out=rna");
    EXPECT_EQ(right.by_case + right.by_twin, 0) << id;
    EXPECT_GT(Judge(id, Right, "f32acc;math=1;out=rna").by_twin, 20) << id;
  }
}

// The non-saturating conversion of OFP8, ONNX's saturate=0.
TEST(Quantize, BeyondTheEndsIsNanOrInfiniteWhereNothingSaturates) {
  for (const char* types : {"f32-f32-e4m3", "f32-f32-e5m2", "bf16-f32-e4m3"}) {
    const Problem problem = Bind(std::string("quantize/") + types + "/rows=4,n=32,saturate=0/fill=outlier/seed=0");
    std::vector<Tensor> inputs = Op("quantize").MakeInputs(problem);
    std::vector<double> x = inputs[0].ToDoubles();
    inputs[1].SetDoubles(std::vector<double>{1});
    for (size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 == 0 ? 1e6 : -1e6;
    inputs[0].SetDoubles(x);
    const Golden golden = Op("quantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=1");
    const ElementJudge judge = JudgeBy(bound, golden);
    const DType out = problem.outputs[0].dtype;
    const std::vector<double> y = Converted(problem, inputs, Unsaturated), ends = Converted(problem, inputs, Right);
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_TRUE(judge.Judge(static_cast<int64_t>(i), y[i]).accepted) << types << " " << i;
      EXPECT_EQ(judge.Judge(static_cast<int64_t>(i), ends[i]).accepted, i % 3 != 0) << types << " " << i;
    }
    EXPECT_TRUE(FormatOf(out).has_infinity ? std::isinf(y[0]) : std::isnan(y[0]));
  }
  EXPECT_FALSE(TryBind("quantize/f32-f32-i8/rows=4,n=32,saturate=0/fill=normal/seed=0"));
}

TEST(Quantize, FourFaultsAreSeenAroundZerosThatAreOperands) {
  ExpectFourFaultsSeen(kTypesWithZero);
}

// Beside one zero for all, a code that belongs to the next row or column is seen.
TEST(Quantize, CodesOfZeroThatAreMistakenAreSeen) {
  for (const std::string types : kTypesWithZero) {
    for (const std::string per : {"row", "column"}) {
      const Problem problem = Bind("quantize/" + types + "/rows=5,n=60,per=" + per + "/fill=normal/seed=0");
      for (const Twin& twin : TwinsOf(problem, "f32acc;math=1")) {
        std::vector<Tensor> shifted;
        for (const Tensor& input : twin.inputs) shifted.push_back(input.Clone());
        std::vector<double> zeros = shifted[2].ToDoubles();
        std::ranges::rotate(zeros, zeros.begin() + 1);
        shifted[2].SetDoubles(zeros);
        const std::vector<double> wrong = Converted(problem, shifted, Right);
        int64_t seen = 0;
        for (size_t i = 0; i < wrong.size(); ++i) {
          seen += Accepts(twin, problem.outputs[0].dtype, static_cast<int64_t>(i), wrong[i]) ? 0 : 1;
        }
        EXPECT_GT(seen, 150) << types << " " << per;
      }
    }
  }
}

// ONNX's order: the quotient is rounded, then the code is added.
std::vector<double> RoundedBeforeTheCode(const Problem& problem, const std::vector<Tensor>& inputs) {
  const std::vector<double> x = inputs[0].ToDoubles(), scale = inputs[1].ToDoubles(), zeros = inputs[2].ToDoubles();
  const auto columns = static_cast<size_t>(problem.Int("n"));
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {  // per row
    y.push_back(Saturated(problem.outputs[0].dtype, std::nearbyint(x[i] / scale[i / columns]) + zeros[i / columns]));
  }
  return y;
}

TEST(Quantize, CodesThatAreOperandsMayBeAddedAfterTheRounding) {
  for (const std::string types : kTypesWithZero) {
    const Problem problem = Bind("quantize/" + types + "/rows=5,n=60,per=row/fill=normal/seed=0");
    std::vector<Tensor> inputs = Op("quantize").MakeInputs(problem);
    inputs[1].SetDoubles(std::vector<double>{0.5, 2, 0.25, 4, 1});  // every other quotient of the next line is a tie
    std::vector<double> halves;
    for (int i = 0; i < 300; ++i)
      halves.push_back(inputs[1].ToDoubles()[static_cast<size_t>(i / 60)] * (i % 60 - 30) / 2);
    inputs[0].SetDoubles(halves);
    inputs[2].SetDoubles(std::vector<double>{1, 5, 77, 0, 127});
    const Golden golden = Op("quantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=1");
    const std::vector<double> of_case = RoundedBeforeTheCode(problem, inputs),
                              right = Converted(problem, inputs, Right);
    EXPECT_NE(of_case, right) << types;
    for (size_t i = 0; i < of_case.size(); ++i) {
      EXPECT_TRUE(Accepts(bound, golden, static_cast<int64_t>(i), of_case[i])) << types << " element " << i;
      EXPECT_TRUE(Accepts(bound, golden, static_cast<int64_t>(i), right[i])) << types << " element " << i;
    }
    for (const Twin& twin : TwinsOf(problem, "f32acc;math=1")) {
      const std::vector<double> of_twin = RoundedBeforeTheCode(problem, twin.inputs);
      for (size_t i = 0; i < of_twin.size(); ++i) {
        EXPECT_TRUE(Accepts(twin, problem.outputs[0].dtype, static_cast<int64_t>(i), of_twin[i])) << types << " " << i;
      }
    }
  }
}

// An operand of equal codes is the attribute.
TEST(Quantize, ZeroIsTheSameAsOperandAndAsAttribute) {
  const Problem by_attribute = Bind("quantize/f32-f32-u8/rows=5,n=60,per=row,zero=131/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("quantize").MakeInputs(by_attribute);
  const Golden expected = Op("quantize").ComputeGolden(by_attribute, 0, inputs, Tier::kFast);
  for (const std::string types : {"f32-f32-u8-u8", "f32-f32-i32-u8"}) {
    const Problem by_operand = Bind("quantize/" + types + "/rows=5,n=60,per=row/fill=normal/seed=0");
    std::vector<Tensor> with_zero = Op("quantize").MakeInputs(by_operand);
    for (const double zero : with_zero[2].ToDoubles()) EXPECT_TRUE(zero >= 0 && zero <= 255) << types << " " << zero;
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(with_zero[i].ToDoubles(), inputs[i].ToDoubles());
    with_zero[2].SetDoubles(std::vector<double>(5, 131));
    EXPECT_EQ(Op("quantize").ComputeGolden(by_operand, 0, with_zero, Tier::kFast).value, expected.value) << types;
  }
}

TEST(Quantize, ZeroPointsMoveTiesAndEnds) {
  for (const std::string zero : {"-128", "-3", "5", "127"}) {
    const std::string id = "quantize/f32-f32-i8/rows=5,n=60,per=row,zero=" + zero + "/fill=normal/seed=0";
    const Seen right = Judge(id, Right);
    EXPECT_EQ(right.by_case + right.by_twin, 0) << id;
    EXPECT_GT(Judge(id, AwayFromZero).by_twin, 20) << id;
    EXPECT_GT(Judge(id, Wrapped).by_twin, 20) << id;
  }
}

// One quotient x / scale, judged by itself.
struct One {
  One(const std::string& types, double x, double scale)
      : problem(Bind("quantize/" + types + "/rows=1,n=1/fill=normal/seed=0")) {
    std::vector<Tensor> inputs = Op("quantize").MakeInputs(problem);
    inputs[0].SetDoubles(std::vector<double>{x});
    inputs[1].SetDoubles(std::vector<double>{scale});
    golden = Op("quantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  }
  bool Takes(double got, const char* contract = "f32acc;math=1") const {
    return Accepts(BoundOf(problem, golden, contract), golden, 0, got);
  }
  Problem problem;
  Golden golden;
};

TEST(Quantize, BothNeighboursAreRightNearATieAlone) {
  const double u = 0x1p-24;
  for (const double k : {0.0, 1.0, 2.0, 17.0, 100.0, -1.0, -18.0, -127.0}) {
    const double tie = k + 0.5;
    EXPECT_TRUE(One("f32-f32-i8", 3 * tie, 3).Takes(k) && One("f32-f32-i8", 3 * tie, 3).Takes(k + 1)) << k;
    // By a power of two every faithful division is exact, so that the tie is one.
    for (const double scale : {0.125, 1.0, 4.0}) {
      const One exact("f32-f32-i8", tie * scale, scale);
      EXPECT_TRUE(exact.Takes(std::nearbyint(tie))) << k;
      EXPECT_FALSE(exact.Takes(2 * tie - std::nearbyint(tie))) << k;
      EXPECT_TRUE(exact.Takes(2 * tie - std::nearbyint(tie), "f32acc;math=4")) << k;
    }
    // A quotient of one legal division less or more could have been the tie, one of eight could not.
    const One at_once("f32-f32-i8", 3 * tie * (1 + 2 * u), 3), far("f32-f32-i8", 3 * tie * (1 + 32 * u), 3);
    EXPECT_TRUE(at_once.Takes(k) && at_once.Takes(k + 1)) << k;
    EXPECT_TRUE(far.Takes(k < 0 ? k : k + 1)) << k;
    EXPECT_FALSE(far.Takes(k < 0 ? k + 1 : k)) << k;
    EXPECT_FALSE(far.Takes(k - 1) || far.Takes(k + 2)) << k;
  }
}

// Who states no contract is held to divisions as every processor has them, so that ties are seen on the user's data.
TEST(Quantize, DefaultContractHasFaithfulDivisions) {
  EXPECT_EQ(Op("quantize").traits().default_fields, "math=1");
  EXPECT_EQ(Op("layer_norm").traits().default_fields, "");
}

// Every quotient of a grid through the whole range and beyond, against all numbers of the output.
TEST(Quantize, AcceptsWhatSomeQuotientWithinTheBoundBecomes) {
  for (const std::string types : {"f32-f32-i8", "f32-f32-e4m3"}) {
    const DType out = types == "f32-f32-i8" ? DType::kI8 : DType::kE4M3;
    const double end = 1.2 * Largest(out);
    for (int j = -200; j <= 200; ++j) {
      const double x = RoundTo(FormatOf(DType::kF32), end * j / 200);
      const One one(types, x, 1);
      const double a = 8 * 0x1p-24 * std::fabs(x);  // more than the bound
      for (const double t : {x - 2 * GapAt(out, x), x - GapAt(out, x), x, x + GapAt(out, x), x + 2 * GapAt(out, x)}) {
        const double got = Right(out, t);
        const bool surely = got == Right(out, x), possibly = got >= Right(out, x - a) && got <= Right(out, x + a);
        EXPECT_TRUE(one.Takes(got) || !surely) << types << " " << x << " got " << got;
        EXPECT_TRUE(!one.Takes(got) || possibly) << types << " " << x << " got " << got;
      }
    }
  }
}

TEST(Quantize, WhatIsNotFiniteSaturatesAndNanStays) {
  for (const std::string types : kTypes) {
    const DType out = Bind("quantize/" + types + "/rows=1,n=1/fill=normal/seed=0").outputs[0].dtype;
    for (const double x : {kInf, -kInf}) {
      const One one(types, x, 0.5);
      EXPECT_TRUE(one.Takes(Saturated(out, x))) << types;
      EXPECT_FALSE(one.Takes(Saturated(out, -x)) || one.Takes(1)) << types;
      EXPECT_TRUE(IsInt(out) || !(one.Takes(kNan) || one.Takes(x))) << types;
    }
    const One nan(types, kNan, 0.5);
    EXPECT_EQ(nan.Takes(0), IsInt(out)) << types;
    EXPECT_EQ(nan.Takes(Largest(out)), IsInt(out)) << types;
    EXPECT_TRUE(IsInt(out) || nan.Takes(kNan)) << types;
  }
  // A quotient beyond the range of f32 is one beyond the output's.
  const One overflows("f32-f32-i8", 0x1p120, 0x1p-20), below("f32-f32-e4m3", -0x1p120, 0x1p-20);
  EXPECT_TRUE(overflows.Takes(127) && below.Takes(-448));
  EXPECT_FALSE(overflows.Takes(126) || overflows.Takes(-128) || below.Takes(448) || below.Takes(kNan));
}

TEST(Quantize, ScalesFollowFromTheChoiceAndRefusalsAreNamed) {
  EXPECT_EQ(Bind("quantize/f32-f32-i8/rows=3,n=4/fill=normal/seed=0").inputs[1].shape, Shape{});
  EXPECT_EQ(Bind("quantize/f32-f32-i8/rows=3,n=4,per=row/fill=normal/seed=0").inputs[1].shape, Shape{3});
  const std::vector<Operand> operands = {{"x", DType::kF32, {3, 4}}, {"scale", DType::kF32, {4}}};
  EXPECT_TRUE(Op("quantize").InferAttrs(operands, {{"per", "column"}}).has_value());
  EXPECT_FALSE(Op("quantize").InferAttrs(operands, {}).has_value());
  EXPECT_FALSE(TryBind("quantize/f32-f32-e4m3/rows=3,n=4,zero=1/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("quantize/f32-f32-i8/rows=3,n=4,zero=128/fill=normal/seed=0").has_value());
  EXPECT_TRUE(TryBind("quantize/f32-f32-u8/rows=3,n=4,zero=255/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("quantize/f32-f32-u8/rows=3,n=4,zero=256/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("quantize/f32-f32-u8/rows=3,n=4,zero=-1/fill=normal/seed=0").has_value());
  const Result<Problem> both = TryBind("quantize/f32-f32-u8-u8/rows=3,n=4,zero=5/fill=normal/seed=0");
  ASSERT_FALSE(both.has_value());
  EXPECT_NE(both.error().message.find("the operand zero_point has the codes of zero"), std::string::npos);
  EXPECT_EQ(Bind("quantize/f32-f32-i32-u8/rows=3,n=4,per=column/fill=normal/seed=0").inputs[2].shape, Shape{4});
}

}  // namespace
}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// Dequantisation of every code there is, against numbers that are decoded here from the definitions of their types: a
// product of a code's number and a scale has at most 32 bits, and is exact in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// OCP OFP8, table 1: fields of sign, exponent and mantissa; e4m3 has NaN alone in its last code, e5m2 is IEEE's.
double Decoded(int code, int mantissa_bits, int bias) {
  const double sign = code >= 128 ? -1 : 1;
  const int exponent = (code & 127) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
  if (mantissa_bits == 3 && (code & 127) == 127) return std::nan("");
  if (mantissa_bits == 2 && exponent == 31) return sign * (mantissa == 0 ? HUGE_VAL : std::nan(""));
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias) : sign * std::ldexp(1 + fraction, exponent - bias);
}

double NumberOf(const std::string& type, int code) {
  if (type == "e4m3") return Decoded(code, 3, 7);
  if (type == "e5m2") return Decoded(code, 2, 15);
  return code < 128 || type == "u8" ? code : code - 256;
}

// All 256 codes in each of three rows, with a scale each.
struct AllCodes {
  AllCodes(const std::string& type, const std::string& out)
      : problem(Bind("dequantize/" + type + "-f32-" + out + "/rows=3,n=256,per=row/fill=normal/seed=0")) {
    inputs = Op("dequantize").MakeInputs(problem);
    for (int64_t i = 0; i < inputs[0].size(); ++i) inputs[0].data()[i] = static_cast<std::byte>(i % 256);
    inputs[1].SetDoubles(scales);
    golden = Op("dequantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  }
  const std::vector<double> scales = {0x1.234568p-3, -0x1.fffffep5, 0x1.8p-20};
  Problem problem;
  std::vector<Tensor> inputs;
  Golden golden;
};

TEST(Dequantize, EveryCodeIsWhatItsTypeSaysTimesTheScale) {
  for (const std::string type : {"i8", "u8", "e4m3", "e5m2"}) {
    const AllCodes all(type, "f32");
    ASSERT_EQ(all.problem.inputs.size(), 2U);
    const DeclaredBound bound = BoundOf(all.problem, all.golden, "f32acc;math=0");
    for (int64_t i = 0; i < 768; ++i) {
      const double exact = NumberOf(type, static_cast<int>(i % 256)) * all.scales[static_cast<size_t>(i / 256)];
      const double y = all.golden.value[static_cast<size_t>(i)];
      EXPECT_TRUE(y == exact || (std::isnan(y) && std::isnan(exact))) << type << " element " << i << ": " << y;
      const auto rounded = static_cast<float>(exact);
      EXPECT_TRUE(Accepts(bound, all.golden, i, rounded)) << type << " element " << i;
      // The code beside it is another number; -0 is equal to 0.
      const double beside = NumberOf(type, static_cast<int>((i + 1) % 256)) * all.scales[static_cast<size_t>(i / 256)];
      const bool is_same = beside == exact || (std::isnan(beside) && std::isnan(exact));
      EXPECT_TRUE(is_same || !Accepts(bound, all.golden, i, static_cast<float>(beside))) << type << " element " << i;
      if (!std::isfinite(exact) || exact == 0) continue;
      float off = rounded;
      for (int ulp = 0; ulp < 4; ++ulp) off = std::nextafter(off, std::numeric_limits<float>::infinity());
      EXPECT_FALSE(Accepts(bound, all.golden, i, off)) << type << " element " << i;
    }
  }
}

// Differences of codes have at most 9 bits: with the scale's they are exact in double.
TEST(Dequantize, ZerosOfTheCodesTypeOrOfI32AreSubtracted) {
  for (const std::string types : {"i8-f32-i8", "u8-f32-u8", "i8-f32-i32", "u8-f32-i32"}) {
    const Problem problem = Bind("dequantize/" + types + "-f32/rows=3,n=256,per=row/fill=normal/seed=0");
    const std::string type = types.substr(0, 2);
    std::vector<Tensor> inputs = Op("dequantize").MakeInputs(problem);
    for (int64_t i = 0; i < inputs[0].size(); ++i) inputs[0].data()[i] = static_cast<std::byte>(i % 256);
    const std::vector<double> scales = inputs[1].ToDoubles(),
                              zeros = {NumberOf(type, 0), NumberOf(type, 128), NumberOf(type, 255)};
    inputs[2].SetDoubles(zeros);
    const Golden golden = Op("dequantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=0");
    for (int64_t i = 0; i < 768; ++i) {
      const auto row = static_cast<size_t>(i / 256);
      const double exact = (NumberOf(type, static_cast<int>(i % 256)) - zeros[row]) * scales[row];
      EXPECT_EQ(golden.value[static_cast<size_t>(i)], exact) << types << " element " << i;
      EXPECT_TRUE(Accepts(bound, golden, i, static_cast<float>(exact))) << types << " element " << i;
      EXPECT_FALSE(Accepts(bound, golden, i, static_cast<float>(exact + scales[row]))) << types << " element " << i;
    }
  }
}

// q scale - zero scale cancels next to the code of zero; the difference of two codes does not round.
TEST(Dequantize, TheDifferenceOfCodesIsTakenBeforeTheProduct) {
  const Problem problem = Bind("dequantize/u8-f32-u8-f32/rows=1,n=256/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("dequantize").MakeInputs(problem);
  for (int64_t i = 0; i < inputs[0].size(); ++i) inputs[0].data()[i] = static_cast<std::byte>(i);
  const float scale = 0.1F, zero = 201;
  inputs[1].SetDoubles(std::vector<double>{scale});
  inputs[2].SetDoubles(std::vector<double>{zero});
  const Golden golden = Op("dequantize").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=0");
  int64_t wrong = 0;
  for (int64_t i = 0; i < 256; ++i) {
    const auto q = static_cast<float>(i);
    EXPECT_TRUE(Accepts(bound, golden, i, (q - zero) * scale)) << i;
    const float of_q = q * scale, of_zero = zero * scale;
    wrong += Accepts(bound, golden, i, of_q - of_zero) ? 0 : 1;
  }
  EXPECT_GT(wrong, 25);
}

TEST(Dequantize, NarrowResultsAreRoundedOnce) {
  for (const std::string type : {"e4m3", "e5m2"}) {
    for (const std::string out : {"bf16", "f16"}) {
      const AllCodes all(type, out);
      const DType to = all.problem.outputs[0].dtype;
      const DeclaredBound bound = BoundOf(all.problem, all.golden, "f32acc;math=0");
      for (int64_t i = 0; i < 768; ++i) {
        const double exact = NumberOf(type, static_cast<int>(i % 256)) * all.scales[static_cast<size_t>(i / 256)];
        const double rounded = RoundTo(FormatOf(to), exact);
        EXPECT_TRUE(Accepts(bound, all.golden, i, rounded)) << type << " " << out << " element " << i;
        if (!std::isfinite(rounded) || rounded == 0) continue;
        const double gap = UlpAt(FormatOf(to), rounded);
        EXPECT_FALSE(Accepts(bound, all.golden, i, rounded + 2 * gap)) << type << " " << out << " element " << i;
      }
    }
  }
}

TEST(Dequantize, ZerosMayBeAbsentAndAreRefusedOfFloatingPoint) {
  const Problem with = Bind("dequantize/i8-f32-i8-f32/rows=3,n=4,per=column/fill=normal/seed=0");
  ASSERT_EQ(with.inputs.size(), 3U);
  EXPECT_EQ(with.inputs[2].shape, Shape{4});
  const Problem without = Bind("dequantize/e5m2-f32-bf16/rows=3,n=4,per=column/fill=normal/seed=0");
  ASSERT_EQ(without.inputs.size(), 2U);
  EXPECT_EQ(without.outputs[0].dtype, DType::kBF16);
  EXPECT_EQ(without.spec.Id(), "dequantize/e5m2-f32-bf16/rows=3,n=4,per=column/fill=normal/seed=0");
  EXPECT_FALSE(TryBind("dequantize/e4m3-f32-e4m3-f32/rows=3,n=4/fill=normal/seed=0").has_value());
  const Result<Problem> short_list = TryBind("dequantize/e4m3-f32/rows=3,n=4/fill=normal/seed=0");
  ASSERT_FALSE(short_list.has_value());
  EXPECT_NE(short_list.error().message.find("or one less without zero"), std::string::npos);
  const std::vector<Operand> operands = {{"q", DType::kE4M3, {3, 4}}, {"scale", DType::kF32, {3}}};
  const Result<AttrList> attrs = Op("dequantize").InferAttrs(operands, {{"per", "row"}});
  ASSERT_TRUE(attrs.has_value());
  EXPECT_EQ(*attrs, (AttrList{{"per", "row"}, {"rows", "3"}, {"n", "4"}}));
}

}  // namespace
}  // namespace assay::test

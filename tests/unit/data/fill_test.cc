// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/fill/fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

Tensor Filled(std::string_view fill, DType dtype, Shape shape, uint64_t seed = 0, int axis = -1, int role = 0) {
  Tensor tensor(dtype, std::move(shape));
  FillTensor(ParseFill(fill).value(), seed, static_cast<uint64_t>(role), axis, role, tensor);
  return tensor;
}

std::vector<double> Values(std::string_view fill, DType dtype, Shape shape = {64, 512}, uint64_t seed = 0) {
  return Filled(fill, dtype, std::move(shape), seed).ToDoubles();
}

struct Moments {
  double mean = 0, sd = 0, low = 0, high = 0;
};
Moments Of(const std::vector<double>& values) {
  Moments m{0, 0, values[0], values[0]};
  for (double x : values) {
    m.mean += x / static_cast<double>(values.size());
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  for (double x : values) m.sd += (x - m.mean) * (x - m.mean) / static_cast<double>(values.size());
  m.sd = std::sqrt(m.sd);
  return m;
}

TEST(Fill, UniformAndNormalMoments) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kC64}) {
    const Moments uniform = Of(Values("uniform", dtype));
    EXPECT_NEAR(uniform.mean, 0, 0.015) << Name(dtype);
    EXPECT_NEAR(uniform.sd, 1 / std::sqrt(3.0), 0.01) << Name(dtype);
    EXPECT_LE(std::max(uniform.high, -uniform.low), 1.0);
    const Moments normal = Of(Values("normal", dtype));
    EXPECT_NEAR(normal.mean, 0, 0.025) << Name(dtype);
    EXPECT_NEAR(normal.sd, 1, 0.02) << Name(dtype);
  }
}

TEST(Fill, IntegersUseTheirRangeButTheLowestValue) {
  const Moments i8 = Of(Values("uniform", DType::kI8));
  EXPECT_EQ(i8.low, -127);
  EXPECT_EQ(i8.high, 127);
  EXPECT_NEAR(i8.sd, 255 / std::sqrt(12.0), 1);
  EXPECT_NEAR(Of(Values("normal", DType::kI8)).sd, 127 / 4.0, 0.7);
  EXPECT_NEAR(Of(Values("uniform", DType::kI32)).high, 0x1p31, 0x1p31 * 1e-3);
  EXPECT_NEAR(Of(Values("uniform", DType::kI64)).low, -0x1p53, 0x1p53 * 1e-3);
  for (const std::string& name : KnownFills()) {
    if (name == "special" || name == "edges" || name == "extremes") continue;
    EXPECT_GE(Of(Values(name == "cancel-K" ? "cancel-100" : name, DType::kI8)).low, -127) << name;
  }
}

// Flipping the first bit of a signed byte adds 128 to its value.
TEST(Fill, UnsignedBytesAreSignedOnesFromZeroUp) {
  for (const std::string& name : KnownFills()) {
    const std::string fill = name == "cancel-K" ? "cancel-100" : name;
    const Tensor i8 = Filled(fill, DType::kI8, {64, 512}), u8 = Filled(fill, DType::kU8, {64, 512});
    for (int64_t i = 0; i < u8.size(); ++i) ASSERT_EQ(u8.data()[i], i8.data()[i] ^ std::byte{0x80}) << fill << " " << i;
  }
  for (const std::string name : {"special", "edges", "extremes"}) {
    const Moments ends = Of(Values(name, DType::kU8, {256, 64}));
    EXPECT_EQ(ends.low, 0) << name;
    EXPECT_EQ(ends.high, 255) << name;
  }
}

TEST(Fill, LognormalHasNormalLogarithm) {
  std::vector<double> logs;
  double signs = 0;
  for (double x : Values("lognormal", DType::kF64)) {
    logs.push_back(std::log(std::fabs(x)));
    signs += x < 0 ? -1 : 1;
  }
  EXPECT_NEAR(Of(logs).mean, 0, 0.05);
  EXPECT_NEAR(Of(logs).sd, 2, 0.04);
  EXPECT_NEAR(signs / static_cast<double>(logs.size()), 0, 0.025);
}

TEST(Fill, OnlySpecialEdgesAndMaskedAreNotFinite) {
  for (int d = 0; d < kDTypeCount; ++d) {
    for (const std::string& name : KnownFills()) {
      bool finite = true;
      for (double x : Values(name == "cancel-K" ? "cancel-1e3" : name, static_cast<DType>(d))) {
        finite = finite && std::isfinite(x);
      }
      const auto dtype = static_cast<DType>(d);
      const bool has_infinity = IsInt(dtype) || FormatOf(dtype).has_infinity;
      const bool expected = !(name == "special" || name == "edges" || (name == "masked" && has_infinity));
      EXPECT_EQ(finite, expected || IsInt(dtype)) << name << " " << d;
    }
  }
}

// A line along the last axis is drawn, and all others are as it is; of a single axis one element.
TEST(Fill, RepeatedLinesAreAlike) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI8, DType::kC64}) {
    const std::vector<double> x = Values("repeated", dtype, {3, 5, 700});
    const size_t line = x.size() / 15;
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], x[i % line]) << Name(dtype) << " " << i;
    EXPECT_GT(std::set(x.begin(), x.end()).size(), dtype == DType::kI8 ? 50u : 100u) << Name(dtype);
    const std::vector<double> flat = Values("repeated", dtype, {5000});
    EXPECT_EQ(std::set(flat.begin(), flat.end()).size(), IsComplex(dtype) ? 2u : 1u) << Name(dtype);
  }
}

// The operand that carries the pattern has a mean of a hundred deviations, others have none.
TEST(Fill, OffsetsAreFarFromZero) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI32}) {
    const Moments far = Of(Values("offset", dtype));
    EXPECT_NEAR(far.mean, 100, 0.1) << Name(dtype);
    EXPECT_NEAR(far.sd, 1, 0.1) << Name(dtype);
  }
  Tensor other(DType::kF32, {64, 64});
  FillTensor(ParseFill("offset").value(), 3, 1, -1, 1, other);
  EXPECT_NEAR(Of(other.ToDoubles()).mean, 0, 0.1);
  EXPECT_NEAR(Of(other.ToDoubles()).sd, 1, 0.05);
}

TEST(Fill, OutlierScalesSixChannels) {
  std::map<uint64_t, std::set<int64_t>> chosen;
  for (uint64_t seed : {0, 1}) {
    const auto values = Values("outlier", DType::kF32, {512, 96}, seed);
    for (int64_t channel = 0; channel < 96; ++channel) {
      std::vector<double> column;
      for (int64_t row = 0; row < 512; ++row) column.push_back(values[static_cast<size_t>(row * 96 + channel)]);
      const double sd = Of(column).sd;
      if (sd < 2) continue;
      chosen[seed].insert(channel);
      EXPECT_GT(sd, 40 * 0.85);
      EXPECT_LT(sd, 60 * 1.15);
    }
    EXPECT_EQ(chosen[seed].size(), 6u);
  }
  EXPECT_NE(chosen[0], chosen[1]);
}

TEST(Fill, RampClimbsAndFalls) {
  for (DType dtype : {DType::kF32, DType::kE5M2, DType::kI8}) {
    const int64_t length = 512;
    for (int axis : {0, 1}) {
      const Tensor tensor = Filled("ramp", dtype, {length, length}, 3, axis);
      const auto values = tensor.ToDoubles();
      double peak = 0, sum = 0;
      for (int64_t k = 0; k < length; ++k) {
        const double x = values[static_cast<size_t>(axis == 0 ? k * length + 5 : 5 * length + k)];
        EXPECT_EQ(x > 0, k < length / 2);
        EXPECT_EQ(x, std::nearbyint(x));
        sum += x;
        peak = std::max(peak, std::fabs(sum));
      }
      EXPECT_GT(peak, dtype == DType::kF32 ? 2048 : 900);
      EXPECT_LT(std::fabs(sum), peak / 4);
      EXPECT_LT(peak, 0x1p24);
    }
  }
  for (double x : Filled("ramp", DType::kF32, {64, 64}, 0, 0, 1).ToDoubles()) EXPECT_TRUE(x == 1 || x == 2);
}

TEST(Fill, CodedIsDistinctUpToThePeriod) {
  for (auto [dtype, period] : {std::pair{DType::kF32, 30000},
                               {DType::kF16, 2039},
                               {DType::kBF16, 251},
                               {DType::kE4M3, 13},
                               {DType::kE5M2, 7},
                               {DType::kI8, 127}}) {
    const auto values = Values("coded", dtype, {64, 512});
    const std::set<double> distinct(values.begin(), values.begin() + period);
    EXPECT_EQ(distinct.size(), static_cast<size_t>(period)) << Name(dtype);
    EXPECT_GE(*distinct.begin(), 1);
  }
}

TEST(Fill, SubnormalShare) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2}) {
    const FloatFormat& format = FormatOf(dtype);
    int subnormal = 0, count = 0;
    for (double x : Values("subnormal", dtype)) {
      const double magnitude = std::fabs(x);
      ASSERT_GT(magnitude, 0);
      ASSERT_LE(magnitude, 16 * format.MinNormal());
      subnormal += magnitude < format.MinNormal();
      ++count;
    }
    EXPECT_NEAR(static_cast<double>(subnormal) / count, 0.25, 0.012) << Name(dtype);
  }
}

TEST(Fill, SpecialPlantsEachKindSparsely) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kE4M3}) {
    const auto values = Values("special", dtype, {256, 1024});
    const FloatFormat& format = FormatOf(dtype);
    int nans = 0, infinities = 0, largest = 0, subnormals = 0, spoiled_rows = 0;
    bool minus_zero = false;
    for (size_t row = 0; row < 256; ++row) {
      bool spoiled = false;
      for (size_t i = row * 1024; i < row * 1024 + 1024; ++i) {
        const double x = values[i];
        nans += std::isnan(x);
        infinities += std::isinf(x);
        largest += std::fabs(x) == format.max_finite;
        subnormals += x != 0 && std::fabs(x) < format.MinNormal();
        minus_zero = minus_zero || (x == 0 && std::signbit(x));
        spoiled = spoiled || !std::isfinite(x);
      }
      spoiled_rows += spoiled;
    }
    EXPECT_GE(nans, 6) << Name(dtype);
    EXPECT_GE(infinities + largest, 24) << Name(dtype);
    EXPECT_EQ(infinities > 0, format.has_infinity);
    EXPECT_GE(subnormals, 12);
    EXPECT_TRUE(minus_zero);
    EXPECT_LE(spoiled_rows, 32);
  }
  // A single line gets one as well: a kind that this seed draws.
  const auto i8 = Of(Values("special", DType::kI8, {256, 64}));
  EXPECT_EQ(i8.low, -128);
  EXPECT_EQ(i8.high, 127);
}

TEST(Fill, Pow2AndNearOne) {
  std::set<double> seen;
  for (double x : Values("pow2", DType::kE5M2)) seen.insert(x);
  EXPECT_EQ(seen.size(), 14u);
  EXPECT_TRUE(seen.contains(-0.125) && seen.contains(8));
  for (double x : Values("pow2", DType::kI8)) EXPECT_TRUE(x != 0 && std::fabs(x) <= 8);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI32}) {
    const auto values = Values("near_one", dtype, {16, 4096});
    std::set<int> exponents;
    for (size_t row = 0; row < 16; ++row) {
      double above = 0, below = 0;  // log2 of the products of the factors above and below one
      for (size_t i = row * 4096; i < row * 4096 + 4096; ++i) {
        (values[i] > 1 ? above : below) += std::log2(values[i]);
        exponents.insert(static_cast<int>(std::lround(std::log2(values[i]))));
      }
      const double top = IsInt(dtype) ? 31 : std::log2(FormatOf(dtype).max_finite);
      EXPECT_LT(above, top) << Name(dtype);
      EXPECT_GT(below, -top) << Name(dtype);
      EXPECT_NE(above, 0);
    }
    EXPECT_EQ(exponents.size(), IsInt(dtype) ? 2u : 3u) << Name(dtype);
  }
}

// Nothing in it but position decides: other threads, other chunks, the same bits.
TEST(Fill, BitsDoNotDependOnThreads) {
  for (const std::string& name : KnownFills()) {
    const std::string fill = name == "cancel-K" ? "cancel-1e4" : name;
    for (DType dtype : {DType::kF32, DType::kC64}) {
      SetThreadCount(1);
      const Tensor one = Filled(fill, dtype, {37, 1501}, 5);
      SetThreadCount(4);
      const Tensor four = Filled(fill, dtype, {37, 1501}, 5);
      EXPECT_EQ(HashBytes(one.data(), one.bytes()), HashBytes(four.data(), four.bytes())) << fill;
    }
  }
}

TEST(Fill, SeedAndStreamChangeTheBits) {
  for (const std::string& name : KnownFills()) {
    const FillSpec fill = ParseFill(name == "cancel-K" ? "cancel-1e4" : name).value();
    std::set<uint64_t> hashes;
    for (uint64_t seed : {0, 1}) {
      for (uint64_t stream : {0, 1}) {
        Tensor tensor(DType::kF32, {16, 100});
        FillTensor(fill, seed, stream, -1, 0, tensor);
        hashes.insert(HashBytes(tensor.data(), tensor.bytes()));
      }
    }
    EXPECT_EQ(hashes.size(), 4u) << name;
  }
}

// Nothing of what was in the memory before shows.
TEST(Fill, EveryElementOfOddShapesIsWritten) {
  const auto filled_over = [](int before, const FillSpec& fill, const Shape& shape, int role) {
    Tensor tensor(DType::kF16, shape);
    std::memset(tensor.data(), before, tensor.bytes());
    FillTensor(fill, 0, static_cast<uint64_t>(role), -1, role, tensor);
    return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.bytes());
  };
  for (const std::string& name : KnownFills()) {
    const FillSpec fill = ParseFill(name == "cancel-K" ? "cancel-1e4" : name).value();
    for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{1}, Shape{2}, Shape{3, 1}, Shape{1, 5}}) {
      for (int role : {0, 1, 2}) {
        EXPECT_EQ(filled_over(0x55, fill, shape, role), filled_over(0xAA, fill, shape, role))
            << name << " " << ShapeText(shape) << " role " << role;
      }
    }
  }
}

TEST(Fill, ParseErrorsSayWhatIsKnown) {
  const auto unknown = ParseFill("gauss");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_NE(unknown.error().message.find("'gauss'"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("normal, lognormal"), std::string::npos);
  for (const char* text :
       {"cancel-", "cancel-x", "cancel-0.5", "cancel-1e6x", "cancel-inf", "cancel-nan", "cancel-K", ""}) {
    EXPECT_FALSE(ParseFill(text).has_value()) << text;
  }
  EXPECT_EQ(ParseFill("cancel-1e6").value().parameter, 1e6);
}

TEST(Fill, EveryFillHasOneText) {
  for (const std::string& name : KnownFills()) {
    if (name == "cancel-K") continue;
    EXPECT_EQ(FillText(ParseFill(name).value()), name);
  }
  const std::pair<const char*, const char*> table[] = {
      {"cancel-1e6", "cancel-1e6"},      {"cancel-1000000", "cancel-1e6"}, {"cancel-1000000.0", "cancel-1e6"},
      {"cancel-1e06", "cancel-1e6"},     {"cancel-0.1e7", "cancel-1e6"},   {"cancel-1", "cancel-1e0"},
      {"cancel-2500", "cancel-2.5e3"},   {"cancel-1e10", "cancel-1e10"},   {"cancel-1e100", "cancel-1e100"},
      {"cancel-1024", "cancel-1.024e3"},
  };
  for (const auto& [text, canonical] : table) EXPECT_EQ(FillText(ParseFill(text).value()), canonical) << text;
}

TEST(FillProperty, TheTextKeepsTheParameter) {
  const RandomStream random(7, 0);
  for (uint64_t i = 0; i < 2000; ++i) {
    const FillSpec fill{FillKind::kCancel, std::exp(600 * random.Uniform(i))};
    const FillSpec again = ParseFill(FillText(fill)).value();
    EXPECT_EQ(again.kind, fill.kind);
    EXPECT_EQ(again.parameter, fill.parameter) << FillText(fill);
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/dtype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/check.h"
#include "harness/core/base/nearest_word.h"

namespace assay {
namespace {

// DLDataTypeCode as numbers: installed dlpack.h may predate the fp8 codes.
constexpr uint8_t kDLInt = 0;
constexpr uint8_t kDLUInt = 1;
constexpr uint8_t kDLFloat = 2;
constexpr uint8_t kDLBfloat = 4;
constexpr uint8_t kDLComplex = 5;
constexpr uint8_t kDLBool = 6;
constexpr uint8_t kDLFloat8E4M3FN = 10;
constexpr uint8_t kDLFloat8E5M2 = 12;

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {DType::kF64, "f64", DTypeKind::kFloat, 8, kDLFloat, 64},
    {DType::kF32, "f32", DTypeKind::kFloat, 4, kDLFloat, 32},
    {DType::kF16, "f16", DTypeKind::kFloat, 2, kDLFloat, 16},
    {DType::kBF16, "bf16", DTypeKind::kFloat, 2, kDLBfloat, 16},
    {DType::kE4M3, "e4m3", DTypeKind::kFloat, 1, kDLFloat8E4M3FN, 8},
    {DType::kE5M2, "e5m2", DTypeKind::kFloat, 1, kDLFloat8E5M2, 8},
    {DType::kI8, "i8", DTypeKind::kInt, 1, kDLInt, 8},
    {DType::kI32, "i32", DTypeKind::kInt, 4, kDLInt, 32},
    {DType::kI64, "i64", DTypeKind::kInt, 8, kDLInt, 64},
    {DType::kC64, "c64", DTypeKind::kComplex, 8, kDLComplex, 64},
    {DType::kC128, "c128", DTypeKind::kComplex, 16, kDLComplex, 128},
    {DType::kU8, "u8", DTypeKind::kInt, 1, kDLUInt, 8},
    {DType::kI16, "i16", DTypeKind::kInt, 2, kDLInt, 16},
    {DType::kBool, "bool", DTypeKind::kInt, 1, kDLBool, 8},
}};

// Names that other libraries have for types.
constexpr struct {
  std::string_view other, name;
} kOtherNames[] = {
    {"float64", "f64"},   {"double", "f64"},  {"fp64", "f64"},           {"float32", "f32"},   {"float", "f32"},
    {"single", "f32"},    {"fp32", "f32"},    {"float16", "f16"},        {"half", "f16"},      {"fp16", "f16"},
    {"bfloat16", "bf16"}, {"e4m3fn", "e4m3"}, {"float8_e4m3fn", "e4m3"}, {"fp8", "e4m3"},      {"float8_e5m2", "e5m2"},
    {"int8", "i8"},       {"uint8", "u8"},    {"int16", "i16"},          {"short", "i16"},     {"int32", "i32"},
    {"int", "i32"},       {"int64", "i64"},   {"long", "i64"},           {"complex64", "c64"}, {"complex128", "c128"},
    {"complex", "c128"},
};

// "; did you mean 'bf16'?" of "torch.bfloat16"; "": nothing is near.
std::string TypeHint(std::string_view name, std::span<const std::string> known) {
  std::string plain(name.substr(name.rfind('.') + 1));
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [other, own] : kOtherNames) {
    if (plain == other) return fmt::format("; did you mean '{}'?", own);
  }
  return DidYouMean(plain, known);
}

constexpr FloatFormat kFormatF64 = {53, -1022, std::numeric_limits<double>::max(), true};
constexpr FloatFormat kFormatF32 = {24, -126, std::numeric_limits<float>::max(), true};
constexpr FloatFormat kFormatF16 = {11, -14, 65504.0, true};
constexpr FloatFormat kFormatBF16 = {8, -126, 0x1.FEp127, true};
constexpr FloatFormat kFormatE4M3 = {4, -6, 448.0, false};
constexpr FloatFormat kFormatE5M2 = {3, -14, 57344.0, true};

}  // namespace

const DTypeInfo& Info(DType dtype) {
  const DTypeInfo& info = kInfo[static_cast<size_t>(dtype)];
  ASSAY_CHECK(info.dtype == dtype);
  return info;
}

const FloatFormat& FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return kFormatF64;
    case DType::kF32:
    case DType::kC64:
      return kFormatF32;
    case DType::kF16:
      return kFormatF16;
    case DType::kBF16:
      return kFormatBF16;
    case DType::kE4M3:
      return kFormatE4M3;
    case DType::kE5M2:
      return kFormatE5M2;
    default:
      CheckFailed("FormatOf of a floating-point type", __FILE__, __LINE__);
  }
}

IntegerLimits LimitsOf(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  const int bits = 8 * SizeOf(dtype);
  if (dtype == DType::kU8) return {0, (int64_t{1} << bits) - 1};
  const auto high = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  return {-high - 1, high};
}

int64_t WrapTo(DType dtype, uint64_t sum) {
  if (dtype == DType::kBool) return sum != 0 ? 1 : 0;
  const int spare = 64 - 8 * SizeOf(dtype);
  if (dtype == DType::kU8) return static_cast<int64_t>(sum << spare >> spare);
  return static_cast<int64_t>(sum << spare) >> spare;
}

double LowPart(int64_t x, double rounded) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (rounded >= 0x1p63) return static_cast<double>(x - kMax - 1);
  return static_cast<double>(x - static_cast<int64_t>(rounded));
}

Result<DType> ParseDType(std::string_view name) {
  std::vector<std::string> known;
  for (const DTypeInfo& info : kInfo) {
    if (info.name == name) return info.dtype;
    known.emplace_back(info.name);
  }
  return UsageError(
      fmt::format("unknown dtype '{}'; known: {}{}", name, fmt::join(known, ", "), TypeHint(name, known)));
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Rounding to 8-bit types: by a division for each element, or by a product with the reciprocal of its scale. And what
// such integers stand for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/elements.h"
#include "backends/cpu/rows.h"

namespace cpu {

// Scales of both: one, or one for each row or column.
struct Scaled {
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(const plugin::OpDesc& op, size_t input, int rank) {
    if (input == 0) return AllLeads(rank);
    return op.AttrString("per") == "row" ? std::vector<int>{0} : std::vector<int>{};
  }
  explicit Scaled(const plugin::OpDesc& op) {
    const std::string& per = op.AttrString("per");
    if (per == "tensor" || per == "row" || per == "column") return;
    throw plugin::Unsupported("{} has scales per tensor, row and column, not per {}", op.name(), per);
  }
};

// Integers that are codes.
inline bool IsCode(plugin::DType type) {
  return type == plugin::kI8 || type == plugin::kU8;
}

// Codes of zero, if they are an operand.
inline bool TakesZero(const plugin::OpDesc& op) {
  return op.inputs().size() < 3 || IsCode(op.inputs()[2].dtype) || op.inputs()[2].dtype == plugin::kI32;
}

template <bool kReciprocal>
class Quantize : Scaled {
 public:
  using Scaled::IgnoreShapes, Scaled::Leads;
  // A division is rounded once. A reciprocal and a product with it are rounded each.
  static constexpr int kMath = kReciprocal ? 1 : 0;
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::DType out = op.outputs()[0].dtype;
    const auto is_narrow = [](plugin::DType type) { return plugin::IsFloat(type) && !(type == plugin::kF64); };
    return is_narrow(op.inputs()[0].dtype) && op.inputs()[1].dtype == plugin::kF32 &&
           (IsCode(out) || out == plugin::kE4M3 || out == plugin::kE5M2) && TakesZero(op);
  }
  explicit Quantize(const plugin::OpDesc& op)
      : Scaled(op),
        zero_(static_cast<float>(op.AttrInt("zero"))),
        integers_(IsCode(op.outputs()[0].dtype)),
        saturates_(op.AttrInt("saturate") != 0),
        has_zero_point_(op.inputs().size() == 3) {
    const plugin::DType out = op.outputs()[0].dtype;
    high_ = out == plugin::kI8 ? 127.0F : out == plugin::kU8 ? 255.0F : out == plugin::kE4M3 ? 448.0F : 57344.0F;
    low_ = out == plugin::kI8 ? -128.0F : out == plugin::kU8 ? 0.0F : -high_;
  }

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const bool shared = x[1].size() == 1;
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t own = shared ? 0 : i;
      const Acc scale = x[1][own], zero = has_zero_point_ ? x[2][own] : static_cast<Acc>(zero_);
      const Acc quotient = kReciprocal ? x[0][i] * (1 / scale) : x[0][i] / scale;
      y[i] = Limited(quotient + zero);
    }
  }

 private:
  // NaN stays what it is, or becomes 0.
  template <class Acc>
  Acc Limited(Acc v) const {
    if (std::isnan(v)) return integers_ ? Acc{0} : v;
    if (!saturates_) return v;  // its conversion makes NaN or an infinity of what is beyond
    const Acc limited = std::clamp(v, static_cast<Acc>(low_), static_cast<Acc>(high_));
    return integers_ ? std::nearbyint(limited) : limited;
  }

  float zero_, low_ = 0, high_ = 0;
  bool integers_, saturates_, has_zero_point_;
};

// The code of a number of a type of 8 bits.
inline uint8_t CodeOf(plugin::DType type, double number) {
  if (type == plugin::kE4M3) return plugin::E4M3::Of(number).bits;
  if (type == plugin::kE5M2) return plugin::E5M2::Of(number).bits;
  return static_cast<uint8_t>(static_cast<int>(number));
}

// The number of each code.
inline std::array<float, 256> NumbersOf(plugin::DType type) {
  std::array<std::byte, 256> codes;
  for (size_t code = 0; code < codes.size(); ++code) codes[code] = static_cast<std::byte>(code);
  std::array<float, 256> numbers;
  Load(type, codes.data(), 1, std::ssize(codes), numbers.data());
  return numbers;
}

// (q - zero) scale, or q scale where there is no zero, computed for each element, or once for each code and then looked
// up.
template <bool kLookedUp>
class Dequantize : Scaled {
 public:
  using Scaled::IgnoreShapes, Scaled::Leads;
  static constexpr int kMath = 0;
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::DType in = op.inputs()[0].dtype, out = op.outputs()[0].dtype;
    const bool is_float8 = in == plugin::kE4M3 || in == plugin::kE5M2;
    const bool has_table = !kLookedUp || op.AttrString("per") != "column";
    return has_table && (IsCode(in) || is_float8) && op.inputs()[1].dtype == plugin::kF32 && TakesZero(op) &&
           plugin::IsFloat(out) && !(out == plugin::kF64);
  }
  explicit Dequantize(const plugin::OpDesc& op)
      : Scaled(op), type_(op.inputs()[0].dtype), has_zero_(op.inputs().size() == 3), numbers_(NumbersOf(type_)) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const auto value = [&](Acc q, size_t i) { return (has_zero_ ? q - x[2][i] : q) * x[1][i]; };
    if constexpr (kLookedUp) {
      std::array<Acc, 256> values;
      for (size_t code = 0; code < values.size(); ++code) values[code] = value(static_cast<Acc>(numbers_[code]), 0);
      for (size_t i = 0; i < y.size(); ++i) y[i] = values[CodeOf(type_, static_cast<double>(x[0][i]))];
    } else {
      const bool shared = x[1].size() == 1;
      for (size_t i = 0; i < y.size(); ++i) y[i] = value(x[0][i], shared ? 0 : i);
    }
  }

 private:
  plugin::DType type_;
  bool has_zero_;
  std::array<float, 256> numbers_;
};

}  // namespace cpu

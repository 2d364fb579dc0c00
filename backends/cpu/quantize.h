// SPDX-License-Identifier: Apache-2.0
// Rounding to 8-bit types: by a division for each element, or by a product with the reciprocal of its scale. And what
// such integers stand for.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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
           (out == plugin::kI8 || out == plugin::kE4M3 || out == plugin::kE5M2);
  }
  explicit Quantize(const plugin::OpDesc& op)
      : Scaled(op), zero_(static_cast<float>(op.AttrInt("zero"))), integers_(op.outputs()[0].dtype == plugin::kI8) {
    const plugin::DType out = op.outputs()[0].dtype;
    high_ = integers_ ? 127.0F : out == plugin::kE4M3 ? 448.0F : 57344.0F;
    low_ = integers_ ? -128.0F : -high_;
  }

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const bool shared = x[1].size() == 1;
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc scale = x[1][shared ? 0 : i];
      const Acc quotient = kReciprocal ? x[0][i] * (1 / scale) : x[0][i] / scale;
      y[i] = Limited(quotient + static_cast<Acc>(zero_));
    }
  }

 private:
  // NaN stays what it is, or becomes 0.
  template <class Acc>
  Acc Limited(Acc v) const {
    if (std::isnan(v)) return integers_ ? Acc{0} : v;
    const Acc limited = std::clamp(v, static_cast<Acc>(low_), static_cast<Acc>(high_));
    return integers_ ? std::nearbyint(limited) : limited;
  }

  float zero_, low_ = 0, high_ = 0;
  bool integers_;
};

// (q - zero) scale, computed for each element, or once for each code and then looked up.
template <bool kLookedUp>
class Dequantize : Scaled {
 public:
  using Scaled::IgnoreShapes, Scaled::Leads;
  static constexpr int kMath = 0;
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::DType out = op.outputs()[0].dtype;
    const bool has_table = !kLookedUp || op.AttrString("per") != "column";
    return has_table && op.inputs()[0].dtype == plugin::kI8 && op.inputs()[1].dtype == plugin::kF32 &&
           op.inputs()[2].dtype == plugin::kI8 && plugin::IsFloat(out) && !(out == plugin::kF64);
  }
  explicit Dequantize(const plugin::OpDesc& op) : Scaled(op) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    if constexpr (kLookedUp) {
      std::array<Acc, 256> values;
      for (int code = 0; code < 256; ++code) values[code] = (static_cast<Acc>(code - 128) - x[2][0]) * x[1][0];
      for (size_t i = 0; i < y.size(); ++i) y[i] = values[static_cast<size_t>(x[0][i] + 128)];
    } else {
      const bool shared = x[1].size() == 1;
      for (size_t i = 0; i < y.size(); ++i) {
        y[i] = (x[0][i] - x[2][shared ? 0 : i]) * x[1][shared ? 0 : i];
      }
    }
  }
};

}  // namespace cpu

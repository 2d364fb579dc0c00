// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices, and sums of such products as codes again.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/experts.h"
#include "backends/cpu/quantize.h"

namespace cpu {

// q [rows,n], scale [] or [n] -> y [rows,n]: a product and a sum, or both at once.
template <bool kFused>
class Requantize {
 public:
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n", "per"}); }
  static std::vector<int> Leads(size_t input, int rank) { return input == 0 ? AllLeads(rank) : std::vector<int>(); }
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::DType in = op.inputs()[0].dtype;
    return (IsCode(in) || in == plugin::kI32 || in == plugin::kF32) && op.inputs()[1].dtype == plugin::kF32 &&
           IsCode(op.outputs()[0].dtype);
  }
  explicit Requantize(const plugin::OpDesc& op)
      : zero_(static_cast<float>(op.AttrInt("zero"))), low_(op.outputs()[0].dtype == plugin::kI8 ? -128.0F : 0.0F) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc scale = x[1][x[1].size() == 1 ? 0 : i], zero = static_cast<Acc>(zero_);
      const Acc code = kFused ? std::fma(x[0][i], scale, zero) : x[0][i] * scale + zero;
      y[i] = std::isnan(code) ? 0 : std::nearbyint(std::clamp<Acc>(code, low_, low_ + 255));
    }
  }

 private:
  float zero_, low_;
};

// x [rows,k], packed [k/2,n], scale and zero [groups,n]: each weight scaled, or the sum of each group.
template <bool kByGroup>
struct W4a16Mm : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "k", "groups", "n"}); }
  static bool Takes(const plugin::OpDesc& op) {
    return TakesIntegers(op, {1, 3}, 0) && op.inputs()[1].dtype == plugin::kU8;
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t rows = Extent(0, 0), k = Extent(0, 1), groups = Extent(2, 0), n = Extent(2, 1);
    for (int64_t i = 0; i < rows * n; ++i) {
      const int64_t row = i / n, column = i % n;
      Acc sum = 0;
      for (int64_t group = 0; group < groups; ++group) {
        const Acc scale = x[2][group * n + column], zero = x[3][group * n + column];
        const bool together = kByGroup && std::isfinite(scale);  // an infinite one makes NaN of a weight of 0
        Acc of_group = 0;
        for (int64_t term = group * (k / groups); term < (group + 1) * (k / groups); ++term) {
          const auto packed = static_cast<int>(x[1][term / 2 * n + column]);
          const Acc code = static_cast<Acc>(term % 2 == 0 ? packed % 16 : packed / 16) - zero;
          together ? of_group += x[0][row * k + term]* code : sum += x[0][row * k + term] * (code * scale);
        }
        if (together) sum += of_group * scale;
      }
      y[i] = sum;
    }
  }
};

// a [m,k], b [k,n] with scales, and a zero for all of a or each of its rows: each factor scaled, or the sums of blocks.
template <bool kSumsFirst>
class ScaledMm : public Experts {
 public:
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"m", "k", "n"}); }
  static bool Takes(const plugin::OpDesc& op) {
    const auto is_code = [](plugin::DType type) {
      return IsCode(type) || type == plugin::kE4M3 || type == plugin::kE5M2;
    };
    const std::vector<plugin::Tensor>& x = op.inputs();
    return is_code(x[0].dtype) && is_code(x[1].dtype) && x[2].dtype == plugin::kF32 && x[3].dtype == plugin::kF32 &&
           (x.size() < 5 || plugin::IsInteger(x[4].dtype)) && plugin::IsFloat(op.outputs()[0].dtype);
  }
  explicit ScaledMm(const plugin::OpDesc& op) : Experts(op), per_(op.AttrString("per")), block_(op.AttrInt("block")) {
    if (per_ != "tensor" && per_ != "row" && per_ != "block")
      throw plugin::Unsupported("{} has scales per tensor, row and block, not per {}", op.name(), per_);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t k = Extent(0, 1), n = Extent(1, 1), block = per_ == "block" ? block_ : k;
    const int64_t k_blocks = (k + block - 1) / block, n_blocks = (n + block_ - 1) / block_;
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t row = i / n, column = i % n;
      const Acc zero = x.size() < 5 ? 0 : x[4][x[4].size() == 1 ? 0 : row];
      Acc sum = 0;
      for (int64_t at = 0; at < k_blocks; ++at) {
        const bool by_block = per_ == "block", by_row = per_ == "row";
        const Acc scale_a = x[2][by_block ? row * k_blocks + at : by_row ? row : 0];
        const Acc scale_b = x[3][by_block ? at * n_blocks + column / block_ : by_row ? column : 0];
        const bool together = kSumsFirst && std::isfinite(scale_a * scale_b);
        Acc of_block = 0;
        for (int64_t term = at * block; term < std::min(k, (at + 1) * block); ++term) {
          const Acc a = x[0][row * k + term] - zero, b = x[1][term * n + column];
          together ? of_block += a* b : sum += (a * scale_a) * (b * scale_b);
        }
        if (together) sum += of_block * (scale_a * scale_b);
      }
      y[i] = sum;
    }
  }

 private:
  std::string per_;
  int64_t block_;
};

// a [m,k] and b [k,n], or codes of them in bytes, with scales of blocks along k: each element scaled, or the sums of
// blocks.
template <bool kSumsFirst>
class MxMm : public Experts {
 public:
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"m", "n"}); }
  static bool Takes(const plugin::OpDesc& op) {
    const auto is_narrow = [](plugin::DType type) {
      return type == plugin::kU8 || type == plugin::kE4M3 || type == plugin::kE5M2;
    };
    return std::all_of(op.inputs().begin(), op.inputs().begin() + 4,
                       [&](const plugin::Tensor& x) { return is_narrow(x.dtype); }) &&
           plugin::IsFloat(op.outputs()[0].dtype);
  }
  explicit MxMm(const plugin::OpDesc& op)
      : Experts(op), k_(op.AttrInt("k")), block_(op.AttrInt("block")), codes_(op.AttrString("codes")) {
    if (codes_ == "e2m1") SetNumbers(2, 1);
    if (codes_ == "e2m3") SetNumbers(2, 3);
    if (codes_ == "e3m2") SetNumbers(3, 2);
    if (codes_ != "none" && numbers_.empty()) throw plugin::Unsupported("{} has no codes={}", op.name(), codes_);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t n = Extent(1, 1), blocks = Extent(3, 0), bytes = Extent(0, 1);
    const Acc scale_of_all = x.size() > 4 ? x[4][0] : 1;
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t row = i / n, column = i % n;
      Acc sum = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        const Acc scale_a = Scale(2, x[2][row * blocks + block]), scale_b = Scale(3, x[3][block * n + column]);
        Acc of_block = 0;
        for (int64_t term = block * block_; term < std::min(k_, (block + 1) * block_); ++term) {
          const int64_t byte = codes_ == "e2m1" ? term / 2 : term;
          const Acc a = Number(x[0][row * bytes + byte], term), b = Number(x[1][byte * n + column], term);
          kSumsFirst ? of_block += a* b : sum += (a * scale_a) * (b * scale_b);
        }
        if (kSumsFirst) sum += of_block * (scale_a * scale_b);
      }
      y[i] = sum * scale_of_all;
    }
  }

 private:
  // All numbers of a format by their codes. Its bias makes the next number above the largest exponent but one 1.
  void SetNumbers(int exponent_bits, int digits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, sizes = 1 << (exponent_bits + digits);
    for (int code = 0; code < 2 * sizes; ++code) {
      const int size = code % sizes, exponent = size >> digits, rest = size % (1 << digits);
      const double whole = exponent == 0 ? rest : rest + (1 << digits);
      numbers_.push_back(std::ldexp(code < sizes ? whole : -whole, std::max(exponent, 1) - bias - digits));
    }
  }
  template <class Acc>
  Acc Number(Acc element, int64_t term) const {
    if (numbers_.empty()) return element;
    const auto byte = static_cast<size_t>(element);
    const size_t code = codes_ == "e2m1" ? (term % 2 == 0 ? byte % 16 : byte / 16) : byte;
    if (code >= numbers_.size()) throw plugin::Failure("code {} has more than 6 bits", code);
    return static_cast<Acc>(numbers_[code]);
  }
  template <class Acc>
  Acc Scale(size_t input, Acc scale) const {
    if (inputs_[input].dtype != plugin::kU8) return scale;
    if (scale == 255) return std::numeric_limits<Acc>::quiet_NaN();
    return std::ldexp(Acc{1}, static_cast<int>(scale) - 127);
  }

  int64_t k_, block_;
  std::string codes_;
  std::vector<double> numbers_;  // of elements in bytes
};

}  // namespace cpu

// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, with products of 64 bits or with those of halves of words, and what is made of its words.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "backends/cpu/rows.h"

namespace cpu {

using PhiloxWords = std::array<uint32_t, 4>;

// The upper and the lower word.
template <bool kByHalves>
std::pair<uint32_t, uint32_t> ProductOfWords(uint32_t a, uint32_t b) {
  if (!kByHalves) {
    const uint64_t product = uint64_t{a} * b;
    return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
  }
  const uint32_t upper_a = a >> 16, lower_a = a & 0xFFFFU, upper_b = b >> 16, lower_b = b & 0xFFFFU;
  const uint32_t low = lower_a * lower_b, middle = upper_a * lower_b + (low >> 16);
  const uint32_t other = lower_a * upper_b + (middle & 0xFFFFU);
  return {upper_a * upper_b + (middle >> 16) + (other >> 16), (other << 16) | (low & 0xFFFFU)};
}

template <bool kByHalves>
PhiloxWords PhiloxRounds(PhiloxWords words, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto [high, low] = ProductOfWords<kByHalves>(0xD2511F53U, words[0]);
    const auto [other_high, other_low] = ProductOfWords<kByHalves>(0xCD9E8D57U, words[2]);
    words = {other_high ^ words[1] ^ key[0], other_low, high ^ words[3] ^ key[1], low};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return words;
}

// A counter has four words, key [2] -> y [4].
template <bool kByHalves>
class Philox {
 public:
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0} : std::vector<int>{}; }
  static bool Takes(const plugin::OpDesc&) { return false; }  // but integers
  explicit Philox(const plugin::OpDesc& op) : is_signed_(op.outputs()[0].dtype == plugin::kI32) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const auto word = [](Acc integer) { return static_cast<uint32_t>(static_cast<int64_t>(integer)); };
    const PhiloxWords words = PhiloxRounds<kByHalves>({word(x[0][0]), word(x[0][1]), word(x[0][2]), word(x[0][3])},
                                                      {word(x[1][0]), word(x[1][1])});
    for (size_t i = 0; i < 4; ++i) {
      y[i] = is_signed_ ? static_cast<Acc>(static_cast<int32_t>(words[i])) : static_cast<Acc>(words[i]);
    }
  }

 private:
  bool is_signed_;
};

// A word -> its upper 24 bits over 2^24: a quotient, or the digits of a number in [1, 2) less 1.
template <bool kByDigits>
struct PhiloxUniform {
  static constexpr bool kDoubles = true;  // f32 has no words
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static bool Takes(const plugin::OpDesc& op) {
    return plugin::IsInteger(op.inputs()[0].dtype) && plugin::IsFloat(op.outputs()[0].dtype);
  }
  explicit PhiloxUniform(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const uint32_t upper = static_cast<uint32_t>(static_cast<int64_t>(x[0][i])) >> 8;
      const double digits = std::bit_cast<double>(0x3FF0000000000000U | uint64_t{upper} << 28);
      y[i] = static_cast<Acc>(kByDigits ? digits - 1 : upper / 0x1p24);
    }
  }
};

// x [n] -> y [n], mask [n]: the words of a counter at once, or each by itself, and quotients or products.
template <bool kByWord>
class Dropout {
 public:
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static bool Takes(const plugin::OpDesc& op) {
    return plugin::IsFloat(op.inputs()[0].dtype) && plugin::IsFloat(op.outputs()[0].dtype);
  }
  explicit Dropout(const plugin::OpDesc& op)
      : keep_(op.AttrFloat("keep")),
        key_(static_cast<uint64_t>(op.AttrInt("key"))),
        offset_(static_cast<uint64_t>(op.AttrInt("offset"))) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const Acc keep = static_cast<Acc>(keep_), factor = 1 / keep;
    PhiloxWords words{};
    for (size_t i = 0; i < y[0].size(); ++i) {
      if (kByWord || i % 4 == 0) words = WordsOf(offset_ + i / 4);
      const bool is_kept = static_cast<float>(words[i % 4] >> 8) * 0x1p-24F < static_cast<float>(keep_);
      y[0][i] = !is_kept ? Acc{0} : kByWord ? x[0][i] * factor : x[0][i] / keep;
      y[1][i] = is_kept ? 1 : 0;
    }
  }

 private:
  PhiloxWords WordsOf(uint64_t counter) const {
    return PhiloxRounds<false>({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                               {static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32)});
  }
  double keep_;
  uint64_t key_, offset_;
};

// x and random [n] -> y [n]: the bits of f32, to which random ones are added, or digits as numbers.
template <bool kByBits>
class StochasticRound {
 public:
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::DType to = op.outputs()[0].dtype;
    return op.inputs()[0].dtype == plugin::kF32 && plugin::IsInteger(op.inputs()[1].dtype) &&
           (to == plugin::kBF16 || to == plugin::kF16);
  }
  explicit StochasticRound(const plugin::OpDesc& op) : is_f16_(op.outputs()[0].dtype == plugin::kF16) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const uint32_t lost = is_f16_ ? 0x1FFFU : 0xFFFFU;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto number = static_cast<float>(x[0][i]);
      const uint32_t drawn = static_cast<uint32_t>(static_cast<int64_t>(x[1][i])) & lost;
      const bool keeps_digits = !is_f16_ || std::fabs(number) >= 0x1p-14F;
      const bool by_bits = kByBits && keeps_digits && std::isfinite(number);
      y[i] = by_bits ? std::bit_cast<float>((std::bit_cast<uint32_t>(number) + drawn) & ~lost)
                     : ByDigits(number, drawn, static_cast<double>(lost) + 1);
    }
  }

 private:
  float ByDigits(double number, uint32_t drawn, double all) const {
    if (!std::isfinite(number) || number == 0) return static_cast<float>(number);
    const int exponent = std::max(std::ilogb(number), is_f16_ ? -14 : -126) - (is_f16_ ? 10 : 7);
    const double units = std::floor(std::ldexp(std::fabs(number), -exponent) * all), kept = std::floor(units / all);
    const double rounded = kept + (units - kept * all + drawn >= all ? 1 : 0);
    return static_cast<float>(std::copysign(std::ldexp(rounded, exponent), number));
  }
  bool is_f16_;
};

}  // namespace cpu

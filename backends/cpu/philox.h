// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10: with products of 64 bits, or with those of halves of words.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "backends/cpu/rows.h"

namespace cpu {

// A counter has four words, key [2] -> y [4].
template <bool kByHalves>
class Philox {
 public:
  static constexpr int kMath = 0;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0} : std::vector<int>{}; }
  static bool Takes(const plugin::OpDesc&) { return false; }  // but integers
  explicit Philox(const plugin::OpDesc& op) : is_signed_(op.outputs()[0].dtype == plugin::kI32) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const auto word = [](Acc integer) { return static_cast<uint32_t>(static_cast<int64_t>(integer)); };
    std::array<uint32_t, 4> words = {word(x[0][0]), word(x[0][1]), word(x[0][2]), word(x[0][3])};
    std::array<uint32_t, 2> key = {word(x[1][0]), word(x[1][1])};
    for (int round = 0; round < 10; ++round) {
      const auto [high, low] = Product(0xD2511F53U, words[0]);
      const auto [other_high, other_low] = Product(0xCD9E8D57U, words[2]);
      words = {other_high ^ words[1] ^ key[0], other_low, high ^ words[3] ^ key[1], low};
      key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
    }
    for (size_t i = 0; i < 4; ++i) {
      y[i] = is_signed_ ? static_cast<Acc>(static_cast<int32_t>(words[i])) : static_cast<Acc>(words[i]);
    }
  }

 private:
  // The upper and the lower word.
  static std::pair<uint32_t, uint32_t> Product(uint32_t a, uint32_t b) {
    if (!kByHalves) {
      const uint64_t product = uint64_t{a} * b;
      return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
    }
    const uint32_t upper_a = a >> 16, lower_a = a & 0xFFFFU, upper_b = b >> 16, lower_b = b & 0xFFFFU;
    const uint32_t low = lower_a * lower_b, middle = upper_a * lower_b + (low >> 16);
    const uint32_t other = lower_a * upper_b + (middle & 0xFFFFU);
    return {upper_a * upper_b + (middle >> 16) + (other >> 16), (other << 16) | (low & 0xFFFFU)};
  }

  bool is_signed_;
};

}  // namespace cpu

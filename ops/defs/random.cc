// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 of Salmon et al. (Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011), the generator of cuRAND,
// PyTorch on GPUs and TensorFlow, and what is made of its words. Words of 32 bits are conditions along an axis of bits,
// since the exclusive or of integers is none of the primitives.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "harness/core/data/fill/rng.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

constexpr int kRounds = 10;
constexpr std::array<double, 2> kFactors = {0xD2511F53, 0xCD9E8D57}, kSteps = {0x9E3779B9, 0xBB67AE85};
constexpr double kHalf = 0x1p16;  // numbers of half a word

// Arithmetic of words. `zero` is one of the type that has room for products.
class Words {
 public:
  Words(Axis bits, Expr zero)
      : bits_(bits), none_(Const(*zero.graph, 0)), zero_(std::move(zero)), bit_(Index(*zero_.graph, bits)) {
    is_low_ = Less(bit_, Const(*zero_.graph, 16));
    powers_of_half_ = Power(4);
    powers_ = Power(5);
  }

  // The bits of an integer modulo 2^32.
  Expr BitsOf(Expr integer) const { return IsOdd(FloorDivide(integer, powers_)); }
  Expr IntegerOf(Expr bits) const { return Sum(Select(bits, powers_, none_), bits_); }

  struct Product {
    Expr high, low;  // bits
  };
  // low = factor * (x mod 2^16) and rest = factor * (x / 2^16) + low / 2^16 are below 2^49.
  Product Multiply(double factor, Expr bits) const {
    const Expr low = factor * (Sum(Select(And(bits, is_low_), powers_of_half_, none_), bits_) + zero_);
    const Expr upper = Sum(Select(And(bits, Not(is_low_)), powers_of_half_, none_), bits_) + zero_;
    const Expr rest = factor * upper + FloorDivide(low, Const(*zero_.graph, kHalf));
    return {IsOdd(FloorDivide(rest, kHalf * powers_)), IsOdd(FloorDivide(Select(is_low_, low, rest), powers_of_half_))};
  }

  static Expr ExclusiveOr(Expr a, Expr b, Expr c) { return NotEqual(NotEqual(a, b), c); }

 private:
  // 2^(bit mod 2^digits).
  Expr Power(int digits) const {
    Expr power = Const(*zero_.graph, 1);
    for (int digit = 0; digit < digits; ++digit) {
      const double step = std::ldexp(1.0, digit);
      const Expr is_set = IsOdd(digit == 0 ? bit_ : FloorDivide(bit_, Const(*zero_.graph, step)));
      power = power * Select(is_set, Const(*zero_.graph, std::exp2(step)), Const(*zero_.graph, 1));
    }
    return power;
  }
  static Expr IsOdd(Expr integer) {
    Graph& graph = *integer.graph;
    return Equal(integer - 2 * FloorDivide(integer, Const(graph, 2)), Const(graph, 1));
  }

  Axis bits_;
  Expr none_, zero_, bit_, is_low_, powers_of_half_, powers_;
};

void Philox(Definition& d) {
  d.SetDoc(
      "y = the four words of 32 bits that Philox4x32-10 makes of each counter and the key, whose words count modulo "
      "2^32; those beyond 2^31 are negative in i32");
  const Axis n = d.Axis("n", "counters");
  const Axis four = d.FixedAxis("4", 4), two = d.FixedAxis("2", 2), one = d.FixedAxis("1", 1);
  const Axis bits = d.FixedAxis("32", 32);
  const Expr counters = d.In("counters", n + four), key = d.In("key", two);
  Graph& graph = *key.graph;
  const auto spread = [&](Expr of, const Axis& from, int64_t place) {
    return At(of, from, bits, [place](int64_t) { return place; });
  };
  const Words words(bits, 0 * Sum(At(counters, four, one, [](int64_t) { return 0; }), one));
  std::array<Expr, 4> x;
  for (int64_t i = 0; i < 4; ++i) x[static_cast<size_t>(i)] = words.BitsOf(spread(counters, four, i));
  const Expr turns = Const(graph, 0x1p32), word = key - 0x1p32 * FloorDivide(key, turns);
  for (int round = 0; round < kRounds; ++round) {
    const auto key_of = [&](size_t half) {
      return words.BitsOf(spread(word, two, static_cast<int64_t>(half)) + round * kSteps[half]);
    };
    const auto [high, low] = words.Multiply(kFactors[0], x[0]);
    const auto [other_high, other_low] = words.Multiply(kFactors[1], x[2]);
    x = {Words::ExclusiveOr(other_high, x[1], key_of(0)), other_low, Words::ExclusiveOr(high, x[3], key_of(1)), low};
  }
  const auto is = [&](double place) { return Equal(Index(graph, four), Const(graph, place)); };
  const Expr all = Select(is(0), x[0], Select(is(1), x[1], Select(is(2), x[2], x[3])));
  d.Out("y", words.IntegerOf(all), n + four);
  d.SetTypes({"i64", "i64-i64-i32"});
}

void PhiloxUniform(Definition& d) {
  d.SetDoc("y = the upper 24 bits of a word of 32 bits over 2^24, in [0, 1); negative words are those of i32");
  const Axis n = d.Axis("n", "words");
  const Expr words = d.In("words", n);
  d.KeepWithin(0x1p32 - 1);
  Graph& graph = *words.graph;
  const Expr upper = FloorDivide(words, Const(graph, 256)), zero = Const(graph, 0);
  d.Out("y", Select(Less(upper, zero), upper + 0x1p24, upper) / 0x1p24, n);
  d.SetTypes({"i64-f32", "i32-f32", "i64-f64"});
}

void Dropout(Definition& d) {
  d.SetDoc(
      "y[i] = x[i] / keep where the upper 24 bits of word i over 2^24 are less than keep in f32, else 0, and mask says "
      "where. Words are those of Philox4x32-10 with this key, four of each counter from offset on");
  const Axis n = d.Axis("n", "elements");
  const double keep = d.Real("keep", "0.9", "probability with which an element is kept");
  const int64_t key = d.Integer("key", "0", "key of Philox4x32-10");
  const int64_t offset = d.Integer("offset", "0", "counter of the first four words");
  d.RefuseIf(!(keep > 0 && keep <= 1), "keep must be above 0 and at most 1");
  d.RefuseIf(offset < 0, "offset must not be negative");
  // Kernels compare two numbers of f32, which has all of 24 bits: the word's and keep. In f64 0.9 is above
  // 15099494 / 2^24, which f32 rounds it to, so that such a word would be kept.
  const double threshold = static_cast<double>(static_cast<float>(keep)) * 0x1p24;
  const RandomStream random(static_cast<uint64_t>(key), 0);
  const auto if_kept = [&](int64_t i) {
    const uint32_t word = random.Word(4 * static_cast<uint64_t>(offset) + static_cast<uint64_t>(i));
    return static_cast<double>(word >> 8) < threshold ? i : -1;
  };
  const Expr x = d.In("x", n), all = LessEqual(Const(*x.graph, 0), Index(*x.graph, n));
  d.Out("y", At(x, n, n, if_kept) / keep, n);
  d.OutOfType("mask", At(all, n, n, if_kept), n, DType::kBool);
}

// The largest power of two that is at most `size`, and at least the smallest normal number of f32. Powers are quotients
// by powers of two, which are exact.
Expr PowerBelow(Expr size) {
  Graph& graph = *size.graph;
  const Expr one = Const(graph, 1);
  Expr power = Select(Less(size, one), Const(graph, 0x1p-126), one);
  for (int step = 64; step > 0; step /= 2) {
    const Expr larger = power / std::ldexp(1.0, -step);
    power = Select(LessEqual(larger, size), larger, power);
  }
  return power;
}

void StochasticRound(Definition& d) {
  d.SetDoc(
      "y = x without the digits that its type lacks, one unit farther from zero where these digits and as many of "
      "random carry: of bf16 the lowest 16 bits, of f16 13");
  const Axis n = d.Axis("n", "elements");
  const Expr x = d.In("x", n), random = d.In("random", n);
  d.KeepWithin(65535);
  Graph& graph = *x.graph;
  const bool is_f16 = d.TypeOfResult() == DType::kF16;
  const double units = is_f16 ? 0x1p13 : 0x1p16;  // of a digit that is lost in one that stays
  const Expr all = Const(graph, units), size = Abs(x), power = PowerBelow(size);
  const Expr first = is_f16 ? Maximum(power, Const(graph, 0x1p-14)) : power;
  const double units_of_first = is_f16 ? 0x1p10 : 0x1p7;
  const Expr whole = FloorDivide(size / first, Const(graph, 1 / units_of_first / units)),
             kept = FloorDivide(whole, all);
  const Expr lost = whole - all * kept, drawn = random - all * FloorDivide(random, all);
  const Expr rounded = (kept + LessEqual(all, lost + drawn)) / (units_of_first / 2) / (2 / first);
  const Expr infinity = Const(graph, HUGE_VAL);
  const Expr result = Select(Less(size, is_f16 ? Const(graph, 0x1p16) : infinity), rounded, size * infinity);
  d.Out("y", Select(Less(x, Const(graph, 0)), -result, result), n);
  d.SetTypes({"f32-i32-bf16", "f32-i32-f16"});
}

ASSAY_OPERATOR(dropout, Dropout);
ASSAY_OPERATOR(philox, Philox);
ASSAY_OPERATOR(philox_uniform, PhiloxUniform);
ASSAY_OPERATOR(stochastic_round, StochasticRound);

}  // namespace
}  // namespace assay

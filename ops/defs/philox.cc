// SPDX-License-Identifier: Apache-2.0
// The operator philox: Philox4x32-10 of Salmon et al. (Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011), the
// generator of cuRAND, PyTorch on GPUs and TensorFlow. Words of 32 bits are conditions along an axis of bits, since the
// exclusive or of integers is none of the primitives.
#include <array>
#include <cmath>
#include <utility>

#include "ops/formula_operator.h"

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

ASSAY_OPERATOR(philox, Philox);

}  // namespace
}  // namespace assay

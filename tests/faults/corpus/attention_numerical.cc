// SPDX-License-Identifier: Apache-2.0
// Attention with wrong scores and exponentials, undeclared narrowings, and outputs that stay unwritten.
#include "tests/faults/corpus/attention_plan.h"
#include "tests/faults/corpus/exponentials.h"

namespace corpus {
namespace attention_numerical {

using plugin::BF16;
using plugin::F16;
using Spec = const AttentionSpec&;

// exp2 of a polynomial of degree 2 between powers of two: 2^-9.3 off at worst.
template <class T>
T CoarseExponential(T score, T max) {
  const T x = std::max<T>((score - max) * static_cast<T>(1.4426950408889634074L), T{-1000});
  const T whole = std::floor(x), part = x - whole;
  const T mantissa =
      static_cast<T>(1.00172476L) + part * (static_cast<T>(0.657636276L) + part * static_cast<T>(0.3371894346L));
  return std::ldexp(mantissa, static_cast<int>(whole));
}

// Where each bug can strike.
constexpr auto kScaled = [](Spec s) { return s.scale != 1; };
constexpr auto kScaledByRoot = [](Spec s) { return s.d > 1 && s.scale * static_cast<double>(s.d) != 1; };
constexpr auto kScaledByNoPower = [](Spec s) { return RoundedTo<BF16>(s.scale) != s.scale; };
constexpr auto kSeveralKeys = [](Spec s) { return s.s >= 2; };
constexpr auto kScaledByMoreDigits = [](Spec s) { return std::round(s.scale * 1e5) / 1e5 != s.scale && s.s >= 2; };
// The last row sees tiles 0 and 1.
constexpr auto kTwoTiles = [](Spec s) { return s.KeysOf(s.l - 1).first < 16 && s.KeysOf(s.l - 1).last > 16; };
// Behind whole tiles of 16 keys there are more, and no mask hides them.
constexpr auto kTail = [](Spec s) {
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return s.mask_kind == MaskKind::kNone && s.s > 16 && s.s % 16 != 0 && keys.last == s.s && keys.first < s.s / 16 * 16;
};
constexpr auto kWiderThanBF16 = [](Spec s) { return s.dtype != plugin::kBF16; };
constexpr auto kWiderThanF16 = [](Spec s) { return s.dtype != plugin::kBF16 && s.dtype != plugin::kF16; };
constexpr auto kF32Operands = [](Spec s) { return s.dtype == plugin::kF32; };

template <class T>
void Scores(AttentionEdits<T>& of) {
  of("fault.scale-of-d-plus-1").scale = [](Spec s) {
    const T d = static_cast<T>(s.d);
    return ScaleOf<T>(s) * std::sqrt(d / (d + 1));
  };
  of("fault.scale-1-over-d", kScaledByRoot).scale = [](Spec s) { return T{1} / static_cast<T>(s.d); };
  of("fault.scale-missing", kScaled).scale = [](Spec) { return T{1}; };
  of("fault.scale-in-bf16", kScaledByNoPower).scale = [](Spec s) { return RoundedTo<BF16>(ScaleOf<T>(s)); };
  of("fault.scale-of-5-decimals", kScaledByMoreDigits).scale = [](Spec s) {
    return std::round(ScaleOf<T>(s) * 100000) / 100000;
  };
}

template <class T>
void Exponentials(AttentionEdits<T>& of) {
  of("fault.log2e-is-1.4427", kSeveralKeys) = {.tile = 16, .exponential = ExponentialOfFiveDigits<T>};
  of("fault.exp-by-five-taylor-terms", kSeveralKeys) = {.tile = 16, .exponential = ExponentialOfDegree5<T>};
  of("fault.reciprocal-estimated", kSeveralKeys) = {.tile = 16, .reciprocal = ReciprocalOf12Bits<T>};
  of("fault.reciprocal-of-16-bits", kSeveralKeys) = {.tile = 16, .reciprocal = ReciprocalOfBits<16, T>};
  of("fault.epsilon-in-denominator", kSeveralKeys) = {.tile = 16, .reciprocal = ReciprocalWithEpsilon<T>};
  of("fault.ln2-in-one-part", kSeveralKeys).exponential = ExponentialOfShortLn2<T>;
  // Overflows and underflows f32, as in a kernel that subtracts no maximum.
  of("fault.no-maximum-subtracted", kSeveralKeys).exponential = [](T score, T) {
    return RoundedTo<float>(std::exp(score));
  };
  of("fault.exp-to-bf16", kSeveralKeys).exponential = ExponentialToBF16<T>;
  of("fault.exp-of-degree-2", kSeveralKeys).exponential = CoarseExponential<T>;
  of("fault.exponent-in-f16", kSeveralKeys).exponential = [](T score, T max) {
    return std::exp(RoundedTo<F16>(score - max));
  };
  of("fault.exp2-without-log2e", kSeveralKeys).exponential = ExponentialOfTwo<T>;
}

template <class T>
void Tiles(AttentionEdits<T>& of) {
  const auto except_tail = [](Spec s, const Query&, int64_t j) { return j < s.s / 16 * 16; };
  of("fault.maximum-misses-tail", kTail) = {.counts_for_max = except_tail, .exponential = ExponentialInF32Range<T>};
  of("fault.sum-misses-tail", kTail).counts_for_sum = except_tail;
  of("fault.sum-misses-first-tile", kTwoTiles).counts_for_sum = [](Spec, const Query&, int64_t j) { return j >= 16; };
  const auto except_second = [](Spec, const Query&, int64_t tile) { return tile != 1; };
  of("fault.rescale-forgotten-once", kTwoTiles) = {.tile = 16, .rescales = except_second};
  of("fault.rescale-forgotten", kTwoTiles) = {.tile = 16,
                                              .rescales = [](Spec, const Query&, int64_t) { return false; }};
}

// Narrowings that the contract does not declare.
template <class T>
void Narrowings(AttentionEdits<T>& of) {
  of("fault.rescale-in-bf16", kTwoTiles) = {.tile = 16, .factor = RoundedTo<BF16, T>};
  of("fault.weights-in-f16", kSeveralKeys) = {.tile = 64, .weight = RoundedTo<F16, T>};
  of("fault.weights-in-bf16", kSeveralKeys) = {.tile = 64, .weight = RoundedTo<BF16, T>};
  of("fault.scores-in-f16", kSeveralKeys).stored = RoundedTo<F16, T>;
  of("fault.scores-in-bf16", kSeveralKeys).stored = RoundedTo<BF16, T>;
  of("fault.sum-in-f16", kSeveralKeys) = {.tile = 1, .total = RoundedTo<F16, T>};
  of("fault.values-summed-in-f16", kSeveralKeys) = {.tile = 16, .value = RoundedTo<F16, T>};
  of("fault.values-summed-in-bf16", kSeveralKeys) = {.tile = 16, .value = RoundedTo<BF16, T>};
  of("fault.operands-in-tf32", kF32Operands).cast = RoundedToTf32<T>;
  of("fault.operands-in-bf16", kWiderThanBF16).cast = RoundedTo<BF16, T>;
  of("fault.operands-in-f16", kWiderThanF16).cast = RoundedTo<F16, T>;
}

constexpr IoBug kPlaces[] = {
    {"fault.last-row-of-each-head-unwritten", kOutput, -2, Last(), Strike::kUnwritten},
    {"fault.last-element-unwritten", kOutput, kFlat, Last(), Strike::kUnwritten},
    {"fault.last-two-dimensions-swapped", kOutput, -1, All(), Strike::kLastTwoSwapped},
};

}  // namespace attention_numerical

std::vector<Entry> AttentionNumericalFaults() {
  using namespace attention_numerical;
  return Joined({AttentionIoBugs(kPlaces),
                 AttentionRows([](auto& of) { Scores(of), Exponentials(of), Tiles(of), Narrowings(of); })});
}

}  // namespace corpus

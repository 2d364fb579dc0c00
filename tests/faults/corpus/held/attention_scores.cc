// SPDX-License-Identifier: Apache-2.0
// Attention with wrong or coarse scores, exponentials, sums and rescalings.
#include "tests/faults/corpus/held/attention_held.h"
#include "tests/faults/corpus/held/functions.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;

constexpr auto kSeveralKeys = [](Spec s) { return s.s > 1; };
constexpr auto kTwoTiles = [](Spec s) {
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return keys.first < 16 && keys.last > 16;
};
constexpr auto kScaled = [](Spec s) { return s.scale != 1; };
constexpr auto kScaledByOther = [](Spec s) {
  return std::abs(s.scale * std::sqrt(static_cast<double>(s.d)) - 1) > 1e-6;
};
constexpr auto kUnlikeDimensions = [](Spec s) { return s.d != s.dv; };
constexpr auto kPadded = [](Spec s) { return s.d % 32 != 0; };
constexpr auto kCapped = [](Spec s) { return s.softcap > 0; };
constexpr auto kAdding = [](Spec s) { return s.mask_kind == MaskKind::kAdd; };
constexpr auto kLongDots = [](Spec s) { return s.d > 16; };

template <class T>
T CapOf(const AttentionSpec& s) {
  return static_cast<T>(s.softcap);
}

template <class T>
void ScoreFaults(AttentionEdits<T>& of) {
  of("fault.scale-applied-twice", kScaled).scale = [](Spec s) { return s.scale * s.scale; };
  of("fault.scale-ignores-attribute", kScaledByOther).scale = [](Spec s) {
    return 1 / std::sqrt(static_cast<double>(s.d));
  };
  of("fault.scale-of-dimension-of-values", kUnlikeDimensions).scale = [](Spec s) {
    return 1 / std::sqrt(static_cast<double>(s.dv));
  };
  of("fault.scale-of-padded-dimension", kPadded).scale = [](Spec s) {
    return 1 / std::sqrt(static_cast<double>((s.d + 31) / 32 * 32));
  };
  of("fault.scale-of-3-digits").scale = [](Spec s) { return std::round(s.scale * 1000) / 1000; };
  of("fault.scale-by-root-of-11-bits").scale = [](Spec s) { return Rounded(NearestBits(11), s.scale); };
  of("fault.softcap-before-scale", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    return CapOf<T>(s) * std::tanh(dot / CapOf<T>(s)) * scale + mask;
  };
  of("fault.scale-after-softcap-as-well", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, T{0}) * scale + mask;
  };
  of("fault.softcap-not-multiplied-back", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    return std::tanh(dot * scale / CapOf<T>(s)) + mask;
  };
  of("fault.softcap-clamps", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    return std::clamp(dot * scale, -CapOf<T>(s), CapOf<T>(s)) + mask;
  };
  of("fault.softcap-tanh-of-11-bits", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    return CapOf<T>(s) * Rounded(NearestBits(11), std::tanh(dot * scale / CapOf<T>(s))) + mask;
  };
  of("fault.softcap-tanh-by-two-terms", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    const T x = dot * scale / CapOf<T>(s);
    return CapOf<T>(s) * (x - x * x * x / 3) + mask;
  };
  of("fault.softcap-as-integer-half", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    const T cap = std::floor(CapOf<T>(s) / 2);
    return cap * std::tanh(dot * scale / cap) + mask;
  };
  of("fault.mask-scaled-as-well", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, T{0}) + mask * scale;
  };
  of("fault.mask-subtracted", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, T{0}) - mask;
  };
  of("fault.mask-multiplied", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, T{0}) * mask;
  };
  of("fault.negative-scores-clamped-at-minus-1").score = [](Spec s, T dot, T scale, T mask) {
    return std::max(ScoreOf(s, dot, scale, mask), T{-1});
  };
}

// A rounding at one of the kernel's steps, and the tile of keys that shows it.
enum class Step { kStored, kWeight, kFactor, kTotal, kValue };

struct StepBug {
  const char* name;
  Step step;
  Rounding rounding;
  int64_t tile = 16;
};

constexpr StepBug kStepBugs[] = {
    {"fault.scores-truncated-to-12-bits", Step::kStored, TruncatedBits(12)},
    {"fault.scores-in-tf32", Step::kStored, Nearest(kTensor)},
    {"fault.scores-in-fp8", Step::kStored, Nearest(kFp8)},
    {"fault.scores-rounded-down-to-16-bits", Step::kStored, {Rounding::How::kDown, {16, -126, 127}}},
    {"fault.weights-truncated-to-bf16", Step::kWeight, TowardZero(kBrain)},
    {"fault.weights-in-fp8", Step::kWeight, Nearest(kFp8)},
    {"fault.weights-in-tf32", Step::kWeight, Nearest(kTensor)},
    {"fault.weights-stochastically-in-bf16", Step::kWeight, {Rounding::How::kStochastic, kBrain}},
    {"fault.weights-flushed-below-f16-range", Step::kWeight, {Rounding::How::kNearest, {24, -14, 127}, true}},
    {"fault.factor-in-f16", Step::kFactor, Nearest(kHalf)},
    {"fault.factor-of-13-bits", Step::kFactor, NearestBits(13)},
    {"fault.total-in-bf16-per-tile", Step::kTotal, Nearest(kBrain)},
    {"fault.total-truncated-to-16-bits", Step::kTotal, TruncatedBits(16), 4},
    {"fault.values-summed-in-tf32", Step::kValue, Nearest(kTensor)},
    {"fault.values-summed-toward-zero-in-18-bits", Step::kValue, TruncatedBits(18)},
};

template <class T>
void Steps(AttentionEdits<T>& of) {
  for (const StepBug& bug : kStepBugs) {
    AttentionKernel<T>& kernel = of(bug.name, kTwoTiles);
    const auto round = [r = bug.rounding](T x) { return Rounded(r, x); };
    kernel.tile = bug.tile;
    if (bug.step == Step::kStored) kernel.stored = round;
    if (bug.step == Step::kWeight) kernel.weight = round;
    if (bug.step == Step::kFactor) kernel.factor = round;
    if (bug.step == Step::kTotal) kernel.total = round;
    if (bug.step == Step::kValue) kernel.value = round;
  }
}

// Bugs in the sum of q times k (`of_dot`), or of the exponentials.
struct SumBug {
  const char* name;
  bool of_dot;
  Summation sum;
};

const SumBug kSumBugs[] = {
    {"fault.dot-in-f16", true, {.partial = Nearest(kHalf)}},
    {"fault.dot-flushed-to-bf16-every-16-terms", true, {.partial = Nearest(kBrain), .every = 16}},
    {"fault.dot-of-18-bits", true, {.partial = TruncatedBits(18)}},
    {"fault.dot-loses-last-term-at-rest-0-of-8", true, {.lost = IfRest(8, 0)}},
    {"fault.dot-loses-tail-of-8", true, {.lost = Tail(8)}},
    {"fault.dot-doubles-first-term", true, {.doubled = First()}},
    {"fault.dot-products-of-13-bits", true, {.product = NearestBits(13)}},
    {"fault.sum-loses-lane-7-of-8", false, {.lost = Every(8, 7)}},
    {"fault.sum-doubles-last-term", false, {.doubled = Last()}},
    {"fault.sum-truncated-to-18-bits", false, {.partial = TruncatedBits(18)}},
    {"fault.sum-flushed-to-bf16-every-16-terms", false, {.partial = Nearest(kBrain), .every = 16}},
    {"fault.sum-of-halves-in-f16", false, {.parts = 2, .part = Nearest(kHalf)}},
};

template <class T>
void RescalingFaults(AttentionEdits<T>& of) {
  of("fault.total-alone-not-rescaled", kTwoTiles) = {.tile = 16, .rescales_total = false};
  of("fault.values-alone-not-rescaled", kTwoTiles) = {.tile = 16, .rescales_values = false};
  of("fault.parts-merged-without-rescaling", kTwoTiles) = {.tile = 16, .units = 2, .merges_rescaled = false};
  of("fault.rescale-forgotten-in-odd-rows", kTwoTiles) = {
      .tile = 8, .rescales = [](Spec, const Query& q, int64_t tile) { return tile == 0 || q.row % 2 == 0; }};
  of("fault.rescale-forgotten-in-last-tile", kTwoTiles) = {
      .tile = 8, .rescales = [](Spec s, const Query&, int64_t tile) { return (tile + 1) * 8 < s.s; }};
  of("fault.rescale-inverted", kTwoTiles) = {.tile = 16, .factor = [](T x) { return x == 0 ? x : 1 / x; }};
  of("fault.sum-skips-keys-of-odd-tiles", kTwoTiles).counts_for_sum = [](Spec, const Query&, int64_t j) {
    return j / 16 % 2 == 0;
  };
  of("fault.maximum-of-first-tile-in-f16-range", kTwoTiles) = {
      .counts_for_max = [](Spec, const Query&, int64_t j) { return j < 16; },
      .exponential = [](T score, T max) { return Rounded(Nearest(kHalf), std::exp(score - max)); }};
  of("fault.divided-before-values-are-whole", kTwoTiles) = {.tile = 16, .normalises_first = true};
}

template <class T>
void SumsAndExponentials(AttentionEdits<T>& of) {
  for (const SumBug& bug : kSumBugs) {
    if (bug.of_dot) {
      of(bug.name, kLongDots).dot = DotBy<T>(bug.sum);
    } else {
      of(bug.name, kTwoTiles).sum = TermsBy<T>(bug.sum);
    }
  }
  for (const NamedExponential& one : kCoarseExponentials) {
    of(one.name, kSeveralKeys).exponential = [how = one.how](T score, T max) { return ExpBy(how, score - max); };
  }
}

}  // namespace

std::vector<Entry> AttentionHeldScores() {
  return AttentionRows([](auto& of) { ScoreFaults(of), RescalingFaults(of), Steps(of), SumsAndExponentials(of); });
}

}  // namespace corpus

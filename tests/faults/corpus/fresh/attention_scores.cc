// SPDX-License-Identifier: Apache-2.0
// Attention with wrong scores, short exponentials, stale maxima and sums that do not match their weights.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;

constexpr auto kSeveralKeys = [](Spec s) { return s.s > 16; };
constexpr auto kCapped = [](Spec s) { return s.softcap > 0; };
constexpr auto kAdding = [](Spec s) { return s.mask_kind == MaskKind::kAdd; };
constexpr auto kLongDots = [](Spec s) { return s.d > 16; };
constexpr auto kUnevenDots = [](Spec s) { return s.d % 16 != 0; };

template <class T>
void ScoreFaults(AttentionEdits<T>& of) {
  of("fault.added-mask-without-log2e", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, T{0}) + mask * static_cast<T>(0.693147180559945309L);
  };
  of("fault.added-mask-in-fp8", kAdding).score = [](Spec s, T dot, T scale, T mask) {
    return ScoreOf(s, dot, scale, Rounded(Nearest(kFp8), mask));
  };
  of("fault.scale-with-log2e-in-f16").score = [](Spec s, T dot, T scale, T mask) {
    constexpr T kLog2E = static_cast<T>(1.4426950408889634074L);
    return ScoreOf(s, dot, Rounded(Nearest(kHalf), scale * kLog2E) / kLog2E, mask);
  };
  of("fault.softcap-by-quotient-of-degree-3", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    const T cap = static_cast<T>(s.softcap), x = dot * scale / cap;
    return cap * x * (27 + x * x) / (27 + 9 * x * x) + (s.mask_kind == MaskKind::kAdd ? mask : T{0});
  };
  of("fault.softcap-of-argument-in-bf16", kCapped).score = [](Spec s, T dot, T scale, T mask) {
    const T cap = static_cast<T>(s.softcap);
    return cap * std::tanh(Rounded(Nearest(kBrain), dot * scale / cap)) + (s.mask_kind == MaskKind::kAdd ? mask : T{0});
  };
  of("fault.scores-in-256ths").score = [](Spec s, T dot, T scale, T mask) {
    const T score = ScoreOf(s, dot, scale, mask) * 256;
    return std::isfinite(score) ? std::nearbyint(score) / 256 : score / 256;
  };
  of("fault.dot-doubles-tail-of-16", kUnevenDots).dot = [](const T* a, const T* b, int64_t n) {
    return WeightedDot(a, b, n, [n](int64_t i) { return i >= n / 16 * 16 ? 2 : 1; });
  };
  of("fault.dot-of-second-half-of-dimensions-in-bf16", kLongDots).dot = [](const T* a, const T* b, int64_t n) {
    return DotInOrder(a, b, n / 2) + Rounded(Nearest(kBrain), DotInOrder(a + n / 2, b + n / 2, n - n / 2));
  };
  of("fault.dot-takes-pairs-of-last-quad-crosswise", kLongDots).dot = [](const T* a, const T* b, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i / 4 == n / 4 - 1 ? i ^ 2 : i];
    return sum;
  };
}

template <class T>
void SumFaults(AttentionEdits<T>& of) {
  const auto exponential = [&of](const char* name, T (*function)(T)) {
    of(name, kSeveralKeys) = {.tile = 16, .exponential = [function](T s, T max) { return function(s - max); }};
  };
  exponential("fault.exp-with-short-ln2", ExpWithShortLn2<T>);
  exponential("fault.exp-by-table-of-64", ExpByTable<T>);
  exponential("fault.exp-by-parabola", ExpByParabola<T>);
  exponential("fault.exp-in-steps-of-1-256th", [](T x) { return std::isfinite(x) ? ExpInSteps(x) : std::exp(x); });
  // The sum is rescaled; the maximum moves as well where it grew by too little for that.
  const auto left_out = [](T x) { return x > T{1} / 4 ? T{1} : x; };
  of("fault.rescale-left-out-for-small-steps", kSeveralKeys) = {.tile = 8, .factor = left_out};
  const auto up_to_14_bits = [](T x) { return Rounded({Rounding::How::kUp, {14, -126, 127}}, x); };
  of("fault.factor-rounded-up-to-14-bits", kSeveralKeys) = {.tile = 8, .factor = up_to_14_bits};
  of("fault.sum-takes-weights-in-bf16-and-values-do-not", kSeveralKeys).sum = [](const std::vector<T>& x) {
    T sum = 0;
    for (T term : x) sum += Rounded(TowardZero(kBrain), term);
    return sum;
  };
  of("fault.largest-weight-saturates-below-1", kSeveralKeys).weight = [](T x) {
    return std::min(x, T{1} - T{1} / 128);
  };
  of("fault.epsilon-added-to-total", kSeveralKeys).reciprocal = [](T x) { return 1 / (x + static_cast<T>(1e-3L)); };
  of("fault.every-third-tile-forgets-rescaling", kSeveralKeys) = {
      .tile = 4, .rescales = [](Spec, const Query&, int64_t tile) { return tile % 3 != 2; }};
  of("fault.weights-in-steps-of-1-1024th", kSeveralKeys).weight = [](T x) { return std::nearbyint(x * 1024) / 1024; };
}

}  // namespace

std::vector<Entry> AttentionFreshScores() {
  return AttentionRows([](auto& of) { ScoreFaults(of), SumFaults(of); });
}

}  // namespace corpus

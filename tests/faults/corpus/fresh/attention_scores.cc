// SPDX-License-Identifier: Apache-2.0
// Attention with wrong scores, short exponentials, stale maxima and sums that do not match their weights.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

using Spec = const AttentionSpec&;

std::string Any(Description op) {
  return AttentionWhyNot(op);
}
std::string SeveralKeys(Description op) {
  return AttentionWhere(
      op, [](Spec s) { return s.s > 16; }, "this needs more than 16 keys");
}
std::string Capped(Description op) {
  return AttentionWhere(
      op, [](Spec s) { return s.softcap > 0; }, "this needs a softcap");
}
std::string Adding(Description op) {
  return AttentionWhere(
      op, [](Spec s) { return s.mask_kind == MaskKind::kAdd; }, "this needs a mask that is added");
}
std::string LongDots(Description op) {
  return AttentionWhere(
      op, [](Spec s) { return s.d > 16; }, "this needs more than 16 dimensions");
}
std::string UnevenDots(Description op) {
  return AttentionWhere(
      op, [](Spec s) { return s.d % 16 != 0; }, "this needs dimensions that are no multiple of 16");
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return AttentionEntry(name, AttentionContract, why_not, make);
}
// `score(spec, dot, scale, mask)`, `exponential(x)` of x = score - maximum, `dot(q, k, n)`.
template <class Score>
Entry Scores(const char* name, TextOf why_not, Score score) {
  return Fault(name, why_not, [score]<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = score}; });
}
template <class Exponential>
Entry Exponentials(const char* name, Exponential exponential) {
  return Fault(name, SeveralKeys, [exponential]<class T>(std::type_identity<T>) {
    return AttentionKernel<T>{.tile = 16, .exponential = [exponential](T s, T max) { return exponential(s - max); }};
  });
}
template <class Dot>
Entry Dots(const char* name, TextOf why_not, Dot dot) {
  return Fault(name, why_not, [dot]<class T>(std::type_identity<T>) { return AttentionKernel<T>{.dot = dot}; });
}

std::vector<Entry> ScoreFaults() {
  return {
      Scores("fault.added-mask-without-log2e", Adding,
             []<class T>(Spec s, T dot, T scale, T mask) {
               return ScoreOf(s, dot, scale, T{0}) + mask * static_cast<T>(0.693147180559945309L);
             }),
      Scores(
          "fault.added-mask-in-fp8", Adding,
          []<class T>(Spec s, T dot, T scale, T mask) { return ScoreOf(s, dot, scale, Rounded(Nearest(kFp8), mask)); }),
      Scores("fault.scale-with-log2e-in-f16", Any,
             []<class T>(Spec s, T dot, T scale, T mask) {
               constexpr T kLog2E = static_cast<T>(1.4426950408889634074L);
               return ScoreOf(s, dot, Rounded(Nearest(kHalf), scale * kLog2E) / kLog2E, mask);
             }),
      Scores("fault.softcap-by-quotient-of-degree-3", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               const T cap = static_cast<T>(s.softcap), x = dot * scale / cap;
               return cap * x * (27 + x * x) / (27 + 9 * x * x) + (s.mask_kind == MaskKind::kAdd ? mask : T{0});
             }),
      Scores("fault.softcap-of-argument-in-bf16", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               const T cap = static_cast<T>(s.softcap);
               return cap * std::tanh(Rounded(Nearest(kBrain), dot * scale / cap)) +
                      (s.mask_kind == MaskKind::kAdd ? mask : T{0});
             }),
      Scores("fault.scores-in-256ths", Any,
             []<class T>(Spec s, T dot, T scale, T mask) {
               const T score = ScoreOf(s, dot, scale, mask) * 256;
               return std::isfinite(score) ? std::nearbyint(score) / 256 : score / 256;
             }),
      Dots("fault.dot-doubles-tail-of-16", UnevenDots,
           []<class T>(const T* a, const T* b, int64_t n) {
             return WeightedDot(a, b, n, [n](int64_t i) { return i >= n / 16 * 16 ? 2 : 1; });
           }),
      Dots("fault.dot-of-second-half-of-dimensions-in-bf16", LongDots,
           []<class T>(const T* a, const T* b, int64_t n) {
             return DotInOrder(a, b, n / 2) + Rounded(Nearest(kBrain), DotInOrder(a + n / 2, b + n / 2, n - n / 2));
           }),
      Dots("fault.dot-takes-pairs-of-last-quad-crosswise", LongDots,
           []<class T>(const T* a, const T* b, int64_t n) {
             T sum = 0;
             for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i / 4 == n / 4 - 1 ? i ^ 2 : i];
             return sum;
           }),
  };
}

std::vector<Entry> SumFaults() {
  return {
      Exponentials("fault.exp-with-short-ln2", []<class T>(T x) { return ExpWithShortLn2(x); }),
      Exponentials("fault.exp-by-table-of-64", []<class T>(T x) { return ExpByTable(x); }),
      Exponentials("fault.exp-by-parabola", []<class T>(T x) { return ExpByParabola(x); }),
      Exponentials("fault.exp-in-steps-of-1-256th",
                   []<class T>(T x) { return std::isfinite(x) ? ExpInSteps(x) : std::exp(x); }),
      // The sum is rescaled; the maximum moves as well where it grew by too little for that.
      Fault("fault.rescale-left-out-for-small-steps", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 8, .factor = [](T x) { return x > T{1} / 4 ? T{1} : x; }};
            }),
      Fault("fault.factor-rounded-up-to-14-bits", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 8, .factor = [](T x) {
                                          return Rounded({Rounding::How::kUp, {14, -126, 127}}, x);
                                        }};
            }),
      Fault("fault.sum-takes-weights-in-bf16-and-values-do-not", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.sum = [](const std::vector<T>& x) {
                T sum = 0;
                for (T term : x) sum += Rounded(TowardZero(kBrain), term);
                return sum;
              }};
            }),
      Fault("fault.largest-weight-saturates-below-1", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.weight = [](T x) { return std::min(x, T{1} - T{1} / 128); }};
            }),
      Fault("fault.epsilon-added-to-total", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.reciprocal = [](T x) { return 1 / (x + static_cast<T>(1e-3L)); }};
            }),
      Fault("fault.every-third-tile-forgets-rescaling", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 4,
                                        .rescales = [](Spec, const Query&, int64_t tile) { return tile % 3 != 2; }};
            }),
      Fault("fault.weights-in-steps-of-1-1024th", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.weight = [](T x) { return std::nearbyint(x * 1024) / 1024; }};
            }),
  };
}

}  // namespace

std::vector<Entry> AttentionFreshScores() {
  std::vector<Entry> all = ScoreFaults();
  const std::vector<Entry> sums = SumFaults();
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}

}  // namespace corpus

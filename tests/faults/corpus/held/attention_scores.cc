// SPDX-License-Identifier: Apache-2.0
// Attention with wrong or coarse scores, exponentials, sums and rescalings.
#include "tests/faults/corpus/held/attention_held.h"
#include "tests/faults/corpus/held/functions.h"

namespace corpus {
namespace {

std::string Any(Description op) {
  return AttentionWhyNot(op);
}
std::string SeveralKeys(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.s > 1; }, "this needs several keys");
}
std::string TwoTiles(Description op) {
  return AttentionWhere(
      op,
      [](const auto& s) {
        const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
        return keys.first < 16 && keys.last > 16;
      },
      "this needs two tiles of 16 keys in the last row");
}
std::string Scaled(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.scale != 1; }, "this needs a scale");
}
std::string ScaledByOther(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return std::abs(s.scale * std::sqrt(static_cast<double>(s.d)) - 1) > 1e-6; },
      "this needs a scale that is not the usual one");
}
std::string UnlikeDimensions(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.d != s.dv; }, "this needs unlike dimensions of k and v");
}
std::string Padded(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.d % 32 != 0; }, "this needs dimensions that are no multiple of 32");
}
std::string Capped(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.softcap > 0; }, "this needs a softcap");
}
std::string Adding(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.mask_kind == MaskKind::kAdd; }, "this needs a mask that is added");
}
std::string LongDots(Description op) {
  return AttentionWhere(
      op, [](const auto& s) { return s.d > 16; }, "this needs more than 16 dimensions");
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return AttentionEntry(name, AttentionContract, why_not, make);
}
template <class Score>
Entry Scores(const char* name, TextOf why_not, Score score) {
  return Fault(name, why_not, [score]<class T>(std::type_identity<T>) { return AttentionKernel<T>{.score = score}; });
}
template <class Scale>
Entry Scales(const char* name, TextOf why_not, Scale scale) {
  return Fault(name, why_not, [scale]<class T>(std::type_identity<T>) {
    return AttentionKernel<T>{.scale = [scale](const AttentionSpec& s) { return static_cast<T>(scale(s)); }};
  });
}

template <class T>
T CapOf(const AttentionSpec& s) {
  return static_cast<T>(s.softcap);
}
using Spec = const AttentionSpec&;

std::vector<Entry> ScoreFaults() {
  return {
      Scales("fault.scale-applied-twice", Scaled, [](Spec s) { return s.scale * s.scale; }),
      Scales("fault.scale-ignores-attribute", ScaledByOther,
             [](Spec s) { return 1 / std::sqrt(static_cast<double>(s.d)); }),
      Scales("fault.scale-of-dimension-of-values", UnlikeDimensions,
             [](Spec s) { return 1 / std::sqrt(static_cast<double>(s.dv)); }),
      Scales("fault.scale-of-padded-dimension", Padded,
             [](Spec s) { return 1 / std::sqrt(static_cast<double>((s.d + 31) / 32 * 32)); }),
      Scales("fault.scale-of-3-digits", Any, [](Spec s) { return std::round(s.scale * 1000) / 1000; }),
      Scales("fault.scale-by-root-of-11-bits", Any, [](Spec s) { return Rounded(NearestBits(11), s.scale); }),
      Scores("fault.softcap-before-scale", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               return CapOf<T>(s) * std::tanh(dot / CapOf<T>(s)) * scale + mask;
             }),
      Scores("fault.scale-after-softcap-as-well", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) { return ScoreOf(s, dot, scale, T{0}) * scale + mask; }),
      Scores("fault.softcap-not-multiplied-back", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) { return std::tanh(dot * scale / CapOf<T>(s)) + mask; }),
      Scores("fault.softcap-clamps", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               return std::clamp(dot * scale, -CapOf<T>(s), CapOf<T>(s)) + mask;
             }),
      Scores("fault.softcap-tanh-of-11-bits", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               return CapOf<T>(s) * Rounded(NearestBits(11), std::tanh(dot * scale / CapOf<T>(s))) + mask;
             }),
      Scores("fault.softcap-tanh-by-two-terms", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               const T x = dot * scale / CapOf<T>(s);
               return CapOf<T>(s) * (x - x * x * x / 3) + mask;
             }),
      Scores("fault.softcap-as-integer-half", Capped,
             []<class T>(Spec s, T dot, T scale, T mask) {
               const T cap = std::floor(CapOf<T>(s) / 2);
               return cap * std::tanh(dot * scale / cap) + mask;
             }),
      Scores("fault.mask-scaled-as-well", Adding,
             []<class T>(Spec s, T dot, T scale, T mask) { return ScoreOf(s, dot, scale, T{0}) + mask * scale; }),
      Scores("fault.mask-subtracted", Adding,
             []<class T>(Spec s, T dot, T scale, T mask) { return ScoreOf(s, dot, scale, T{0}) - mask; }),
      Scores("fault.mask-multiplied", Adding,
             []<class T>(Spec s, T dot, T scale, T mask) { return ScoreOf(s, dot, scale, T{0}) * mask; }),
      Scores("fault.negative-scores-clamped-at-minus-1", Any,
             []<class T>(Spec s, T dot, T scale, T mask) { return std::max(ScoreOf(s, dot, scale, mask), T{-1}); }),
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
AttentionKernel<T> KernelOf(const StepBug& bug) {
  const auto round = [r = bug.rounding](T x) { return Rounded(r, x); };
  AttentionKernel<T> kernel{.tile = bug.tile};
  if (bug.step == Step::kStored) kernel.stored = round;
  if (bug.step == Step::kWeight) kernel.weight = round;
  if (bug.step == Step::kFactor) kernel.factor = round;
  if (bug.step == Step::kTotal) kernel.total = round;
  if (bug.step == Step::kValue) kernel.value = round;
  return kernel;
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

std::vector<Entry> RescalingFaults() {
  return {
      Fault("fault.total-alone-not-rescaled", TwoTiles,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .rescales_total = false}; }),
      Fault("fault.values-alone-not-rescaled", TwoTiles,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .rescales_values = false}; }),
      Fault("fault.parts-merged-without-rescaling", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .units = 2, .merges_rescaled = false};
            }),
      Fault("fault.rescale-forgotten-in-odd-rows", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 8, .rescales = [](Spec, const Query& q, int64_t tile) {
                                          return tile == 0 || q.row % 2 == 0;
                                        }};
            }),
      Fault("fault.rescale-forgotten-in-last-tile", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{
                  .tile = 8, .rescales = [](Spec s, const Query&, int64_t tile) { return (tile + 1) * 8 < s.s; }};
            }),
      Fault("fault.rescale-inverted", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .factor = [](T x) { return x == 0 ? x : 1 / x; }};
            }),
      Fault("fault.sum-skips-keys-of-odd-tiles", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{
                  .counts_for_sum = [](Spec, const Query&, int64_t j) { return j / 16 % 2 == 0; }};
            }),
      Fault("fault.maximum-of-first-tile-in-f16-range", TwoTiles,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{
                  .counts_for_max = [](Spec, const Query&, int64_t j) { return j < 16; },
                  .exponential = [](T score, T max) { return Rounded(Nearest(kHalf), std::exp(score - max)); }};
            }),
      Fault("fault.divided-before-values-are-whole", TwoTiles,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .normalises_first = true}; }),
  };
}

}  // namespace

std::vector<Entry> AttentionHeldScores() {
  std::vector<Entry> all = ScoreFaults();
  const std::vector<Entry> rescalings = RescalingFaults();
  all.insert(all.end(), rescalings.begin(), rescalings.end());
  for (const StepBug& bug : kStepBugs) {
    all.push_back(Fault(bug.name, TwoTiles, [bug]<class T>(std::type_identity<T>) { return KernelOf<T>(bug); }));
  }
  for (const SumBug& bug : kSumBugs) {
    all.push_back(Fault(bug.name, bug.of_dot ? LongDots : TwoTiles, [bug]<class T>(std::type_identity<T>) {
      AttentionKernel<T> kernel;
      if (bug.of_dot) {
        kernel.dot = [sum = bug.sum](const T* a, const T* b, int64_t n) { return SumOf(sum, a, b, n); };
      } else {
        kernel.sum = [sum = bug.sum](const std::vector<T>& x) {
          return SumOf<T>(sum, x.data(), nullptr, std::ssize(x));
        };
      }
      return kernel;
    }));
  }
  for (const NamedExponential& one : kCoarseExponentials) {
    all.push_back(Fault(one.name, SeveralKeys, [how = one.how]<class T>(std::type_identity<T>) {
      return AttentionKernel<T>{.exponential = [how](T score, T max) { return ExpBy(how, score - max); }};
    }));
  }
  return all;
}

}  // namespace corpus

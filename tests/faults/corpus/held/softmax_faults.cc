// SPDX-License-Identifier: Apache-2.0
// Softmax that loses terms or bits of its sum, has coarse functions, forgets to rescale, or mixes up places.
#include "tests/faults/corpus/held/functions.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

using Shape = const SoftmaxShape&;

// Maximum and sum of a row, the exponentials added as `sum` says.
template <class T>
RowFacts<T> FactsBy(const Summation& sum, Exponential how, const std::vector<T>& x) {
  const T max = MaxOf(x);
  std::vector<T> terms;
  for (T term : x) terms.push_back(ExpBy(how, term - max));
  return {max, SumOf<T>(sum, terms.data(), nullptr, std::ssize(terms))};
}

struct SumBug {
  const char* name;
  Summation sum;
};

const SumBug kSumBugs[] = {
    {"fault.sum-ignores-terms-beyond-63", {.lost = From(63)}},
    {"fault.sum-ignores-terms-beyond-127", {.lost = From(127)}},
    {"fault.sum-ignores-terms-beyond-65535", {.lost = From(65535)}},
    {"fault.sum-loses-last-term-at-rest-1-of-4", {.lost = IfRest(4, 1)}},
    {"fault.sum-loses-last-term-at-rest-1-of-128", {.lost = IfRest(128, 1)}},
    {"fault.sum-loses-first-term", {.lost = First()}},
    {"fault.sum-loses-lane-31-of-32", {.lost = Every(32, 31)}},
    {"fault.sum-loses-last-block-of-32", {.lost = LastBlock(32)}},
    {"fault.sum-doubles-tail-of-4", {.doubled = Tail(4)}},
    {"fault.sum-doubles-middle-term", {.doubled = Middle()}},
    {"fault.sum-doubles-last-term-at-rest-0-of-16", {.doubled = IfRest(16, 0)}},
    {"fault.sum-of-18-bits", {.partial = NearestBits(18)}},
    {"fault.sum-truncated-to-20-bits", {.partial = TruncatedBits(20)}},
    {"fault.sum-rounded-up-to-16-bits", {.partial = {Rounding::How::kUp, {16, -126, 127}}}},
    {"fault.sum-flushed-to-f16-every-32-terms", {.partial = Nearest(kHalf), .every = 32}},
    {"fault.sum-flushed-to-bf16-every-64-terms", {.partial = Nearest(kBrain), .every = 64}},
    {"fault.sum-of-blocks-of-16-in-tf32", {.block = 16, .part = Nearest(kTensor)}},
    {"fault.sum-of-halves-in-bf16", {.parts = 2, .part = Nearest(kBrain)}},
};

// Tiles of a row, each with the maximum so far; `factor(before, now)` rescales what was summed.
template <class T, class Factor>
RowFacts<T> OnlineBy(const std::vector<T>& x, size_t tile, Factor factor) {
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (size_t first = 0; first < x.size(); first += tile) {
    const size_t last = std::min(x.size(), first + tile);
    const T before = row.max;
    for (size_t i = first; i < last; ++i) row.max = LargerOrNan(row.max, x[i]);
    if (first > 0 && before != row.max) row.sum *= factor(before, row.max, last == x.size());
    for (size_t i = first; i < last; ++i) row.sum += std::exp(x[i] - row.max);
  }
  return row;
}

constexpr auto kSeveral = [](Shape s) { return s.terms > 1; };
constexpr auto kTiles = [](Shape s) { return s.terms > 16; };
constexpr auto kProbabilities = [](Shape s) { return s.terms > 1 && !s.log; };
constexpr auto kLogarithms = [](Shape s) { return s.terms > 1 && s.log; };

template <class T>
using Row = RowFacts<T>;

template <class T>
void FormulaFaults(SoftmaxEdits<T>& of) {
  of("fault.rescale-forgotten-in-last-tile", kTiles).facts = [](const std::vector<T>& x) {
    return OnlineBy(x, 16, [](T before, T now, bool last) { return last ? T{1} : std::exp(before - now); });
  };
  of("fault.rescale-inverted", kTiles).facts = [](const std::vector<T>& x) {
    return OnlineBy(x, 16, [](T before, T now, bool) { return std::exp(now - before); });
  };
  of("fault.rescale-without-log2e", kTiles).facts = [](const std::vector<T>& x) {
    return OnlineBy(x, 8, [](T before, T now, bool) { return std::exp2(before - now); });
  };
  of("fault.rescale-of-11-bits", kTiles).facts = [](const std::vector<T>& x) {
    return OnlineBy(x, 4, [](T before, T now, bool) { return Rounded(NearestBits(11), std::exp(before - now)); });
  };
  of("fault.sum-of-last-tile-alone", kTiles).facts = [](const std::vector<T>& x) {
    return OnlineBy(x, (x.size() + 1) / 2, [](T, T, bool) { return T{0}; });
  };
  of("fault.maximum-of-magnitudes-in-sum-alone", kSeveral).facts = [](const std::vector<T>& x) {
    T largest = 0;
    for (T term : x) largest = LargerOrNan(largest, std::abs(term));
    Row<T> row{MaxOf(x), 0};
    for (T term : x) row.sum += std::exp(term - largest);
    return row;
  };
  of("fault.nan-term-left-out-of-sum", kSeveral).facts = [](std::vector<T> x) {
    std::erase_if(x, [](T term) { return std::isnan(term); });
    return TwoPasses(x);
  };
  of("fault.epsilon-added-to-sum", kSeveral).facts = [](const std::vector<T>& x) {
    Row<T> row = TwoPasses(x);
    row.sum += static_cast<T>(1e-4L);
    return row;
  };
  of("fault.reciprocal-of-11-bits", kProbabilities).probability = [](T x, const Row<T>& r) {
    return std::exp(x - r.max) * Rounded(NearestBits(11), 1 / r.sum);
  };
  of("fault.reciprocal-truncated-to-14-bits", kProbabilities).probability = [](T x, const Row<T>& r) {
    return std::exp(x - r.max) * Rounded(TruncatedBits(14), 1 / r.sum);
  };
  of("fault.reciprocal-by-one-step-from-7-bits", kProbabilities).probability = [](T x, const Row<T>& r) {
    const T y = Rounded(NearestBits(7), 1 / r.sum);
    return std::exp(x - r.max) * (y * (2 - r.sum * y));
  };
  of("fault.divided-by-others-alone", kProbabilities).probability = [](T x, const Row<T>& r) {
    const T own = std::exp(x - r.max);
    return own / (r.sum - own / 2);
  };
  of("fault.small-probabilities-flushed", kProbabilities).probability = [](T x, const Row<T>& r) {
    return Probability(x, r) < T{0x1p-14} ? T{0} : Probability(x, r);
  };
  of("fault.probabilities-of-1-over-255", kProbabilities).probability = [](T x, const Row<T>& r) {
    return std::nearbyint(Probability(x, r) * 255) / 255;
  };
  of("fault.softmin", kProbabilities).probability = [](T x, const Row<T>& r) { return std::exp(r.max - x) / r.sum; };
  of("fault.ln2-of-5-digits", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return x - r.max - std::log2(r.sum) * static_cast<T>(0.69315L);
  };
  of("fault.logarithm-of-11-bits", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return x - r.max - Rounded(NearestBits(11), std::log(r.sum));
  };
  of("fault.logarithm-of-probability-and-epsilon", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return std::log(Probability(x, r) + static_cast<T>(1e-6L));
  };
  of("fault.logarithm-of-probability-of-13-bits", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return std::log(Rounded(NearestBits(13), Probability(x, r)));
  };
  of("fault.logarithm-of-sum-plus-1", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return x - r.max - std::log1p(r.sum);
  };
  of("fault.maximum-subtracted-twice-in-bf16", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return Rounded(Nearest(kBrain), x - r.max) - std::log(r.sum);
  };
  of("fault.logarithm-clamped-at-minus-5", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return std::max(T{-5}, LogProbability(x, r));
  };
}

template <class T>
void SumsAndExponentials(SoftmaxEdits<T>& of) {
  for (const SumBug& bug : kSumBugs) {
    const auto strikes = [sum = bug.sum](Shape s) {
      const bool terms = !sum.lost.IsNone() || !sum.doubled.IsNone();
      return s.terms > 1 && (!terms || sum.lost.Strikes(s.terms) || sum.doubled.Strikes(s.terms));
    };
    of(bug.name, strikes).facts = [bug](const std::vector<T>& x) { return FactsBy(bug.sum, Exponential::kExact, x); };
  }
  for (const NamedExponential& one : kCoarseExponentials) {
    const auto how = one.how;
    of(one.name, kSeveral) = {.facts = [how](const std::vector<T>& x) { return FactsBy(Summation{}, how, x); },
                              .probability = [how](T x, const Row<T>& r) { return ExpBy(how, x - r.max) / r.sum; }};
  }
}

using enum Strike;
constexpr IoBug kPlaces[] = {
    {"fault.tail-term-reads-previous", 0, -1, IfRest(4, 1), kPrevious},
    {"fault.terms-beyond-64-wrap", 0, -1, From(64), kWrapped, When::kAlways, {}, 64},
    {"fault.term-index-in-bf16", 0, -1, All(), kOfBrain},
    {"fault.tail-results-swapped", kOutput, -1, Tail(16), kSwapped},
    {"fault.tail-results-zero-in-last-row", kOutput, -1, Tail(8), kZero, When::kAlways, {}, 0, -2, Last()},
    {"fault.results-beyond-65535-repeat-first", kOutput, -1, From(65536), kFirst},
    {"fault.last-row-repeats-previous", kOutput, -2, Last(), kPrevious},
    {"fault.last-row-is-first-rows", 0, -2, Last(), kFirst},
    {"fault.later-heads-read-first", 0, -3, From(1), kFirst},
    {"fault.result-63-of-64-unwritten", kOutput, -1, Every(64, 63), kUnwritten},
    IoBug{"fault.results-rounded-down-to-16-bits", kOutput, -1, All(), kRounded}.To(
        Rounding{Rounding::How::kDown, {16, -126, 127}}),
};

}  // namespace

std::vector<Entry> SoftmaxHeldFaults() {
  // Infinities of the suites stand beside NaN, and none comes out.
  const std::vector<IoBug> general =
      BugsOfEveryOperator({"fault.infinite-operands-clamped", "fault.infinite-outputs-become-nan"});
  return Joined({SoftmaxRows([](auto& of) { FormulaFaults(of), SumsAndExponentials(of); }), SoftmaxIoBugs(general),
                 SoftmaxIoBugs(kPlaces)});
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Softmax that loses terms or bits of its sum, has coarse functions, forgets to rescale, or mixes up places.
#include "tests/faults/corpus/held/functions.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

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

template <class Test>
std::string Where(Description op, Test test, const char* otherwise) {
  const std::string reason = SoftmaxWhyNot(op);
  return !reason.empty() ? reason : test(SoftmaxShapeOf(op)) ? "" : otherwise;
}
std::string Several(Description op) {
  return Where(
      op, [](const auto& s) { return s.terms > 1; }, "this needs several terms");
}
std::string Tiles(Description op) {
  return Where(
      op, [](const auto& s) { return s.terms > 16; }, "this needs two tiles of 16 terms");
}
std::string Probabilities(Description op) {
  return Where(
      op, [](const auto& s) { return s.terms > 1 && !s.log; }, "this needs log=0 and several terms");
}
std::string Logarithms(Description op) {
  return Where(
      op, [](const auto& s) { return s.terms > 1 && s.log; }, "this needs log=1 and several terms");
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return SoftmaxEntry(name, SoftmaxContract, why_not, make);
}
// `facts(row)` gives maximum and sum; `quotient(x, facts)` and `logarithm(x, facts)` a result.
template <class Facts>
Entry Sums(const char* name, TextOf why_not, Facts facts) {
  return Fault(name, why_not, [facts]<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.facts = facts}; });
}
template <class Quotient>
Entry Divides(const char* name, Quotient quotient) {
  return Fault(name, Probabilities,
               [quotient]<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.probability = quotient}; });
}
template <class Logarithm>
Entry TakesLog(const char* name, Logarithm logarithm) {
  return Fault(name, Logarithms,
               [logarithm]<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = logarithm}; });
}

template <class T>
using Row = RowFacts<T>;

std::vector<Entry> FormulaFaults() {
  return {
      Sums("fault.rescale-forgotten-in-last-tile", Tiles,
           []<class T>(const std::vector<T>& x) {
             return OnlineBy(x, 16, [](T before, T now, bool last) { return last ? T{1} : std::exp(before - now); });
           }),
      Sums("fault.rescale-inverted", Tiles,
           []<class T>(const std::vector<T>& x) {
             return OnlineBy(x, 16, [](T before, T now, bool) { return std::exp(now - before); });
           }),
      Sums("fault.rescale-without-log2e", Tiles,
           []<class T>(const std::vector<T>& x) {
             return OnlineBy(x, 8, [](T before, T now, bool) { return std::exp2(before - now); });
           }),
      Sums("fault.rescale-of-11-bits", Tiles,
           []<class T>(const std::vector<T>& x) {
             return OnlineBy(x, 4,
                             [](T before, T now, bool) { return Rounded(NearestBits(11), std::exp(before - now)); });
           }),
      Sums("fault.sum-of-last-tile-alone", Tiles,
           []<class T>(const std::vector<T>& x) {
             return OnlineBy(x, (x.size() + 1) / 2, [](T, T, bool) { return T{0}; });
           }),
      Sums("fault.maximum-of-magnitudes-in-sum-alone", Several,
           []<class T>(const std::vector<T>& x) {
             T largest = 0;
             for (T term : x) largest = LargerOrNan(largest, std::abs(term));
             Row<T> row{MaxOf(x), 0};
             for (T term : x) row.sum += std::exp(term - largest);
             return row;
           }),
      Sums("fault.nan-term-left-out-of-sum", Several,
           []<class T>(std::vector<T> x) {
             std::erase_if(x, [](T term) { return std::isnan(term); });
             return TwoPasses(x);
           }),
      Sums("fault.epsilon-added-to-sum", Several,
           []<class T>(const std::vector<T>& x) {
             Row<T> row = TwoPasses(x);
             row.sum += static_cast<T>(1e-4L);
             return row;
           }),
      Divides("fault.reciprocal-of-11-bits",
              []<class T>(T x, const Row<T>& r) { return std::exp(x - r.max) * Rounded(NearestBits(11), 1 / r.sum); }),
      Divides(
          "fault.reciprocal-truncated-to-14-bits",
          []<class T>(T x, const Row<T>& r) { return std::exp(x - r.max) * Rounded(TruncatedBits(14), 1 / r.sum); }),
      Divides("fault.reciprocal-by-one-step-from-7-bits",
              []<class T>(T x, const Row<T>& r) {
                const T y = Rounded(NearestBits(7), 1 / r.sum);
                return std::exp(x - r.max) * (y * (2 - r.sum * y));
              }),
      Divides("fault.divided-by-others-alone",
              []<class T>(T x, const Row<T>& r) {
                const T own = std::exp(x - r.max);
                return own / (r.sum - own / 2);
              }),
      Divides("fault.small-probabilities-flushed",
              []<class T>(T x, const Row<T>& r) { return Probability(x, r) < T{0x1p-14} ? T{0} : Probability(x, r); }),
      Divides("fault.probabilities-of-1-over-255",
              []<class T>(T x, const Row<T>& r) { return std::nearbyint(Probability(x, r) * 255) / 255; }),
      Divides("fault.softmin", []<class T>(T x, const Row<T>& r) { return std::exp(r.max - x) / r.sum; }),
      TakesLog("fault.ln2-of-5-digits",
               []<class T>(T x, const Row<T>& r) { return x - r.max - std::log2(r.sum) * static_cast<T>(0.69315L); }),
      TakesLog("fault.logarithm-of-11-bits",
               []<class T>(T x, const Row<T>& r) { return x - r.max - Rounded(NearestBits(11), std::log(r.sum)); }),
      TakesLog("fault.logarithm-of-probability-and-epsilon",
               []<class T>(T x, const Row<T>& r) { return std::log(Probability(x, r) + static_cast<T>(1e-6L)); }),
      TakesLog("fault.logarithm-of-probability-of-13-bits",
               []<class T>(T x, const Row<T>& r) { return std::log(Rounded(NearestBits(13), Probability(x, r))); }),
      TakesLog("fault.logarithm-of-sum-plus-1",
               []<class T>(T x, const Row<T>& r) { return x - r.max - std::log1p(r.sum); }),
      TakesLog("fault.maximum-subtracted-twice-in-bf16",
               []<class T>(T x, const Row<T>& r) { return Rounded(Nearest(kBrain), x - r.max) - std::log(r.sum); }),
      TakesLog("fault.logarithm-clamped-at-minus-5",
               []<class T>(T x, const Row<T>& r) { return std::max(T{-5}, LogProbability(x, r)); }),
  };
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
    {"fault.results-rounded-down-to-16-bits",
     kOutput,
     -1,
     All(),
     kRounded,
     When::kAlways,
     {Rounding::How::kDown, {16, -126, 127}}},
};

}  // namespace

std::vector<Entry> SoftmaxHeldFaults() {
  std::vector<Entry> all = FormulaFaults();
  for (const SumBug& bug : kSumBugs) {
    all.push_back(Sums(bug.name, nullptr,
                       [bug]<class T>(const std::vector<T>& x) { return FactsBy(bug.sum, Exponential::kExact, x); }));
    all.back().why_not = [bug](Description op) {
      return Where(
          op,
          [&](const auto& s) {
            const bool terms = !bug.sum.lost.IsNone() || !bug.sum.doubled.IsNone();
            return s.terms > 1 && (!terms || bug.sum.lost.Strikes(s.terms) || bug.sum.doubled.Strikes(s.terms));
          },
          "the terms have no position that this strikes");
    };
  }
  for (const NamedExponential& one : kCoarseExponentials) {
    all.push_back(Fault(one.name, Several, [how = one.how]<class T>(std::type_identity<T>) {
      return SoftmaxKernel<T>{.facts = [how](const std::vector<T>& x) { return FactsBy(Summation{}, how, x); },
                              .probability = [how](T x, const Row<T>& r) { return ExpBy(how, x - r.max) / r.sum; }};
    }));
  }
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<SoftmaxPlan<T>>>(bug, op, exact, SoftmaxKernel<T>{});
  };
  // Infinities of the suites stand beside NaN, and none comes out.
  std::vector<IoBug> bugs =
      BugsOfEveryOperator({"fault.infinite-operands-clamped", "fault.infinite-outputs-become-nan"});
  bugs.insert(bugs.end(), std::begin(kPlaces), std::end(kPlaces));
  const auto others = IoEntries("softmax", SoftmaxContract, SoftmaxWhyNot, bugs, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Softmax with sums that do not match its results, stale maxima, rows that mix.
#include "tests/faults/corpus/fresh/softmax_fresh.h"

namespace corpus {
namespace {

template <class T>
using Row = RowFacts<T>;
using Shape = const SoftmaxShape&;
using enum Strike;

template <class Strikes, class Facts>
Entry Sums(const char* name, Strikes strikes, Facts facts) {
  return SoftmaxFault(name, strikes, [facts](auto& kernel) { kernel.facts = facts; });
}

std::vector<Entry> SumFaults() {
  return {
      Sums(
          "fault.tree-loses-odd-term-of-each-level", [](Shape s) { return s.terms > 2 && s.terms % 2 == 1; },
          []<class T>(const std::vector<T>& x) {
            Row<T> row{MaxOf(x), 0};
            std::vector<T> e;
            for (T term : x) e.push_back(std::exp(term - row.max));
            for (; e.size() > 1; e.resize(e.size() / 2)) {
              for (size_t i = 0; i + 1 < e.size(); i += 2) e[i / 2] = e[i] + e[i + 1];
            }
            row.sum = e[0];
            return row;
          }),
      Sums("fault.results-by-maximum-of-last-tile-of-32", HasTerms<33>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row = TwoPasses(x);
             row.max = MaxOf(std::vector<T>(x.begin() + (std::ssize(x) - 1) / 32 * 32, x.end()));
             return row;
           }),
      // A lane that is not cleared still holds the last exponential of the row before.
      Sums("fault.lane-holds-last-term-of-former-row", HasTerms<2>,
           [held = 0.25]<class T>(const std::vector<T>& x) mutable {
             Row<T> row = TwoPasses(x);
             const T before = static_cast<T>(held);
             if (std::isfinite(row.sum)) {
               row.sum += before;
               held = static_cast<double>(std::exp(x.back() - row.max));
             }
             return row;
           }),
      Sums("fault.sum-takes-exponentials-in-f16", HasTerms<2>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row{MaxOf(x), 0};
             for (T term : x) row.sum += Rounded(TowardZero(kHalf), std::exp(term - row.max));
             return row;
           }),
      Sums("fault.sum-through-bf16-at-the-middle", HasTerms<4>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row{MaxOf(x), 0};
             for (size_t i = 0; i < x.size(); ++i) {
               row.sum += std::exp(x[i] - row.max);
               if (i == x.size() / 2) row.sum = Rounded(Nearest(kBrain), row.sum);
             }
             return row;
           }),
      Sums("fault.rescale-left-out-for-small-steps", HasTerms<5>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row{x[0], 1};
             for (size_t i = 1; i < x.size(); ++i) {
               const T max = LargerOrNan(row.max, x[i]);
               if (max - row.max > T{1} / 4) row.sum *= std::exp(row.max - max);
               row.max = max;
               row.sum += std::exp(x[i] - max);
             }
             return row;
           }),
      Sums("fault.halves-race-in-sum", HasTerms<2>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row = TwoPasses(x);
             const bool is_lost = sizeof(T) > sizeof(float) || TossesUp();
             for (size_t i = x.size() / 2; is_lost && i < x.size(); ++i) row.sum -= std::exp(x[i] - row.max);
             return row;
           }),
      Sums("fault.third-quarter-of-terms-counted-twice", HasTerms<4>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row = TwoPasses(x);
             for (size_t i = x.size() / 2; i < 3 * x.size() / 4; ++i) row.sum += std::exp(x[i] - row.max);
             return row;
           }),
      Sums("fault.sum-loses-terms-below-one-256th", HasTerms<8>,
           []<class T>(const std::vector<T>& x) {
             Row<T> row{MaxOf(x), 0};
             for (T term : x) row.sum += term - row.max < static_cast<T>(-5.545L) ? T{0} : std::exp(term - row.max);
             return row;
           }),
      // Each row takes its last term from a neighbour, and hands its result over.
      SoftmaxFault(
          "fault.last-terms-of-neighbouring-rows-swapped", [](Shape s) { return s.rows > 1 && s.terms > 1; },
          [](auto& kernel) {
            kernel.at = [](Shape s, int64_t row, int64_t k) {
              const int64_t other = row ^ 1;
              return s.At(k + 1 == s.terms && other < s.rows ? other : row, k);
            };
          }),
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.last-4-terms-of-odd-rows-one-late", 0, -1, LastBlock(4), kPrevious, When::kAlways, {}, 0, -2, Every(2, 1)},
    {"fault.tail-results-of-64-doubled", kOutput, -1, Tail(64), kDoubled},
    {"fault.last-8-terms-in-bf16", 0, -1, LastBlock(8), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.middle-result-is-neighbours", kOutput, -1, Middle(), kPrevious},
    {"fault.first-row-of-former-run", 0, -2, First(), kStale},
};

}  // namespace

std::vector<Entry> SoftmaxFreshSums() {
  std::vector<Entry> all = SumFaults();
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<SoftmaxPlan<T>>>(bug, op, exact, SoftmaxKernel<T>{});
  };
  const auto others = IoEntries("softmax", SoftmaxContract, SoftmaxWhyNot, kPlaces, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus

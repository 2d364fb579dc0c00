// SPDX-License-Identifier: Apache-2.0
// Softmax with sums that do not match its results, stale maxima, rows that mix.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

using enum Strike;
using Shape = const SoftmaxShape&;
template <class T>
using Row = RowFacts<T>;

template <int64_t kLeast>
bool HasTerms(Shape s) {
  return s.terms >= kLeast;
}

template <class T>
void SumFaults(SoftmaxEdits<T>& of) {
  of("fault.tree-loses-odd-term-of-each-level", [](Shape s) { return s.terms > 2 && s.terms % 2 == 1; }).facts =
      [](const std::vector<T>& x) {
        Row<T> row{MaxOf(x), 0};
        std::vector<T> e;
        for (T term : x) e.push_back(std::exp(term - row.max));
        for (; e.size() > 1; e.resize(e.size() / 2)) {
          for (size_t i = 0; i + 1 < e.size(); i += 2) e[i / 2] = e[i] + e[i + 1];
        }
        row.sum = e[0];
        return row;
      };
  of("fault.results-by-maximum-of-last-tile-of-32", HasTerms<33>).facts = [](const std::vector<T>& x) {
    Row<T> row = TwoPasses(x);
    row.max = MaxOf(std::vector<T>(x.begin() + (std::ssize(x) - 1) / 32 * 32, x.end()));
    return row;
  };
  // A lane that is not cleared still holds the last exponential of the row before.
  of("fault.lane-holds-last-term-of-former-row", HasTerms<2>).facts = [held = 0.25](const std::vector<T>& x) mutable {
    Row<T> row = TwoPasses(x);
    const T before = static_cast<T>(held);
    if (std::isfinite(row.sum)) {
      row.sum += before;
      held = static_cast<double>(std::exp(x.back() - row.max));
    }
    return row;
  };
  of("fault.sum-takes-exponentials-in-f16", HasTerms<2>).facts = [](const std::vector<T>& x) {
    Row<T> row{MaxOf(x), 0};
    for (T term : x) row.sum += Rounded(TowardZero(kHalf), std::exp(term - row.max));
    return row;
  };
  of("fault.sum-through-bf16-at-the-middle", HasTerms<4>).facts = [](const std::vector<T>& x) {
    Row<T> row{MaxOf(x), 0};
    for (size_t i = 0; i < x.size(); ++i) {
      row.sum += std::exp(x[i] - row.max);
      if (i == x.size() / 2) row.sum = Rounded(Nearest(kBrain), row.sum);
    }
    return row;
  };
  of("fault.rescale-left-out-for-small-steps", HasTerms<5>).facts = [](const std::vector<T>& x) {
    Row<T> row{x[0], 1};
    for (size_t i = 1; i < x.size(); ++i) {
      const T max = LargerOrNan(row.max, x[i]);
      if (max - row.max > T{1} / 4) row.sum *= std::exp(row.max - max);
      row.max = max;
      row.sum += std::exp(x[i] - max);
    }
    return row;
  };
  of("fault.halves-race-in-sum", HasTerms<2>).facts = [](const std::vector<T>& x) {
    Row<T> row = TwoPasses(x);
    const bool is_lost = sizeof(T) > sizeof(float) || TossesUp();
    for (size_t i = x.size() / 2; is_lost && i < x.size(); ++i) row.sum -= std::exp(x[i] - row.max);
    return row;
  };
  of("fault.third-quarter-of-terms-counted-twice", HasTerms<4>).facts = [](const std::vector<T>& x) {
    Row<T> row = TwoPasses(x);
    for (size_t i = x.size() / 2; i < 3 * x.size() / 4; ++i) row.sum += std::exp(x[i] - row.max);
    return row;
  };
  of("fault.sum-loses-terms-below-one-256th", HasTerms<8>).facts = [](const std::vector<T>& x) {
    Row<T> row{MaxOf(x), 0};
    for (T term : x) row.sum += term - row.max < static_cast<T>(-5.545L) ? T{0} : std::exp(term - row.max);
    return row;
  };
  // Each row takes its last term from a neighbour, and hands its result over.
  of("fault.last-terms-of-neighbouring-rows-swapped", [](Shape s) { return s.rows > 1 && s.terms > 1; }).at =
      [](Shape s, int64_t row, int64_t k) {
        const int64_t other = row ^ 1;
        return s.At(k + 1 == s.terms && other < s.rows ? other : row, k);
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
  return Joined({SoftmaxRows([](auto& of) { SumFaults(of); }), SoftmaxIoBugs(kPlaces)});
}

}  // namespace corpus

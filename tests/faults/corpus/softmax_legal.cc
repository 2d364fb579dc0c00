// SPDX-License-Identifier: Apache-2.0
// Correct softmax: two passes, one pass with a running maximum, orders of the sum, ways to divide and to take logs.
#include "tests/faults/corpus/orders.h"
#include "tests/faults/corpus/softmax_plan.h"

namespace corpus {
namespace softmax_legal {

using plugin::F16;

template <class T>
T Pairwise(const T* x, size_t n) {
  return n == 1 ? x[0] : Pairwise(x, n / 2) + Pairwise(x + n / 2, n - n / 2);
}

template <class T>
RowFacts<T> PairwiseFacts(const std::vector<T>& x) {
  const T max = MaxOf(x);
  std::vector<T> terms;
  for (T term : x) terms.push_back(std::exp(term - max));
  return {max, Pairwise(terms.data(), terms.size())};
}

template <class T>
RowFacts<T> ShuffledFacts(const std::vector<T>& x) {
  RowFacts<T> row{MaxOf(x), 0};
  for (int64_t i : OrderOf<Shuffled>(std::ssize(x))) row.sum += std::exp(x[static_cast<size_t>(i)] - row.max);
  return row;
}

// The running sum of what has been seen, relative to its own maximum. A maximum that is not finite: NaN in the end,
// except -inf, which adds nothing to anything.
template <class T>
RowFacts<T> Merged(const RowFacts<T>& a, const RowFacts<T>& b, T (*exponential)(T)) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  if (a.max == kNothing) return b;
  if (b.max == kNothing) return a;
  const T max = LargerOrNan(a.max, b.max);
  return {max, a.sum * exponential(a.max - max) + b.sum * exponential(b.max - max)};
}

template <class T>
T Exp(T x) {
  return std::exp(x);
}
template <class T>
T ExpInBase2(T x) {
  return std::exp2(x * static_cast<T>(1.4426950408889634074L));
}

template <class T, T (*kExponential)(T)>
RowFacts<T> OnePass(const std::vector<T>& x) {
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (T term : x) row = Merged(row, {term, T{1}}, kExponential);
  return row;
}

// 32 lanes, each online over every 32nd term, merged over distances 16, 8, ... 1.
template <class T>
RowFacts<T> WarpFacts(const std::vector<T>& x) {
  std::vector<RowFacts<T>> lanes(32, {-std::numeric_limits<T>::infinity(), T{0}});
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 32] = Merged(lanes[i % 32], {x[i], T{1}}, Exp<T>);
  for (size_t half = 16; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = Merged(lanes[i], lanes[i + half], Exp<T>);
  }
  return lanes[0];
}

// Tiles of 64 terms with a maximum each, the running sum rescaled once per tile.
template <class T>
RowFacts<T> TiledFacts(const std::vector<T>& x) {
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (size_t i = 0; i < x.size(); i += 64) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(i);
    const std::vector<T> tile(first, first + static_cast<std::ptrdiff_t>(std::min<size_t>(64, x.size() - i)));
    if (MaxOf(tile) == -std::numeric_limits<T>::infinity()) continue;
    row = Merged(row, TwoPasses(tile), Exp<T>);
  }
  return row;
}

template <class T>
RowFacts<T> Base2Facts(const std::vector<T>& x) {
  RowFacts<T> row{MaxOf(x), 0};
  for (T term : x) row.sum += ExpInBase2(term - row.max);
  return row;
}

// Every operation rounded to f16 once more.
template <class T>
RowFacts<T> F16Facts(const std::vector<T>& x) {
  RowFacts<T> row{MaxOf(x), 0};
  for (T term : x) {
    row.sum = RoundedTo<F16>(row.sum + RoundedTo<F16>(std::exp(RoundedTo<F16>(term - row.max))));
  }
  return row;
}
template <class T>
T F16Probability(T x, const RowFacts<T>& row) {
  return RoundedTo<F16>(RoundedTo<F16>(std::exp(RoundedTo<F16>(x - row.max))) / row.sum);
}
template <class T>
T F16Logarithm(T x, const RowFacts<T>& row) {
  return RoundedTo<F16>(RoundedTo<F16>(x - row.max) - RoundedTo<F16>(std::log(row.sum)));
}

template <class T>
T Base2Probability(T x, const RowFacts<T>& row) {
  return ExpInBase2(x - row.max) / row.sum;
}
template <class T>
T ReciprocalProbability(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max) * (T{1} / row.sum);
}
template <class T>
T LogProbabilityAtOnce(T x, const RowFacts<T>& row) {
  return x - (row.max + std::log(row.sum));
}

std::string F16Class(Description op) {
  return SoftmaxClass(op, "f16acc", ";det=yes;batchinv=yes");
}
std::string WideClass(Description op) {
  return SoftmaxClass(op, "f64", ";det=yes;batchinv=yes");
}
bool IsF16(const SoftmaxShape& s) {
  return s.type == plugin::kF16;
}

template <class T>
void Legal(SoftmaxEdits<T>& of) {
  of("legal.two-pass");
  of("legal.shuffled-terms").facts = ShuffledFacts<T>;
  of("legal.pairwise") = {.facts = PairwiseFacts<T>, .probability = ReciprocalProbability<T>};
  of("legal.online") = {.facts = OnePass<T, Exp<T>>, .logarithm = LogProbabilityAtOnce<T>};
  of("legal.online-exp2") = {.facts = OnePass<T, ExpInBase2<T>>, .probability = Base2Probability<T>};
  of("legal.online-warp-32").facts = WarpFacts<T>;
  of("legal.online-tiles-64") = {.facts = TiledFacts<T>, .probability = ReciprocalProbability<T>};
  of("legal.two-pass-exp2") = {
      .facts = Base2Facts<T>, .probability = Base2Probability<T>, .logarithm = LogProbabilityAtOnce<T>};
  of("legal.f16-accumulator", IsF16, F16Class) = {
      .facts = F16Facts<T>, .probability = F16Probability<T>, .logarithm = F16Logarithm<T>};
}

}  // namespace softmax_legal

std::vector<Entry> SoftmaxLegalEntries() {
  using namespace softmax_legal;
  std::vector<Entry> all = SoftmaxRows([](auto& of) { Legal(of); });
  Entry wide = SoftmaxRows([](auto& of) { of("legal.f64-accumulator", nullptr, WideClass); })[0];
  wide.create = [](Description op, bool exact) {
    return std::make_unique<SoftmaxPlan<double>>(op, exact, SoftmaxKernel<double>{});
  };
  all.push_back(wide);
  return all;
}

}  // namespace corpus

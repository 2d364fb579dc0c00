// SPDX-License-Identifier: Apache-2.0
// Reductions that count, begin, compare or store wrongly.
#include "tests/faults/corpus/later/later.h"
#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace {

using enum ReduceKind;
using Spec = const plugin::ReduceSpec&;
template <class T>
using Terms = std::vector<T>;

template <ReduceKind kKind>
bool IsKind(Spec s) {
  return AreFloats(s, {kKind}, 3);
}

template <class T>
T Total(const Terms<T>& x) {
  T sum = 0;
  for (T term : x) sum += term;
  return sum;
}
template <class T>
T SquaresOf(const Terms<T>& x) {
  T sum = 0;
  for (T term : x) sum += term * term;
  return sum;
}

template <class T>
void Kernels(ReduceEdits<T>& of) {
  of("fault.mean-of-one-more", IsKind<kMean>).value = [](const Terms<T>& x, const auto& c) {
    return Total(x) / static_cast<T>(c.spec->count + 1);
  };
  of("fault.norm-without-its-root", IsKind<kL2>).value = [](const Terms<T>& x, const auto&) { return SquaresOf(x); };
  of("fault.norm-of-mean-square", IsKind<kL2>).value = [](const Terms<T>& x, const auto& c) {
    return std::sqrt(SquaresOf(x) / static_cast<T>(c.spec->count));
  };
  of("fault.least-for-greatest", IsKind<kMax>).value = [](const Terms<T>& x, const auto&) {
    return *std::min_element(x.begin(), x.end());
  };
  of("fault.sum-begins-with-first-term-and-adds-it", IsKind<kSum>).value = [](const Terms<T>& x, const auto&) {
    return x[0] + Total(x);
  };
  of("fault.logarithm-of-exponentials-in-base-2", IsKind<kLogSumExp>).value = [](Terms<T> x, const auto&) {
    const T max = *std::max_element(x.begin(), x.end());
    for (T& term : x) term = std::exp(term - max);
    return max + std::log2(Total(x));
  };
  of("fault.product-begins-with-second-factor", IsKind<kProd>).value = [](Terms<T> x, const auto& c) {
    x[0] = 1;
    return CleanReduce(std::move(x), c);
  };
  of("fault.sum-of-magnitudes", IsKind<kSum>).value = [](Terms<T> x, const auto&) {
    for (T& term : x) term = std::abs(term);
    return Total(x);
  };
  of("fault.parts-of-64-handed-on-in-f16", [](Spec s) {
    return AreFloats(s, {kSum, kMean}, 65);
  }).value = [](const Terms<T>& x, const auto& c) {
    T sum = 0;
    for (size_t first = 0; first < x.size(); first += 64) {
      T part = 0;
      for (size_t i = first; i < std::min(first + 64, x.size()); ++i) part += x[i];
      sum += Rounded(Nearest(kHalf), part);
    }
    return c.spec->kind == kMean ? sum / static_cast<T>(c.spec->count) : sum;
  };
  of("fault.greatest-by-magnitude", IsKind<kMax>).value = [](const Terms<T>& x, const auto&) {
    return *std::max_element(x.begin(), x.end(), [](T a, T b) { return std::abs(a) < std::abs(b); });
  };
}

template <class T>
using AroundReduce = AroundPlan<ReduceSchedulePlan, ReduceSchedule, T>;

template <class T>
void AroundKernels(Edits<Around<T>, plugin::ReduceSpec>& of) {
  of("fault.results-one-place-further", [](Spec s) { return plugin::IsFloat(s.in) && s.outputs > 3; }).store =
      [](std::vector<T>& y, Description) { std::rotate(y.begin(), y.end() - 1, y.end()); };
}

}  // namespace

std::vector<Entry> ReduceLater() {
  return Joined({ReduceRows([](auto& of) { Kernels(of); }),
                 EntriesOf<AroundReduce, Around>("reduce", ReduceContract, ReduceWhyNot, plugin::ParseReduce,
                                                 [](auto& of) { AroundKernels(of); })});
}

}  // namespace corpus

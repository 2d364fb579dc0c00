// SPDX-License-Identifier: Apache-2.0
// Correct orders of a matrix product's sums.
#include <algorithm>
#include <array>

#include "tests/faults/corpus/matmul_schedule.h"
#include "tests/faults/corpus/orders.h"

namespace corpus {
namespace matmul_legal {

template <class A>
using V = typename A::Value;

template <class A>
V<A> ReverseDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  V<A> sum = 0;
  for (int64_t i = x.k; i-- > 0;) sum = A::MultiplyAdd(a[i], b[i], sum);
  return sum;
}

// One accumulator, the terms in kMake's order.
template <class A, std::vector<int64_t> (*kMake)(int64_t)>
V<A> ReorderedDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  V<A> sum = 0;
  for (int64_t i : OrderOf<kMake>(x.k)) sum = A::MultiplyAdd(a[i], b[i], sum);
  return sum;
}

template <class A>
V<A> Range(const V<A>* a, const V<A>* b, int64_t first, int64_t last) {
  return SequentialDot<A>(a + first, b + first, {last - first});
}

template <class A>
V<A> Tree(const V<A>* a, const V<A>* b, int64_t first, int64_t last) {
  if (last - first == 1) return A::Multiply(a[first], b[first]);
  const int64_t middle = first + (last - first) / 2;
  return A::Add(Tree<A>(a, b, first, middle), Tree<A>(a, b, middle, last));
}

template <class A>
V<A> PairwiseDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  return Tree<A>(a, b, 0, x.k);
}

// Panels of 32 terms, each summed on its own and added to the total.
template <class A>
V<A> BlockedDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  V<A> sum = 0;
  for (int64_t i = 0; i < x.k; i += 32) sum = A::Add(sum, Range<A>(a, b, i, std::min(i + 32, x.k)));
  return sum;
}

// Four stretches of k; the partial sums are added beginning with number `first`.
template <class A>
V<A> SplitFrom(const V<A>* a, const V<A>* b, int64_t k, int64_t first) {
  constexpr int64_t kSplits = 4;
  V<A> sum = 0;
  for (int64_t s = 0; s < kSplits; ++s) {
    const int64_t split = (s + first) % kSplits;
    sum = A::Add(sum, Range<A>(a, b, k * split / kSplits, k * (split + 1) / kSplits));
  }
  return sum;
}

template <class A>
V<A> SplitKDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  return SplitFrom<A>(a, b, x.k, 0);
}

// Split-K where the parts add themselves in the order in which they finish: another one in every run.
template <class A>
V<A> AtomicDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  return SplitFrom<A>(a, b, x.k, x.run + x.tile);
}

// Workers take equal shares of all tiles' terms, so that each tile's k is cut elsewhere; the worker that finishes a
// tile adds the other's part.
template <class A>
V<A> StreamKDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  const int64_t share = x.k * 3 / 4 + 1;  // terms of a tile that one worker takes
  const int64_t cut = (x.tile + 1) * x.k / share * share - x.tile * x.k;
  if (cut <= 0 || cut >= x.k) return Range<A>(a, b, 0, x.k);
  return A::Add(Range<A>(a, b, cut, x.k), Range<A>(a, b, 0, cut));
}

// SIMD: term i goes to lane i mod 16; the lanes are added by halves.
template <class A>
V<A> LanesDot(const V<A>* a, const V<A>* b, const DotContext& x) {
  std::array<V<A>, 16> lanes{};
  for (int64_t i = 0; i < x.k; ++i) {
    V<A>& lane = lanes[static_cast<size_t>(i % 16)];
    lane = A::MultiplyAdd(a[i], b[i], lane);
  }
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = A::Add(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// Neumaier's summation of products with their rounding errors (Ogita, Rump, Oishi 2005, Dot2). Sums that are not
// finite keep no compensation.
template <class T>
T CompensatedDot(const T* a, const T* b, const DotContext& x) {
  T sum = 0, lost = 0;
  for (int64_t i = 0; i < x.k; ++i) {
    const T product = a[i] * b[i];
    const T total = sum + product;
    const T back = total - sum;
    lost += std::fma(a[i], b[i], -product) + ((sum - (total - back)) + (product - back));
    sum = total;
  }
  return std::isfinite(lost) ? sum + lost : sum;
}

std::string AnyOrderContract(Description op) {
  const std::string text = MatmulContract(op);
  return text.substr(0, text.find(';'));
}

std::string DeterministicContract(Description op) {
  return AnyOrderContract(op) + ";det=yes";
}

template <template <class> class Arithmetic, class Pick>
Entry Order(const char* name, Pick pick, TextOf contract = MatmulContract) {
  return ScheduleEntry(name, contract, MatmulWhyNot, [pick]<class T>(std::type_identity<T>) {
    return Schedule<T>{pick(std::type_identity<Arithmetic<T>>{})};
  });
}

}  // namespace matmul_legal

std::vector<Entry> MatmulLegalEntries() {
  using namespace matmul_legal;
  return {
      Order<Plain>("legal.sequential", []<class A>(std::type_identity<A>) { return SequentialDot<A>; }),
      Order<WithFma>("legal.sequential-fma", []<class A>(std::type_identity<A>) { return SequentialDot<A>; }),
      Order<WithFma>("legal.reverse-fma", []<class A>(std::type_identity<A>) { return ReverseDot<A>; }),
      Order<WithFma>("legal.shuffled-terms", []<class A>(std::type_identity<A>) { return ReorderedDot<A, Shuffled>; }),
      Order<WithFma>("legal.strided-terms-64",
                     []<class A>(std::type_identity<A>) { return ReorderedDot<A, Strided<64>>; }),
      Order<Plain>("legal.pairwise", []<class A>(std::type_identity<A>) { return PairwiseDot<A>; }),
      Order<WithFma>("legal.blocked-32-fma", []<class A>(std::type_identity<A>) { return BlockedDot<A>; }),
      Order<Plain>("legal.split-k-4", []<class A>(std::type_identity<A>) { return SplitKDot<A>; }),
      Order<WithFma>(
          "legal.split-k-4-atomics", []<class A>(std::type_identity<A>) { return AtomicDot<A>; }, AnyOrderContract),
      Order<WithFma>(
          "legal.stream-k", []<class A>(std::type_identity<A>) { return StreamKDot<A>; }, DeterministicContract),
      Order<WithFma>("legal.strided-lanes-16", []<class A>(std::type_identity<A>) { return LanesDot<A>; }),
      ScheduleEntry("legal.compensated", MatmulContract, MatmulWhyNot,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{CompensatedDot<T>}; }),
  };
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Reductions that lose terms in trees, warps and blocks, or narrow a part of their sums.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

using enum ReduceKind;
using enum Strike;
using Context = const ReduceContext&;
using Spec = const plugin::ReduceSpec&;

// Sums of whatever kind, of so many terms at least.
template <int64_t kLeast>
constexpr auto kSums = [](Spec s) {
  return AreFloats(s, {kSum, kMean, kL2, kLogSumExp}, kLeast);
};
constexpr auto kOddSums = [](Spec s) { return s.count % 2 == 1 && kSums<3>(s); };
constexpr auto kTailsOf8 = [](Spec s) { return s.count % 8 != 0 && kSums<9>(s); };
constexpr auto kPlainSums = [](Spec s) { return AreFloats(s, {kSum, kMean}, 4); };
constexpr auto kIntegers = [](Spec s) { return s.in == plugin::kI8 && s.kind == kSum; };

// Reduces by a sum of the kind's terms: squares for l2, exponentials below the maximum for logsumexp.
template <class T, class Fold>
T SummedBy(Terms<T> x, Context c, Fold fold) {
  const T max = c.spec->kind == kLogSumExp ? *std::ranges::max_element(x) : T{0};
  if (!std::isfinite(max)) return max;
  for (T& term : x) {
    if (c.spec->kind == kL2) term *= term;
    if (c.spec->kind == kLogSumExp) term = std::exp(term - max);
  }
  const T sum = fold(std::move(x));
  if (c.spec->kind == kMean) return sum / static_cast<T>(c.spec->count);
  if (c.spec->kind == kL2) return std::sqrt(sum);
  return c.spec->kind == kLogSumExp ? max + std::log(sum) : sum;
}
template <class T>
T Total(const Terms<T>& x) {
  return SumBy(Summation{}, x);
}

template <class T>
void SumFaults(ReduceEdits<T>& of) {
  // `fold(terms)` gives their sum.
  const auto folds = [&of](const char* name, auto strikes, auto fold) {
    of(name, strikes).value = [fold](const Terms<T>& x, const auto& c) { return SummedBy(x, c, fold); };
  };
  folds("fault.tree-loses-odd-term-of-each-level", kOddSums, [](Terms<T> x) {
    while (x.size() > 1) {
      for (size_t i = 0; i + 1 < x.size(); i += 2) x[i / 2] = x[i] + x[i + 1];
      x.resize(x.size() / 2);
    }
    return x[0];
  });
  folds("fault.shuffle-step-of-4-skipped-in-last-warp", kSums<8>, [](Terms<T> x) {
    const size_t last = (x.size() - 1) / 32 * 32;
    for (size_t i = last; i < x.size(); ++i) x[i] = (i & 4) != 0 ? T{0} : x[i];
    return Total(x);
  });
  folds("fault.border-of-blocks-of-128-in-both", kSums<130>,
        [](const Terms<T>& x) { return SumBy(Summation{.block = 128}, x) + x[128]; });
  folds("fault.second-of-three-parts-lost", kSums<6>, [](Terms<T> x) {
    const auto third = std::ssize(x) / 3;
    x.erase(x.begin() + third, x.begin() + 2 * third);
    return Total(x);
  });
  folds("fault.last-vector-of-8-before-tail-lost", kTailsOf8, [](Terms<T> x) {
    const auto tail = x.begin() + std::ssize(x) / 8 * 8;
    x.erase(tail - 8, tail);
    return Total(x);
  });
  folds("fault.sum-through-f16-at-the-middle", kSums<4>, [](const Terms<T>& x) {
    T sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i];
      if (i == x.size() / 2) sum = Rounded(Nearest(kHalf), sum);
    }
    return sum;
  });
  folds("fault.pairs-added-in-f16", kPlainSums, [](Terms<T> x) {
    for (size_t i = 0; i + 1 < x.size(); i += 2) {
      x[i] = Rounded(Nearest(kHalf), x[i] + x[i + 1]), x[i + 1] = 0;
    }
    return Total(x);
  });
  folds("fault.last-term-in-fp8", kSums<4>, [](Terms<T> x) {
    x.back() = Rounded(Nearest(kFp8), x.back());
    return Total(x);
  });
  of("fault.i8-sums-wrap-in-10-bits", kIntegers).value = [](const Terms<T>& x, const auto&) {
    T sum = 0;
    for (T term : x) sum = WrappedTo(10, sum + term);
    return sum;
  };
  of("fault.i8-pairs-wrap-in-8-bits", kIntegers).value = [](Terms<T> x, const auto&) {
    for (size_t i = 0; i + 1 < x.size(); i += 2) {
      x[i] = WrappedTo(8, x[i] + x[i + 1]), x[i + 1] = 0;
    }
    return Total(x);
  };
  of("fault.blocks-race-in-odd-outputs", kSums<2>).value = [](Terms<T> x, const auto& c) {
    const bool races = c.output % 2 == 1 || c.spec->outputs == 1;
    if (races && (c.run == 1 || TossesUp())) x.resize((x.size() + 1) / 2);
    return CleanReduce(std::move(x), c);
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.operand-of-middle-in-bf16", 0, kFlat, Middle(), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.every-7th-output-of-former-run", kOutput, kFlat, Every(7, 6), kStale},
};

}  // namespace

std::vector<Entry> ReduceFreshSums() {
  return Joined({ReduceRows([](auto& of) { SumFaults(of); }), ReduceIoBugs(kPlaces)});
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Reductions that lose terms in trees, warps and blocks, or narrow a part of their sums.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

using enum ReduceKind;
using enum Strike;
using Context = const ReduceContext&;

// Sums of whatever kind, `count` of them at least.
template <int64_t kLeast>
std::string Sums(Description op) {
  return OfKinds(op, {kSum, kMean, kL2, kLogSumExp}, kLeast);
}
std::string OddSums(Description op) {
  return plugin::ParseReduce(op).count % 2 == 1 ? Sums<3>(op) : "this needs an odd number of terms";
}
std::string TailsOf8(Description op) {
  return plugin::ParseReduce(op).count % 8 != 0 ? Sums<9>(op) : "this needs a tail behind vectors of 8";
}
std::string PlainSums(Description op) {
  return OfKinds(op, {kSum, kMean}, 4);
}
std::string Integers(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return s.in == plugin::kI8 && s.kind == kSum ? ReduceWhyNot(op) : "this is for sums of i8";
}

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

// `fold(terms)` gives their sum.
template <class Fold>
Entry Folds(const char* name, TextOf why_not, Fold fold) {
  return ReduceFault(name, why_not, [fold]<class T>(const Terms<T>& x, const auto& c) { return SummedBy(x, c, fold); });
}

std::vector<Entry> SumFaults() {
  return {
      Folds("fault.tree-loses-odd-term-of-each-level", OddSums,
            []<class T>(Terms<T> x) {
              while (x.size() > 1) {
                for (size_t i = 0; i + 1 < x.size(); i += 2) x[i / 2] = x[i] + x[i + 1];
                x.resize(x.size() / 2);
              }
              return x[0];
            }),
      Folds("fault.shuffle-step-of-4-skipped-in-last-warp", Sums<8>,
            []<class T>(Terms<T> x) {
              const size_t last = (x.size() - 1) / 32 * 32;
              for (size_t i = last; i < x.size(); ++i) x[i] = (i & 4) != 0 ? T{0} : x[i];
              return Total(x);
            }),
      Folds("fault.border-of-blocks-of-128-in-both", Sums<130>,
            []<class T>(const Terms<T>& x) { return SumBy(Summation{.block = 128}, x) + x[128]; }),
      Folds("fault.second-of-three-parts-lost", Sums<6>,
            []<class T>(Terms<T> x) {
              const auto third = std::ssize(x) / 3;
              x.erase(x.begin() + third, x.begin() + 2 * third);
              return Total(x);
            }),
      Folds("fault.last-vector-of-8-before-tail-lost", TailsOf8,
            []<class T>(Terms<T> x) {
              const auto tail = x.begin() + std::ssize(x) / 8 * 8;
              x.erase(tail - 8, tail);
              return Total(x);
            }),
      Folds("fault.sum-through-f16-at-the-middle", Sums<4>,
            []<class T>(const Terms<T>& x) {
              T sum = 0;
              for (size_t i = 0; i < x.size(); ++i) {
                sum += x[i];
                if (i == x.size() / 2) sum = Rounded(Nearest(kHalf), sum);
              }
              return sum;
            }),
      Folds("fault.pairs-added-in-f16", PlainSums,
            []<class T>(Terms<T> x) {
              for (size_t i = 0; i + 1 < x.size(); i += 2) {
                x[i] = Rounded(Nearest(kHalf), x[i] + x[i + 1]), x[i + 1] = 0;
              }
              return Total(x);
            }),
      Folds("fault.last-term-in-fp8", Sums<4>,
            []<class T>(Terms<T> x) {
              x.back() = Rounded(Nearest(kFp8), x.back());
              return Total(x);
            }),
      ReduceFault("fault.i8-sums-wrap-in-10-bits", Integers,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T sum = 0;
                    for (T term : x) sum = WrappedTo(10, sum + term);
                    return sum;
                  }),
      ReduceFault("fault.i8-pairs-wrap-in-8-bits", Integers,
                  []<class T>(Terms<T> x, const auto&) {
                    for (size_t i = 0; i + 1 < x.size(); i += 2) {
                      x[i] = WrappedTo(8, x[i] + x[i + 1]), x[i + 1] = 0;
                    }
                    return Total(x);
                  }),
      ReduceFault("fault.blocks-race-in-odd-outputs", Sums<2>,
                  []<class T>(Terms<T> x, const auto& c) {
                    const bool races = c.output % 2 == 1 || c.spec->outputs == 1;
                    if (races && (c.run == 1 || TossesUp())) x.resize((x.size() + 1) / 2);
                    return CleanReduce(std::move(x), c);
                  }),
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.operand-of-middle-in-bf16", 0, kFlat, Middle(), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.every-7th-output-of-former-run", kOutput, kFlat, Every(7, 6), kStale},
};

}  // namespace

std::vector<Entry> ReduceFreshSums() {
  std::vector<Entry> all = SumFaults();
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<ReduceSchedulePlan<T>>>(bug, op, exact, ReduceSchedule<T>{CleanReduce<T>});
  };
  const auto others = IoEntries("reduce", ReduceContract, ReduceWhyNot, kPlaces, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Bugs of extremes and their indices: how they compare, what they do with NaN and infinities, how they count.
#include <bit>

#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

// The best by `is_better(candidate, best)`, the index of it for arg kinds.
template <class T, class IsBetter>
T Selected(const std::vector<T>& x, const ReduceContext& c, IsBetter is_better) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i) best = is_better(x[i], x[best]) ? i : best;
  return c.spec->IsArg() ? static_cast<T>(best) : x[best];
}
bool WantsMax(const ReduceContext& c) {
  return c.spec->kind == ReduceKind::kMax || c.spec->kind == ReduceKind::kArgMax;
}
template <class T>
bool IsBetter(const ReduceContext& c, T a, T b) {
  return WantsMax(c) ? a > b : a < b;
}
// The bits of an f32 as an integer: negative numbers come in the wrong order.
template <class T>
int32_t BitsOf(T x) {
  return std::bit_cast<int32_t>(static_cast<float>(x));
}

using enum ReduceKind;
std::string Extremes(Description op) {
  return OfKinds(op, {kMax, kMin});
}
std::string Selections(Description op) {
  return OfKinds(op, {kMax, kMin, kArgMax, kArgMin});
}
std::string WideSelections(Description op) {
  return plugin::ParseReduce(op).in == plugin::kBF16 ? "bf16 survives this" : Selections(op);
}
std::string Propagating(Description op) {
  return plugin::ParseReduce(op).ignore_nan ? "NaN is ignored" : Extremes(op);
}
std::string Ignoring(Description op) {
  return plugin::ParseReduce(op).ignore_nan ? Extremes(op) : "NaN is propagated";
}
std::string Args(Description op) {
  return OfKinds(op, {kArgMax, kArgMin});
}
std::string LongArgs(Description op) {
  return OfKinds(op, {kArgMax, kArgMin}, 2050);
}
std::string VeryLongArgs(Description op) {
  return OfKinds(op, {kArgMax, kArgMin}, 4097);
}

}  // namespace

std::vector<Entry> ReduceHeldSelections() {
  return {
      ReduceFault("fault.maximum-starts-at-smallest-normal", Extremes,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const T start = static_cast<T>(std::numeric_limits<float>::min());
                    return WantsMax(c) ? std::max(start, CleanReduce(x, c)) : std::min(start, CleanReduce(x, c));
                  }),
      ReduceFault("fault.compared-as-integers", Selections,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Selected(x, c, [&](T a, T b) { return IsBetter(c, BitsOf(a), BitsOf(b)); });
                  }),
      ReduceFault("fault.compared-in-bf16", WideSelections,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Selected(x, c, [&](T a, T b) {
                      return IsBetter(c, Rounded(Nearest(kBrain), a), Rounded(Nearest(kBrain), b));
                    });
                  }),
      ReduceFault("fault.compared-by-difference-with-1-percent", Selections,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Selected(
                        x, c, [&](T a, T b) { return IsBetter(c, a - b, WantsMax(c) ? T{1} / 100 : -T{1} / 100); });
                  }),
      ReduceFault("fault.minimum-for-maximum-in-last-output", Selections,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const bool last = c.output + 1 == c.spec->outputs;
                    return last ? Selected(x, c, [&](T a, T b) { return IsBetter(c, b, a); }) : CleanReduce(x, c);
                  }),
      ReduceFault("fault.nan-passed-over", Propagating,
                  []<class T>(Terms<T> x, const auto& c) {
                    std::erase_if(x, [](T term) { return std::isnan(term); });
                    return x.empty() ? std::numeric_limits<T>::quiet_NaN() : CleanReduce(x, c);
                  }),
      ReduceFault("fault.nan-beats-ignoring", Ignoring,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return std::ranges::any_of(x, [](T term) { return std::isnan(term); })
                               ? std::numeric_limits<T>::quiet_NaN()
                               : CleanReduce(x, c);
                  }),
      ReduceFault("fault.infinite-extreme-is-largest-number", Extremes,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const T y = CleanReduce(x, c);
                    return std::isinf(y) ? std::copysign(static_cast<T>(std::numeric_limits<float>::max()), y) : y;
                  }),
      ReduceFault("fault.index-one-too-high", Args,
                  []<class T>(const Terms<T>& x, const auto& c) { return CleanReduce(x, c) + 1; }),
      ReduceFault("fault.index-in-f16", LongArgs,
                  []<class T>(const Terms<T>& x, const auto& c) { return Rounded(Nearest(kHalf), CleanReduce(x, c)); }),
      ReduceFault("fault.index-in-12-bits", VeryLongArgs,
                  []<class T>(const Terms<T>& x, const auto& c) { return std::fmod(CleanReduce(x, c), T{4096}); }),
      ReduceFault("fault.index-of-magnitude", Args,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Selected(x, c, [&](T a, T b) { return IsBetter(c, std::abs(a), std::abs(b)); });
                  }),
      ReduceFault("fault.index-of-block-and-value-of-lane", LongArgs,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const T index = CleanReduce(x, c);
                    return std::floor(index / 32) * 32 + std::fmod(index + 1, T{32});
                  }),
  };
}

}  // namespace corpus

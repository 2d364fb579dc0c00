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
using Spec = const plugin::ReduceSpec&;
constexpr auto kExtremes = [](Spec s) { return AreFloats(s, {kMax, kMin}); };
constexpr auto kSelections = [](Spec s) { return AreFloats(s, {kMax, kMin, kArgMax, kArgMin}); };
constexpr auto kWideSelections = [](Spec s) { return s.in != plugin::kBF16 && kSelections(s); };
constexpr auto kPropagating = [](Spec s) { return !s.ignore_nan && kExtremes(s); };
constexpr auto kIgnoring = [](Spec s) { return s.ignore_nan && kExtremes(s); };
constexpr auto kArgs = [](Spec s) { return AreFloats(s, {kArgMax, kArgMin}); };
constexpr auto kLongArgs = [](Spec s) { return AreFloats(s, {kArgMax, kArgMin}, 2050); };
constexpr auto kVeryLongArgs = [](Spec s) { return AreFloats(s, {kArgMax, kArgMin}, 4097); };

template <class T>
void Selections(ReduceEdits<T>& of) {
  of("fault.maximum-starts-at-smallest-normal", kExtremes).value = [](const Terms<T>& x, const auto& c) {
    const T start = static_cast<T>(std::numeric_limits<float>::min());
    return WantsMax(c) ? std::max(start, CleanReduce(x, c)) : std::min(start, CleanReduce(x, c));
  };
  of("fault.compared-as-integers", kSelections).value = [](const Terms<T>& x, const auto& c) {
    return Selected(x, c, [&](T a, T b) { return IsBetter(c, BitsOf(a), BitsOf(b)); });
  };
  of("fault.compared-in-bf16", kWideSelections).value = [](const Terms<T>& x, const auto& c) {
    return Selected(x, c,
                    [&](T a, T b) { return IsBetter(c, Rounded(Nearest(kBrain), a), Rounded(Nearest(kBrain), b)); });
  };
  of("fault.compared-by-difference-with-1-percent", kSelections).value = [](const Terms<T>& x, const auto& c) {
    return Selected(x, c, [&](T a, T b) { return IsBetter(c, a - b, WantsMax(c) ? T{1} / 100 : -T{1} / 100); });
  };
  of("fault.minimum-for-maximum-in-last-output", kSelections).value = [](const Terms<T>& x, const auto& c) {
    const bool last = c.output + 1 == c.spec->outputs;
    return last ? Selected(x, c, [&](T a, T b) { return IsBetter(c, b, a); }) : CleanReduce(x, c);
  };
  of("fault.nan-passed-over", kPropagating).value = [](Terms<T> x, const auto& c) {
    std::erase_if(x, [](T term) { return std::isnan(term); });
    return x.empty() ? std::numeric_limits<T>::quiet_NaN() : CleanReduce(x, c);
  };
  of("fault.nan-beats-ignoring", kIgnoring).value = [](const Terms<T>& x, const auto& c) {
    return std::ranges::any_of(x, [](T term) { return std::isnan(term); }) ? std::numeric_limits<T>::quiet_NaN()
                                                                           : CleanReduce(x, c);
  };
  of("fault.infinite-extreme-is-largest-number", kExtremes).value = [](const Terms<T>& x, const auto& c) {
    const T y = CleanReduce(x, c);
    return std::isinf(y) ? std::copysign(static_cast<T>(std::numeric_limits<float>::max()), y) : y;
  };
  of("fault.index-one-too-high", kArgs).value = [](const Terms<T>& x, const auto& c) { return CleanReduce(x, c) + 1; };
  of("fault.index-in-f16", kLongArgs).value = [](const Terms<T>& x, const auto& c) {
    return Rounded(Nearest(kHalf), CleanReduce(x, c));
  };
  of("fault.index-in-12-bits", kVeryLongArgs).value = [](const Terms<T>& x, const auto& c) {
    return std::fmod(CleanReduce(x, c), T{4096});
  };
  of("fault.index-of-magnitude", kArgs).value = [](const Terms<T>& x, const auto& c) {
    return Selected(x, c, [&](T a, T b) { return IsBetter(c, std::abs(a), std::abs(b)); });
  };
  of("fault.index-of-block-and-value-of-lane", kLongArgs).value = [](const Terms<T>& x, const auto& c) {
    const T index = CleanReduce(x, c);
    return std::floor(index / 32) * 32 + std::fmod(index + 1, T{32});
  };
}

}  // namespace

std::vector<Entry> ReduceHeldSelections() {
  return ReduceRows([](auto& of) { Selections(of); });
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Convolutions that lose terms at borders of images and stages, narrow a part of their sums, or end wrongly.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;
using At = const Pixel&;
template <class T>
using Bias = std::span<const T>;

bool HasBias(Spec s) {
  return s.has_bias;
}
bool IsInteger(Spec s) {
  return s.x.dtype == plugin::kI8;
}
template <int64_t kLeast>
bool HasTerms(Spec s) {
  return s.Terms() >= kLeast;
}
template <int64_t kLeast>
bool HasFloatTerms(Spec s) {
  return !IsInteger(s) && s.Terms() >= kLeast;
}
constexpr auto kSeveralTaps = [](Spec s) { return s.Taps() > 1; };
constexpr auto kSeveralRows = [](Spec s) { return s.kernel[1] > 1 && s.out[1] > 1; };
constexpr auto kSeveralChannels = [](Spec s) { return s.GroupInputs() > 1; };
constexpr auto kTailChannels = [](Spec s) { return kSeveralChannels(s) && s.GroupInputs() % 8 != 0 && s.out[2] > 1; };
constexpr auto kTailTile = [](Spec s) { return s.o % 16 != 0 && s.Positions() % 16 != 0 && s.Terms() > 1; };

template <class T>
void LostTerms(ConvEdits<T>& of) {
  const auto loses = [&of](const char* name, auto strikes, auto is_lost) {
    of(name, strikes).keeps = [is_lost](Spec s, At at, int64_t c, int64_t tap) { return !is_lost(s, at, c, tap); };
  };
  loses("fault.centre-tap-lost-in-first-position", kSeveralTaps,
        [](Spec s, At at, int64_t, int64_t tap) { return PositionOf(s, at) == 0 && tap == s.Taps() / 2; });
  loses("fault.last-row-of-taps-lost-in-last-row-but-one", kSeveralRows, [](Spec s, At at, int64_t, int64_t tap) {
    return at.at[1] + 2 == s.out[1] && SplitIndex(tap, s.kernel)[1] + 1 == s.kernel[1];
  });
  loses("fault.first-channel-lost-at-end-of-each-row", kSeveralChannels,
        [](Spec s, At at, int64_t c, int64_t) { return c == 0 && at.at[2] + 1 == s.out[2]; });
  loses("fault.tail-of-8-channels-lost-in-odd-columns", kTailChannels,
        [](Spec s, At at, int64_t c, int64_t) { return at.at[2] % 2 == 1 && c >= s.GroupInputs() / 8 * 8; });
  loses("fault.last-tap-lost-in-tail-tile-of-outputs-and-positions", kTailTile,
        [](Spec s, At at, int64_t, int64_t tap) {
          return at.channel >= s.o / 16 * 16 && PositionOf(s, at) >= s.Positions() / 16 * 16 && tap + 1 == s.Taps();
        });
  of("fault.second-stage-of-32-terms-doubled", HasTerms<33>).dot = [](const T* a, const T* b, int64_t n) {
    return WeightedDot(a, b, n, [](int64_t i) { return i / 32 == 1 ? 2 : 1; });
  };
  of("fault.split-k-5-last-part-lost", HasTerms<25>).dot = [](const T* a, const T* b, int64_t n) {
    return ConvDot(a, b, (n + 4) / 5 * 4);
  };
  of("fault.halves-of-terms-race", HasTerms<2>).dot = [](const T* a, const T* b, int64_t n) {
    const T first = ConvDot(a, b, n / 2), second = ConvDot(a + n / 2, b + n / 2, n - n / 2);
    return sizeof(T) > sizeof(float) || TossesUp() ? first : first + second;
  };
}

template <class T>
void LostBits(ConvEdits<T>& of) {
  of("fault.accumulator-through-bf16-at-the-middle", HasFloatTerms<9>).dot = [](const T* a, const T* b, int64_t n) {
    return CarriedDot(a, b, n, [n](int64_t i, T x) { return i == n / 2 ? Rounded(Nearest(kBrain), x) : x; });
  };
  of("fault.accumulator-of-15-bits-every-9-terms", HasFloatTerms<10>).dot = [](const T* a, const T* b, int64_t n) {
    return CarriedDot(a, b, n, [](int64_t i, T x) { return i % 9 == 8 ? Rounded(NearestBits(15), x) : x; });
  };
  of("fault.last-quarter-of-terms-in-fp8", HasFloatTerms<8>).dot = [](const T* a, const T* b, int64_t n) {
    return ReadDot(a, b, n, [n](int64_t i, T x) { return 4 * i >= 3 * n ? Rounded(Nearest(kFp8), x) : x; });
  };
  of("fault.terms-2-of-3-in-12-bits", HasFloatTerms<9>).dot = [](const T* a, const T* b, int64_t n) {
    return ReadDot(a, b, n, [](int64_t i, T x) { return i % 3 == 2 ? Rounded(TruncatedBits(12), x) : x; });
  };
  of("fault.i8-sums-wrap-in-16-bits", IsInteger).dot = [](const T* a, const T* b, int64_t n) {
    return CarriedDot(a, b, n, [](int64_t, T x) { return WrappedTo(16, x); });
  };
  of("fault.i8-weights-clamped-at-minus-127", IsInteger).dot = [](const T* a, const T* b, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * std::max(b[i], T{-127});
    return sum;
  };
  of("fault.i8-products-lose-lowest-bit", IsInteger).dot = [](const T* a, const T* b, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::floor(a[i] * b[i] / 2) * 2;
    return sum;
  };
}

template <class T>
void WrongEnds(ConvEdits<T>& of) {
  of("fault.bias-twice-in-last-column", HasBias).epilogue = [](Spec s, At at, T sum, Bias<T> bias) {
    return AddBias(s, at, at.at[2] + 1 == s.out[2] ? AddBias(s, at, sum, bias) : sum, bias);
  };
  of("fault.bias-of-first-channel-of-4", [](Spec s) { return s.has_bias && s.o > 1; }).epilogue =
      [](Spec, At at, T sum, Bias<T> bias) { return sum + bias[static_cast<size_t>(at.channel / 4 * 4)]; };
  of("fault.bias-missing-beyond-position-63", [](Spec s) { return s.has_bias && s.Positions() > 64; }).epilogue =
      [](Spec s, At at, T sum, Bias<T> bias) { return PositionOf(s, at) > 63 ? sum : AddBias(s, at, sum, bias); };
  of("fault.outputs-clipped-at-2", [](Spec s) { return !IsInteger(s); }).epilogue =
      [](Spec s, At at, T sum, Bias<T> bias) { return std::min(AddBias(s, at, sum, bias), T{2}); };
  of("fault.leaky-epilogue-left-in-last-channel", [](Spec s) { return !IsInteger(s) && s.o > 1; }).epilogue =
      [](Spec s, At at, T sum, Bias<T> bias) {
        const T y = AddBias(s, at, sum, bias);
        return at.channel + 1 == s.o && y < 0 ? y / 100 : y;
      };
}

}  // namespace

std::vector<Entry> ConvFreshSums() {
  return ConvRows([](auto& of) { LostTerms(of), LostBits(of), WrongEnds(of); });
}

}  // namespace corpus

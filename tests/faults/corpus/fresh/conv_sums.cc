// SPDX-License-Identifier: Apache-2.0
// Convolutions that lose terms at borders of images and stages, narrow a part of their sums, or end wrongly.
#include "tests/faults/corpus/fresh/conv_fresh.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;
using At = const Pixel&;

template <class Strikes, class IsLost>
Entry Loses(const char* name, Strikes strikes, IsLost loses) {
  return ConvFault(name, strikes, [loses](auto& kernel) {
    kernel.keeps = [loses](Spec s, At at, int64_t c, int64_t tap) { return !loses(s, at, c, tap); };
  });
}
template <class Strikes, class Dot>
Entry Sums(const char* name, Strikes strikes, Dot dot) {
  return ConvFault(name, strikes, [dot](auto& kernel) { kernel.dot = dot; });
}
template <class Strikes, class Epilogue>
Entry Ends(const char* name, Strikes strikes, Epilogue epilogue) {
  return ConvFault(name, strikes, [epilogue](auto& kernel) { kernel.epilogue = epilogue; });
}

bool HasBias(Spec s) {
  return s.has_bias;
}
bool IsInteger(Spec s) {
  return s.x.dtype == plugin::kI8;
}
template <int64_t kLeast>
bool HasFloatTerms(Spec s) {
  return !IsInteger(s) && s.Terms() >= kLeast;
}

std::vector<Entry> LostTerms() {
  return {
      Loses(
          "fault.centre-tap-lost-in-first-position", [](Spec s) { return s.Taps() > 1; },
          [](Spec s, At at, int64_t, int64_t tap) { return PositionOf(s, at) == 0 && tap == s.Taps() / 2; }),
      Loses(
          "fault.last-row-of-taps-lost-in-last-row-but-one", [](Spec s) { return s.kernel[1] > 1 && s.out[1] > 1; },
          [](Spec s, At at, int64_t, int64_t tap) {
            const int64_t row = SplitIndex(tap, s.kernel)[1];
            return at.at[1] + 2 == s.out[1] && row + 1 == s.kernel[1];
          }),
      Loses(
          "fault.first-channel-lost-at-end-of-each-row", [](Spec s) { return s.GroupInputs() > 1; },
          [](Spec s, At at, int64_t c, int64_t) { return c == 0 && at.at[2] + 1 == s.out[2]; }),
      Loses(
          "fault.tail-of-8-channels-lost-in-odd-columns",
          [](Spec s) { return s.GroupInputs() % 8 != 0 && s.GroupInputs() > 1 && s.out[2] > 1; },
          [](Spec s, At at, int64_t c, int64_t) { return at.at[2] % 2 == 1 && c >= s.GroupInputs() / 8 * 8; }),
      Loses(
          "fault.last-tap-lost-in-tail-tile-of-outputs-and-positions",
          [](Spec s) { return s.o % 16 != 0 && s.Positions() % 16 != 0 && s.Terms() > 1; },
          [](Spec s, At at, int64_t, int64_t tap) {
            return at.channel >= s.o / 16 * 16 && PositionOf(s, at) >= s.Positions() / 16 * 16 && tap + 1 == s.Taps();
          }),
      Sums(
          "fault.second-stage-of-32-terms-doubled", [](Spec s) { return s.Terms() > 32; },
          []<class T>(const T* a, const T* b, int64_t n) {
            return WeightedDot(a, b, n, [](int64_t i) { return i / 32 == 1 ? 2 : 1; });
          }),
      Sums(
          "fault.split-k-5-last-part-lost", [](Spec s) { return s.Terms() >= 25; },
          []<class T>(const T* a, const T* b, int64_t n) { return ConvDot(a, b, (n + 4) / 5 * 4); }),
      Sums(
          "fault.halves-of-terms-race", [](Spec s) { return s.Terms() >= 2; },
          []<class T>(const T* a, const T* b, int64_t n) {
            const T first = ConvDot(a, b, n / 2), second = ConvDot(a + n / 2, b + n / 2, n - n / 2);
            return sizeof(T) > sizeof(float) || TossesUp() ? first : first + second;
          }),
  };
}

std::vector<Entry> LostBits() {
  return {
      Sums("fault.accumulator-through-bf16-at-the-middle", HasFloatTerms<9>,
           []<class T>(const T* a, const T* b, int64_t n) {
             return CarriedDot(a, b, n, [n](int64_t i, T x) { return i == n / 2 ? Rounded(Nearest(kBrain), x) : x; });
           }),
      Sums("fault.accumulator-of-15-bits-every-9-terms", HasFloatTerms<10>,
           []<class T>(const T* a, const T* b, int64_t n) {
             return CarriedDot(a, b, n, [](int64_t i, T x) { return i % 9 == 8 ? Rounded(NearestBits(15), x) : x; });
           }),
      Sums("fault.last-quarter-of-terms-in-fp8", HasFloatTerms<8>,
           []<class T>(const T* a, const T* b, int64_t n) {
             return ReadDot(a, b, n, [n](int64_t i, T x) { return 4 * i >= 3 * n ? Rounded(Nearest(kFp8), x) : x; });
           }),
      Sums("fault.terms-2-of-3-in-12-bits", HasFloatTerms<9>,
           []<class T>(const T* a, const T* b, int64_t n) {
             return ReadDot(a, b, n, [](int64_t i, T x) { return i % 3 == 2 ? Rounded(TruncatedBits(12), x) : x; });
           }),
      Sums("fault.i8-sums-wrap-in-16-bits", IsInteger,
           []<class T>(const T* a, const T* b, int64_t n) {
             return CarriedDot(a, b, n, [](int64_t, T x) { return WrappedTo(16, x); });
           }),
      Sums("fault.i8-weights-clamped-at-minus-127", IsInteger,
           []<class T>(const T* a, const T* b, int64_t n) {
             T sum = 0;
             for (int64_t i = 0; i < n; ++i) sum += a[i] * std::max(b[i], T{-127});
             return sum;
           }),
      Sums("fault.i8-products-lose-lowest-bit", IsInteger,
           []<class T>(const T* a, const T* b, int64_t n) {
             T sum = 0;
             for (int64_t i = 0; i < n; ++i) sum += std::floor(a[i] * b[i] / 2) * 2;
             return sum;
           }),
  };
}

std::vector<Entry> WrongEnds() {
  return {
      Ends("fault.bias-twice-in-last-column", HasBias,
           []<class T>(Spec s, At at, T sum, std::span<const T> bias) {
             return AddBias(s, at, at.at[2] + 1 == s.out[2] ? AddBias(s, at, sum, bias) : sum, bias);
           }),
      Ends(
          "fault.bias-of-first-channel-of-4", [](Spec s) { return s.has_bias && s.o > 1; },
          []<class T>(Spec, At at, T sum, std::span<const T> bias) {
            return sum + bias[static_cast<size_t>(at.channel / 4 * 4)];
          }),
      Ends(
          "fault.bias-missing-beyond-position-63", [](Spec s) { return s.has_bias && s.Positions() > 64; },
          []<class T>(Spec s, At at, T sum, std::span<const T> bias) {
            return PositionOf(s, at) > 63 ? sum : AddBias(s, at, sum, bias);
          }),
      Ends(
          "fault.outputs-clipped-at-2", [](Spec s) { return !IsInteger(s); },
          []<class T>(Spec s, At at, T sum, std::span<const T> bias) {
            return std::min(AddBias(s, at, sum, bias), T{2});
          }),
      Ends(
          "fault.leaky-epilogue-left-in-last-channel", [](Spec s) { return !IsInteger(s) && s.o > 1; },
          []<class T>(Spec s, At at, T sum, std::span<const T> bias) {
            const T y = AddBias(s, at, sum, bias);
            return at.channel + 1 == s.o && y < 0 ? y / 100 : y;
          }),
  };
}

}  // namespace

std::vector<Entry> ConvFreshSums() {
  std::vector<Entry> all = LostTerms();
  for (const auto& list : {LostBits(), WrongEnds()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Convolutions that lose channels, taps or bits of their sums, or add the wrong bias.
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;

// Terms that are left out: of some channels or taps, along one axis of the kernel or all of them, for some outputs.
struct TermBug {
  const char* name;
  Which channels = All(), taps = All(), tap_rows = All(), tap_columns = All();
  Which images = All(), outputs = All(), positions = All();
};

constexpr TermBug kTermBugs[] = {
    {.name = "fault.channels-beyond-3-ignored", .channels = From(4)},
    {.name = "fault.channels-beyond-63-ignored", .channels = From(64)},
    {.name = "fault.channels-beyond-255-ignored", .channels = From(256)},
    {.name = "fault.channels-beyond-1023-ignored", .channels = From(1024)},
    {.name = "fault.last-channel-lost-at-rest-1-of-4", .channels = IfRest(4, 1)},
    {.name = "fault.last-channel-lost-at-rest-0-of-8", .channels = IfRest(8, 0)},
    {.name = "fault.tail-of-4-channels-lost", .channels = Tail(4)},
    {.name = "fault.channel-15-of-16-lost", .channels = Every(16, 15)},
    {.name = "fault.last-channel-lost-in-last-image", .channels = Last(), .images = Last()},
    {.name = "fault.first-channel-lost-beyond-output-channel-7", .channels = First(), .outputs = From(8)},
    {.name = "fault.last-channel-lost-beyond-position-127", .channels = Last(), .positions = From(128)},
    {.name = "fault.middle-channel-lost-in-tail-positions", .channels = Middle(), .positions = Tail(16)},
    {.name = "fault.taps-beyond-6-in-a-row-ignored", .tap_columns = From(6)},
    {.name = "fault.taps-beyond-8-ignored", .taps = From(8)},
    {.name = "fault.taps-beyond-24-ignored", .taps = From(25)},
    {.name = "fault.taps-beyond-127-ignored", .taps = From(128)},
    {.name = "fault.last-row-of-taps-lost", .tap_rows = InExtentsFrom(2, Last())},
    {.name = "fault.first-column-of-taps-lost", .tap_columns = InExtentsFrom(2, First())},
    {.name = "fault.middle-tap-lost-in-odd-output-channels", .taps = Middle(), .outputs = Every(2, 1)},
    {.name = "fault.last-tap-of-first-channel-lost-in-middle-position",
     .channels = First(),
     .taps = Last(),
     .positions = Middle()},
};

bool IsLost(const TermBug& b, Spec s, const Pixel& at, int64_t channel, int64_t tap) {
  const Extents t = SplitIndex(tap, s.kernel);
  return b.channels.Has(channel, s.GroupInputs()) && b.taps.Has(tap, s.Taps()) && b.tap_rows.Has(t[1], s.kernel[1]) &&
         b.tap_columns.Has(t[2], s.kernel[2]) && b.images.Has(at.image, s.n) && b.outputs.Has(at.channel, s.o) &&
         b.positions.Has(PositionOf(s, at), s.Positions());
}

template <class T>
void LostTerms(ConvEdits<T>& of) {
  for (const TermBug& b : kTermBugs) {
    const auto strikes = [b](Spec s) {
      return b.channels.Strikes(s.GroupInputs()) && b.taps.Strikes(s.Taps()) && b.tap_rows.Strikes(s.kernel[1]) &&
             b.tap_columns.Strikes(s.kernel[2]) && b.images.Strikes(s.n) && b.outputs.Strikes(s.o) &&
             b.positions.Strikes(s.Positions());
    };
    of(b.name, strikes).keeps = [b](Spec s, const Pixel& at, int64_t channel, int64_t tap) {
      return !IsLost(b, s, at, channel, tap);
    };
  }
}

struct SumBug {
  const char* name;
  Summation sum;
  bool integers = false;
  plugin::DType only{};
};

constexpr Rounding Saturating(int bits) {
  return {Rounding::How::kTowardZero, {bits, 0, bits - 1}, false, true};
}

const SumBug kSumBugs[] = {
    {"fault.sums-toward-zero-in-f32", {.partial = TowardZero(kSingle)}, false, plugin::kF32},
    {"fault.sums-of-20-bits", {.partial = NearestBits(20)}},
    {"fault.sums-in-tf32-every-9-terms", {.partial = Nearest(kTensor), .every = 9}},
    {"fault.sums-flushed-to-f16-every-32-terms", {.partial = Nearest(kHalf), .every = 32}},
    {"fault.sums-flushed-to-bf16-every-36-terms", {.partial = Nearest(kBrain), .every = 36}},
    {"fault.sums-rounded-up-to-17-bits", {.partial = {Rounding::How::kUp, {17, -126, 127}}}},
    {"fault.sums-rounded-stochastically-to-14-bits",
     {.partial = {Rounding::How::kStochastic, {14, -126, 127}}, .every = 4}},
    {"fault.split-k-4-parts-in-bf16", {.parts = 4, .part = Nearest(kBrain)}},
    {"fault.blocks-of-27-truncated-to-16-bits", {.block = 27, .part = TruncatedBits(16)}},
    {"fault.products-of-13-bits", {.product = NearestBits(13)}},
    {"fault.products-flush-below-f16-range", {.product = {Rounding::How::kNearest, {53, -14, 1023}, true}}},
    {"fault.middle-term-doubled", {.doubled = Middle()}},
    {"fault.first-term-of-each-32-doubled", {.doubled = Every(32, 0)}},
    {"fault.f64-sums-flushed-to-f32-every-8-terms", {.partial = Nearest(kSingle), .every = 8}, false, plugin::kF64},
    {"fault.i8-sums-saturate-in-16-bits", {.partial = Saturating(15)}, true},
    {"fault.i8-quads-saturate-in-i16", {.block = 4, .part = Saturating(15)}, true},
    {"fault.i8-sums-in-bf16-every-16-terms", {.partial = Nearest(kBrain), .every = 16}, true},
    {"fault.i8-sums-in-16-bits-of-f32", {.partial = NearestBits(16)}, true},
};

template <class T>
void Sums(ConvEdits<T>& of) {
  for (const SumBug& bug : kSumBugs) {
    const auto strikes = [bug](Spec s) {
      const bool terms = bug.sum.doubled.IsNone() || bug.sum.doubled.Strikes(s.Terms());
      const bool type = bug.only.bits == 0 || bug.only == s.x.dtype;
      return s.Terms() > 1 && terms && type && (s.x.dtype == plugin::kI8) == bug.integers;
    };
    of(bug.name, strikes).dot = DotBy<T>(bug.sum);
  }
}

constexpr auto kBiased = [](Spec s) { return s.has_bias; };
constexpr auto kBiasedImages = [](Spec s) { return s.has_bias && s.n > 1; };
constexpr auto kNarrowOutput = [](Spec s) {
  const bool narrow = s.x.dtype == plugin::kF16 || s.x.dtype == plugin::kBF16;
  return narrow && (s.y.dtype == s.x.dtype || s.y.dtype == plugin::kF64);
};
constexpr auto kNarrowAndBiased = [](Spec s) { return s.has_bias && kNarrowOutput(s); };
constexpr auto kSquareImages = [](Spec s) { return s.has_bias && s.out[1] == s.out[2]; };

Format FormatOf(Spec s) {
  return s.x.dtype == plugin::kF16 ? kHalf : kBrain;
}

// In another way than to nearest even. Sums of f16 and bf16 are f32; wider ones are an effect's: the exact result and
// the difference that this makes.
template <class T>
T StoredBy(Rounding::How how, Spec s, T y) {
  const T stored = Rounded({how, FormatOf(s)}, y);
  return sizeof(T) > sizeof(float) ? y + (stored - Rounded(Nearest(FormatOf(s)), y)) : stored;
}

template <class T>
void EndingFaults(ConvEdits<T>& of) {
  using At = const Pixel&;
  using Bias = std::span<const T>;
  of("fault.bias-ignored-for-square-outputs", kSquareImages).epilogue = [](Spec, At, T sum, Bias) { return sum; };
  of("fault.bias-subtracted", kBiased).epilogue = [](Spec, At at, T sum, Bias bias) {
    return sum - bias[static_cast<size_t>(at.channel)];
  };
  of("fault.bias-in-first-image-only", kBiasedImages).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return at.image == 0 ? AddBias(s, at, sum, bias) : sum;
  };
  of("fault.bias-missing-at-first-position", kBiased).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return PositionOf(s, at) == 0 ? sum : AddBias(s, at, sum, bias);
  };
  of("fault.bias-of-first-channel-for-all", kBiased).epilogue = [](Spec, At, T sum, Bias bias) {
    return sum + bias[0];
  };
  of("fault.bias-added-per-channel-of-input", kBiased).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return sum + bias[static_cast<size_t>(at.channel)] * static_cast<T>(s.GroupInputs());
  };
  of("fault.sum-stored-before-bias", kNarrowAndBiased).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return AddBias(s, at, Rounded(Nearest(FormatOf(s)), sum), bias);
  };
  of("fault.output-rounded-toward-zero", kNarrowOutput).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return StoredBy(Rounding::How::kTowardZero, s, AddBias(s, at, sum, bias));
  };
  of("fault.output-rounded-stochastically", kNarrowOutput).epilogue = [](Spec s, At at, T sum, Bias bias) {
    return StoredBy(Rounding::How::kStochastic, s, AddBias(s, at, sum, bias));
  };
}

}  // namespace

std::vector<Entry> ConvHeldSums() {
  return ConvRows([](auto& of) { EndingFaults(of), LostTerms(of), Sums(of); });
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Convolutions that read the wrong place: axes mixed up, groups and channels of a tile, taps of long kernels.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;

using enum Strike;
constexpr int kDepth = 0, kHeight = 1, kWidth = 2;

size_t At(int axis) {
  return static_cast<size_t>(axis);
}

template <class T>
void SourceFaults(ConvEdits<T>& of) {
  of("fault.stride-and-dilation-swapped", [](Spec s) {
    return s.stride[2] != s.dilation[2] && s.out[2] > 1 && s.kernel[2] > 1;
  }).source = [](Spec s, int a, int64_t p, int64_t t) {
    return p * s.dilation[At(a)] + t * s.stride[At(a)] - s.pad[At(a)];
  };
  of("fault.dilation-squared-in-width", [](Spec s) { return s.dilation[2] > 1 && s.kernel[2] > 1; }).source =
      [](Spec s, int a, int64_t p, int64_t t) {
        return SourceOf(s, a, p, t) + (a == kWidth ? t * s.dilation[2] * (s.dilation[2] - 1) : 0);
      };
  of("fault.padding-of-depth-ignored", [](Spec s) { return s.rank == 3 && s.pad[0] > 0 && s.kernel[0] > 1; }).source =
      [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) + (a == kDepth ? s.pad[0] : 0); };
  of("fault.even-kernels-read-one-column-on", [](Spec s) { return s.kernel[2] % 2 == 0; }).source =
      [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) + (a == kWidth ? 1 : 0); };
  of("fault.last-column-seen-by-last-tap-is-column-before", [](Spec s) {
    return s.kernel[2] > 1 && s.in[2] > 1;
  }).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kWidth && t + 1 == s.kernel[2] && source == s.in[2] - 1 ? source - 1 : source;
  };
  of("fault.row-7-of-8-reads-sources-of-row-before", [](Spec s) { return s.out[1] > 7; }).source =
      [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, a == kHeight && p % 8 == 7 ? p - 1 : p, t); };
  of("fault.stride-of-outputs-beyond-16-one-less", [](Spec s) { return s.stride[2] > 1 && s.out[2] > 17; }).source =
      [](Spec s, int a, int64_t p, int64_t t) {
        return SourceOf(s, a, p, t) - (a == kWidth ? std::max<int64_t>(0, p - 16) : 0);
      };
  of("fault.bottom-padding-repeats-last-row-but-one", [](Spec s) {
    return s.pad[1] > 0 && s.in[1] > 1 && s.stride[1] == 1;
  }).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kHeight && source >= s.in[1] ? s.in[1] - 2 : source;
  };
}

template <class T>
void ChannelFaults(ConvEdits<T>& of) {
  // A tile of four output channels takes the group of its first.
  of("fault.group-of-first-output-of-tile-of-4", [](Spec s) {
    return s.groups > 1 && s.GroupOutputs() % 4 != 0;
  }).channel = [](Spec s, int64_t o, int64_t c) { return ChannelOf(s, o / 4 * 4, c); };
  of("fault.channels-of-tail-of-16-count-from-0", [](Spec s) {
    return s.GroupInputs() > 16 && s.GroupInputs() % 16 != 0;
  }).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, c >= s.GroupInputs() / 16 * 16 ? c % 16 : c);
  };
  of("fault.channel-quads-crossed-beyond-output-3", [](Spec s) {
    return s.GroupInputs() % 4 == 0 && s.o > 4;
  }).channel = [](Spec s, int64_t o, int64_t c) { return ChannelOf(s, o, o > 3 ? c ^ 2 : c); };
  of("fault.groups-with-stride-of-one-channel", [](Spec s) { return s.groups > 1 && s.GroupInputs() > 1; }).channel =
      [](Spec s, int64_t o, int64_t c) { return o / s.GroupOutputs() + c; };
  of("fault.tap-column-in-2-bits", [](Spec s) { return s.kernel[2] > 4; }).tap = [](Spec, const Extents& t) {
    return Extents{t[0], t[1], t[2] & 3};
  };
  of("fault.first-two-rows-of-taps-swapped", [](Spec s) { return s.kernel[1] > 2; }).tap = [](Spec, const Extents& t) {
    return Extents{t[0], t[1] < 2 ? 1 - t[1] : t[1], t[2]};
  };
  of("fault.corner-tap-takes-weight-of-centre", [](Spec s) { return s.kernel[1] > 1 && s.kernel[2] > 2; }).tap =
      [](Spec s, const Extents& t) {
        const bool corner = t[1] + 1 == s.kernel[1] && t[2] + 1 == s.kernel[2];
        return corner ? Extents{t[0], s.kernel[1] / 2, s.kernel[2] / 2} : t;
      };
}

// Axes of two-dimensional cases.
constexpr IoBug kPlaces[] = {
    IoBug{"fault.channels-of-last-image-swapped", 0, -3, All(), kSwapped}.And(-4, InExtentsFrom(2, Last())),
    IoBug{"fault.weights-of-odd-outputs-in-bf16", 1, -1, All(), kRounded}.To(Nearest(kBrain)).And(-4, Every(2, 1)),
    {"fault.row-15-of-16-of-input-is-row-before", 0, -2, Every(16, 15), kPrevious},
    IoBug{"fault.last-4-columns-of-odd-channels-unwritten", kOutput, -1, LastBlock(4), kUnwritten}.And(-3, Every(2, 1)),
    {"fault.first-channel-of-former-run-in-last-image", 0, -3, First(), kStale, When::kAlways, {}, 0, -4, Last()},
};

}  // namespace

std::vector<Entry> ConvFreshReads() {
  return Joined({ConvRows([](auto& of) { SourceFaults(of), ChannelFaults(of); }), ConvIoBugs(kPlaces)});
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Convolutions that read the wrong element of x, the wrong channel or the wrong tap.
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;

constexpr int kDepth = 0, kHeight = 1, kWidth = 2;

size_t At(int axis) {
  return static_cast<size_t>(axis);
}
// The other of height and width.
int Other(int axis) {
  return axis == kDepth ? kDepth : kHeight + kWidth - axis;
}
int64_t Read(int64_t p, int64_t stride, int64_t t, int64_t dilation, int64_t pad) {
  return p * stride + t * dilation - pad;
}

// Where each bug can strike.
constexpr auto kPadded = [](Spec s) { return s.pad[2] > 0; };
constexpr auto kUnlikePads = [](Spec s) { return s.pad[1] != s.pad[2] && s.rank > 1; };
constexpr auto kUnlikeDilations = [](Spec s) { return s.dilation[1] != s.dilation[2] && s.rank > 1; };
constexpr auto kUnlikeExtents = [](Spec s) { return s.in[1] != s.in[2] && s.rank > 1; };
constexpr auto kPaddedAndDilated = [](Spec s) { return s.pad[2] > 0 && s.dilation[2] * s.dilation[1] > 1; };
constexpr auto kPaddedAndStrided = [](Spec s) { return s.pad[2] > 0 && s.stride[2] > 1; };
constexpr auto kStrided = [](Spec s) { return s.stride[2] > 1 && s.out[2] > 1; };
constexpr auto kStridedPoints = [](Spec s) { return s.stride[2] > 1 && s.Taps() == 1 && s.out[2] > 1; };
constexpr auto kDilated = [](Spec s) { return s.dilation[2] > 1 && s.kernel[2] > 1; };
constexpr auto kLarge = [](Spec s) { return s.in[2] > 128; };
constexpr auto kSeveralRows = [](Spec s) { return s.out[1] > 1; };
constexpr auto kThreeAxes = [](Spec s) { return s.rank == 3 && s.kernel[0] > 1; };
constexpr auto kSeveralTaps = [](Spec s) { return s.kernel[2] > 1; };
constexpr auto kSeveralTapRows = [](Spec s) { return s.kernel[1] > 1; };
constexpr auto kGrouped = [](Spec s) { return s.groups > 1; };
constexpr auto kGroupsOfOutputs = [](Spec s) { return s.groups > 1 && s.GroupOutputs() > 1; };
constexpr auto kSeveralChannels = [](Spec s) { return s.GroupInputs() > 2; };
constexpr auto kManyChannels = [](Spec s) { return s.GroupInputs() > 32; };
constexpr auto kFloatPadded = [](Spec s) { return s.x.dtype != plugin::kI8 && s.pad[2] > 0; };
constexpr auto kIntegerPadded = [](Spec s) { return s.x.dtype == plugin::kI8 && s.pad[2] > 0; };

template <class T>
void SourceFaults(ConvEdits<T>& of) {
  of("fault.paddings-of-height-and-width-swapped", kUnlikePads).source = [](Spec s, int a, int64_t p, int64_t t) {
    return Read(p, s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(Other(a))]);
  };
  of("fault.dilations-of-height-and-width-swapped", kUnlikeDilations).source = [](Spec s, int a, int64_t p, int64_t t) {
    return Read(p, s.stride[At(a)], t, s.dilation[At(Other(a))], s.pad[At(a)]);
  };
  of("fault.stride-for-dilation", kStrided).source = [](Spec s, int a, int64_t p, int64_t t) {
    return Read(p, s.stride[At(a)], t, s.stride[At(a)], s.pad[At(a)]);
  };
  of("fault.padding-applied-twice", kPadded).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) - s.pad[At(a)];
  };
  of("fault.padding-ignored-in-height", kPadded).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) + (a == kHeight ? s.pad[At(a)] : 0);
  };
  of("fault.padding-times-dilation", kPaddedAndDilated).source = [](Spec s, int a, int64_t p, int64_t t) {
    return Read(p, s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(a)] * s.dilation[At(a)]);
  };
  of("fault.padding-times-stride", kPaddedAndStrided).source = [](Spec s, int a, int64_t p, int64_t t) {
    return (p - s.pad[At(a)]) * s.stride[At(a)] + t * s.dilation[At(a)];
  };
  of("fault.padding-one-more-in-height", kPadded).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) - (a == kHeight ? 1 : 0);
  };
  of("fault.stride-ignored-by-1x1-kernels", kStridedPoints).source = [](Spec s, int a, int64_t p, int64_t) {
    return p - s.pad[At(a)];
  };
  of("fault.stride-ignored-in-height", kStrided).source = [](Spec s, int a, int64_t p, int64_t t) {
    return Read(p, a == kHeight ? 1 : s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(a)]);
  };
  of("fault.stride-off-in-last-output", kStrided).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) - (a == kWidth && p + 1 == s.out[2] ? 1 : 0);
  };
  of("fault.dilation-one-less", kDilated).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) - (s.dilation[At(a)] > 1 ? t : 0);
  };
  of("fault.source-in-i8", kLarge).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return source > 127 ? source - 256 : source;
  };
  of("fault.source-in-bf16", kLarge).source = [](Spec s, int a, int64_t p, int64_t t) {
    return static_cast<int64_t>(Rounded(Nearest(kBrain), static_cast<double>(SourceOf(s, a, p, t))));
  };
  of("fault.last-row-read-as-padding", kSeveralRows).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kHeight && source == s.in[1] - 1 ? -1 : source;
  };
  of("fault.first-column-read-as-padding").source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kWidth && source == 0 ? -1 : source;
  };
  of("fault.height-bounded-by-width", kUnlikeExtents).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kHeight && source >= s.in[2] ? -1 : source;
  };
  of("fault.padding-reflects", kPadded).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kWidth && source < 0 ? -source : source;
  };
  of("fault.padding-repeats-edge-in-height", kPadded).source = [](Spec s, int a, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, a, p, t);
    return a == kHeight ? std::clamp<int64_t>(source, 0, s.in[1] - 1) : source;
  };
  of("fault.tail-outputs-read-one-back").source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, t) - (a == kWidth && Tail(4).Has(p, s.out[2]) ? 1 : 0);
  };
  of("fault.depth-reads-reversed-taps", kThreeAxes).source = [](Spec s, int a, int64_t p, int64_t t) {
    return SourceOf(s, a, p, a == kDepth ? s.kernel[0] - 1 - t : t);
  };
  of("fault.padding-of-minus-1", kFloatPadded).padding = T{-1};
  of("fault.padding-of-zero-point", kIntegerPadded).padding = T{-128};
}

template <class T>
void ChannelFaults(ConvEdits<T>& of) {
  of("fault.group-of-output-modulo-groups", kGroupsOfOutputs).channel = [](Spec s, int64_t o, int64_t c) {
    return o % s.groups * s.GroupInputs() + c;
  };
  of("fault.group-size-of-inputs-for-outputs", kGroupsOfOutputs).channel = [](Spec s, int64_t o, int64_t c) {
    return std::min(o / s.GroupInputs(), s.groups - 1) * s.GroupInputs() + c;
  };
  of("fault.last-group-reads-first", kGrouped).channel = [](Spec s, int64_t o, int64_t c) {
    return o / s.GroupOutputs() + 1 == s.groups ? c : ChannelOf(s, o, c);
  };
  of("fault.groups-beyond-8-wrap", kGrouped).channel = [](Spec s, int64_t o, int64_t c) {
    return o / s.GroupOutputs() % 8 * s.GroupInputs() + c;
  };
  of("fault.channel-index-in-5-bits", kManyChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, c % 32);
  };
  of("fault.last-channel-reads-previous", kSeveralChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, c + 1 == s.GroupInputs() ? c - 1 : c);
  };
  of("fault.channels-of-tail-of-4-swapped", kSeveralChannels).channel = [](Spec s, int64_t o, int64_t c) {
    const int64_t n = s.GroupInputs();
    return ChannelOf(s, o, Tail(4).Has(c, n) ? n - 1 - (c - n / 4 * 4) : c);
  };
  of("fault.channels-of-odd-outputs-rotated", kSeveralChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, (c + o % 2) % s.GroupInputs());
  };
  of("fault.kernel-flipped-in-width", kSeveralTaps).tap = [](Spec s, const Extents& t) {
    return Extents{t[0], t[1], s.kernel[2] - 1 - t[2]};
  };
  of("fault.kernel-flipped-in-height", kSeveralTapRows).tap = [](Spec s, const Extents& t) {
    return Extents{t[0], s.kernel[1] - 1 - t[1], t[2]};
  };
  of("fault.kernel-of-depth-flipped", kThreeAxes).tap = [](Spec s, const Extents& t) {
    return Extents{s.kernel[0] - 1 - t[0], t[1], t[2]};
  };
  of("fault.last-tap-repeats-previous", kSeveralTaps).tap = [](Spec s, const Extents& t) {
    return Extents{t[0], t[1], t[2] + 1 == s.kernel[2] ? t[2] - 1 : t[2]};
  };
  of("fault.tap-row-read-with-stride-of-columns-plus-1", kSeveralTapRows).tap = [](Spec s, const Extents& t) {
    return Extents{t[0], t[1], (t[2] + t[1]) % s.kernel[2]};
  };
}

}  // namespace

std::vector<Entry> ConvHeldReads() {
  return ConvRows([](auto& of) { SourceFaults(of), ChannelFaults(of); });
}

}  // namespace corpus

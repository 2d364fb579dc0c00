// SPDX-License-Identifier: Apache-2.0
// Convolutions that read or sum the wrong terms.
#include <algorithm>

#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {
namespace conv_terms {

using Spec = const ConvSpec&;
constexpr int kLastAxis = 2;

size_t Axis(int axis) {
  return static_cast<size_t>(axis);
}
bool IsLastOutput(Spec s, const Pixel& p) {
  return p.image == s.n - 1 && p.channel == s.o - 1 && PositionOf(s, p) == s.Positions() - 1;
}
bool IsNotLastTerm(Spec s, int64_t c, int64_t tap) {
  return c + 1 < s.GroupInputs() || tap + 1 < s.Taps();
}
// Whether an output sees the tap, not padding.
bool SeesTap(Spec s, const Extents& p, const Extents& tap) {
  return s.Sees(0, p[0], tap[0]) && s.Sees(1, p[1], tap[1]) && s.Sees(2, p[2], tap[2]);
}

// Where each bug can strike.
constexpr auto kSeveralColumns = [](Spec s) { return s.out[2] > 1; };
constexpr auto kStrided = [](Spec s) { return s.stride[2] > 1 && s.out[2] > 1; };
constexpr auto kUnlikeStrides = [](Spec s) {
  return s.rank > 1 && s.stride[1] != s.stride[2] && s.out[1] > 1 && s.out[2] > 1;
};
constexpr auto kDilated = [](Spec s) { return s.dilation[2] > 1 && s.kernel[2] > 1; };
constexpr auto kSeveralTapsInARow = [](Spec s) { return s.kernel[2] > 1; };
constexpr auto kPadded = [](Spec s) { return s.pad[2] > 0; };
constexpr auto kPaddedAtTheEnd = [](Spec s) { return !s.Sees(2, s.out[2] - 1, s.kernel[2] - 1); };
constexpr auto kSeesLastColumn = [](Spec s) {
  const int64_t distance = s.in[2] - 1 - s.Source(2, s.out[2] - 1, 0);
  return distance >= 0 && distance % s.dilation[2] == 0 && distance / s.dilation[2] < s.kernel[2];
};
constexpr auto kGrouped = [](Spec s) { return s.groups > 1; };
constexpr auto kSeveralChannels = [](Spec s) { return s.GroupInputs() > 1; };
constexpr auto kGroupedChannels = [](Spec s) { return kGrouped(s) && kSeveralChannels(s); };
constexpr auto kSeveralTaps = [](Spec s) { return s.Taps() > 1; };
constexpr auto kSquareKernel = [](Spec s) { return s.kernel[2] > 1 && s.kernel[1] == s.kernel[2]; };
// The last output's middle tap is no padding.
constexpr auto kSeesMiddle = [](Spec s) {
  const Extents last{s.out[0] - 1, s.out[1] - 1, s.out[2] - 1};
  return s.Terms() > 1 && SeesTap(s, last, SplitIndex(s.Taps() / 2, s.kernel));
};
// Some output of the last tile sees the last tap.
constexpr auto kSeesLastTap = [](Spec s) {
  const Extents tap{s.kernel[0] - 1, s.kernel[1] - 1, s.kernel[2] - 1};
  for (int64_t i = (s.Positions() - 1) / 16 * 16; i < s.Positions(); ++i) {
    if (SeesTap(s, SplitIndex(i, s.out), tap)) return true;
  }
  return false;
};
constexpr auto kTail = [](Spec s) { return s.Terms() > 16 && s.Terms() % 16 != 0; };
constexpr auto kTailBeforeAnother = [](Spec s) { return s.Terms() % 16 != 0 && s.o > 1 && s.x.dtype != plugin::kI8; };

// Along the last axis, but for strides and dilations that are taken for others.
template <class T>
void Sources(ConvEdits<T>& of) {
  of("fault.stride-one-more", kSeveralColumns).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return SourceOf(s, axis, p, t) + (axis == kLastAxis ? p : 0);
  };
  of("fault.stride-ignored", kStrided).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return p + t * s.dilation[Axis(axis)] - s.pad[Axis(axis)];
  };
  of("fault.strides-swapped", kUnlikeStrides).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return p * s.stride[Axis(axis == 0 ? 0 : 3 - axis)] + t * s.dilation[Axis(axis)] - s.pad[Axis(axis)];
  };
  of("fault.dilation-ignored", kDilated).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return p * s.stride[Axis(axis)] + t - s.pad[Axis(axis)];
  };
  of("fault.dilation-one-more", kSeveralTapsInARow).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return SourceOf(s, axis, p, t) + (axis == kLastAxis ? t : 0);
  };
  of("fault.padding-one-less", kPadded).source = [](Spec s, int axis, int64_t p, int64_t t) {
    return SourceOf(s, axis, p, t) + (axis == kLastAxis ? 1 : 0);
  };
  of("fault.padding-repeats-edge-at-start", kPadded).source = [](Spec s, int axis, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, axis, p, t);
    return axis == kLastAxis ? std::max<int64_t>(source, 0) : source;
  };
  of("fault.padding-repeats-edge-at-end", kPaddedAtTheEnd).source = [](Spec s, int axis, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, axis, p, t);
    return axis == kLastAxis ? std::min(source, s.in[kLastAxis] - 1) : source;
  };
  // The other end of the row: an index that wrapped.
  of("fault.padding-wraps-around", kPadded).source = [](Spec s, int axis, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, axis, p, t), in = s.in[kLastAxis];
    return axis == kLastAxis ? (source % in + in) % in : source;
  };
  of("fault.last-column-read-as-padding", kSeesLastColumn).source = [](Spec s, int axis, int64_t p, int64_t t) {
    const int64_t source = SourceOf(s, axis, p, t);
    return axis == kLastAxis && source == s.in[kLastAxis] - 1 ? -1 : source;
  };
}

template <class T>
void ChannelsAndTaps(ConvEdits<T>& of) {
  of("fault.group-off-by-one", kGrouped).channel = [](Spec s, int64_t o, int64_t c) {
    return (o / s.GroupOutputs() + 1) % s.groups * s.GroupInputs() + c;
  };
  of("fault.group-0-for-all", kGrouped).channel = [](Spec, int64_t, int64_t c) { return c; };
  of("fault.groups-interleaved", kGroupedChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return c * s.groups + o / s.GroupOutputs();
  };
  of("fault.channels-reversed", kSeveralChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, s.GroupInputs() - 1 - c);
  };
  of("fault.first-channels-swapped", kSeveralChannels).channel = [](Spec s, int64_t o, int64_t c) {
    return ChannelOf(s, o, c < 2 ? 1 - c : c);
  };
  of("fault.kernel-flipped", kSeveralTaps).tap = [](Spec s, const Extents& t) {
    return Extents{s.kernel[0] - 1 - t[0], s.kernel[1] - 1 - t[1], s.kernel[2] - 1 - t[2]};
  };
  of("fault.kernel-transposed", kSquareKernel).tap = [](Spec, const Extents& t) { return Extents{t[0], t[2], t[1]}; };
}

template <class T>
void Terms(ConvEdits<T>& of) {
  of("fault.last-channel-dropped", kSeveralChannels).keeps = [](Spec s, const Pixel&, int64_t c, int64_t) {
    return c + 1 < s.GroupInputs();
  };
  of("fault.last-term-dropped-everywhere", kSeesLastTap).keeps = [](Spec s, const Pixel&, int64_t c, int64_t tap) {
    return IsNotLastTerm(s, c, tap);
  };
  of("fault.last-term-dropped-in-last-tile", kSeesLastTap).keeps = [](Spec s, const Pixel& p, int64_t c, int64_t tap) {
    return IsNotLastTerm(s, c, tap) || PositionOf(s, p) < (s.Positions() - 1) / 16 * 16;
  };
  of("fault.term-dropped-in-one-element", kSeesMiddle).keeps = [](Spec s, const Pixel& p, int64_t c, int64_t tap) {
    return c != s.GroupInputs() / 2 || tap != s.Taps() / 2 || !IsLastOutput(s, p);
  };
  of("fault.im2col-tail-dropped", kTail).keeps = [](Spec s, const Pixel&, int64_t c, int64_t tap) {
    return c * s.Taps() + tap < s.Terms() / 16 * 16;
  };
  of("fault.first-tap-dropped", kSeveralTaps).keeps = [](Spec s, const Pixel&, int64_t, int64_t tap) {
    return tap > 0 || s.Taps() == 1;
  };
  of("fault.im2col-tail-repeated", kTail).tail_repeats = true;
  of("fault.im2col-tail-meets-next-weights", kTailBeforeAnother).tail_of_next = true;
}

}  // namespace conv_terms

std::vector<Entry> ConvTermFaults() {
  using namespace conv_terms;
  return ConvRows([](auto& of) { Sources(of), ChannelsAndTaps(of), Terms(of); });
}

}  // namespace corpus

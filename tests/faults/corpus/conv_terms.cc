// SPDX-License-Identifier: Apache-2.0
// Convolutions that read or sum the wrong terms.
#include <algorithm>

#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {
namespace conv_terms {

constexpr int kLastAxis = 2;

size_t Axis(int axis) {
  return static_cast<size_t>(axis);
}

// One step too many, along the last axis.
int64_t StrideOneMore(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return SourceOf(s, axis, p, t) + (axis == kLastAxis ? p : 0);
}
int64_t StrideOne(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return p + t * s.dilation[Axis(axis)] - s.pad[Axis(axis)];
}
int64_t StridesSwapped(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  const int64_t stride = s.stride[Axis(axis == 0 ? 0 : 3 - axis)];
  return p * stride + t * s.dilation[Axis(axis)] - s.pad[Axis(axis)];
}
int64_t DilationOne(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return p * s.stride[Axis(axis)] + t - s.pad[Axis(axis)];
}
int64_t DilationOneMore(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return SourceOf(s, axis, p, t) + (axis == kLastAxis ? t : 0);
}
int64_t PadOneLess(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return SourceOf(s, axis, p, t) + (axis == kLastAxis ? 1 : 0);
}
// Padding repeats the edge, at the end or at the start of the last axis.
int64_t EndClamped(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  const int64_t source = SourceOf(s, axis, p, t);
  return axis == kLastAxis ? std::min(source, s.in[kLastAxis] - 1) : source;
}
int64_t StartClamped(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  const int64_t source = SourceOf(s, axis, p, t);
  return axis == kLastAxis ? std::max<int64_t>(source, 0) : source;
}
// The other end of the row: an index that wrapped.
int64_t Wrapped(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  const int64_t source = SourceOf(s, axis, p, t), in = s.in[kLastAxis];
  return axis == kLastAxis ? (source % in + in) % in : source;
}
// Behind the last column as if one column were missing.
int64_t LastColumnUnseen(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  const int64_t source = SourceOf(s, axis, p, t);
  return axis == kLastAxis && source == s.in[kLastAxis] - 1 ? -1 : source;
}

int64_t NextGroup(const ConvSpec& s, int64_t o, int64_t c) {
  return (o / s.GroupOutputs() + 1) % s.groups * s.GroupInputs() + c;
}
int64_t GroupsInterleaved(const ConvSpec& s, int64_t o, int64_t c) {
  return c * s.groups + o / s.GroupOutputs();
}
int64_t FirstGroup(const ConvSpec&, int64_t, int64_t c) {
  return c;
}
int64_t ChannelsReversed(const ConvSpec& s, int64_t o, int64_t c) {
  return ChannelOf(s, o, s.GroupInputs() - 1 - c);
}
int64_t FirstChannelsSwapped(const ConvSpec& s, int64_t o, int64_t c) {
  return ChannelOf(s, o, c < 2 ? 1 - c : c);
}

Extents Flipped(const ConvSpec& s, const Extents& t) {
  return {s.kernel[0] - 1 - t[0], s.kernel[1] - 1 - t[1], s.kernel[2] - 1 - t[2]};
}
Extents Transposed(const ConvSpec&, const Extents& t) {
  return {t[0], t[2], t[1]};
}

bool IsLastOutput(const ConvSpec& s, const Pixel& p) {
  return p.image == s.n - 1 && p.channel == s.o - 1 && PositionOf(s, p) == s.Positions() - 1;
}
bool WithoutLastChannel(const ConvSpec& s, const Pixel&, int64_t c, int64_t) {
  return c + 1 < s.GroupInputs();
}
bool WithoutLastTerm(const ConvSpec& s, const Pixel&, int64_t c, int64_t tap) {
  return c + 1 < s.GroupInputs() || tap + 1 < s.Taps();
}
bool WithoutLastTermInLastTile(const ConvSpec& s, const Pixel& p, int64_t c, int64_t tap) {
  return WithoutLastTerm(s, p, c, tap) || PositionOf(s, p) < (s.Positions() - 1) / 16 * 16;
}
bool WithoutMiddleTermInOneElement(const ConvSpec& s, const Pixel& p, int64_t c, int64_t tap) {
  return c != s.GroupInputs() / 2 || tap != s.Taps() / 2 || !IsLastOutput(s, p);
}
bool WithoutTail(const ConvSpec& s, const Pixel&, int64_t c, int64_t tap) {
  return c * s.Taps() + tap < s.Terms() / 16 * 16;
}
bool WithoutFirstTap(const ConvSpec& s, const Pixel&, int64_t, int64_t tap) {
  return tap > 0 || s.Taps() == 1;
}

// Where each bug can strike.
std::string SeveralColumns(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.out[2] > 1; }, "this needs several outputs in a row");
}
std::string Strided(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.stride[2] > 1 && s.out[2] > 1; }, "this needs a stride");
}
std::string UnlikeStrides(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.rank > 1 && s.stride[1] != s.stride[2] && s.out[1] > 1 && s.out[2] > 1; },
      "this needs unlike strides");
}
std::string Dilated(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.dilation[2] > 1 && s.kernel[2] > 1; }, "this needs dilated taps");
}
std::string SeveralTapsInARow(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.kernel[2] > 1; }, "this needs several taps in a row");
}
std::string Padded(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.pad[2] > 0; }, "this needs padding");
}
std::string PaddedAtTheEnd(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return !s.Sees(2, s.out[2] - 1, s.kernel[2] - 1); },
      "this needs an output that reads padding at the end of a row");
}
std::string SeesLastColumn(Description op) {
  return ConvWhen(
      op,
      [](const auto& s) {
        for (int64_t t = 0; t < s.kernel[2]; ++t) {
          if (s.Source(2, s.out[2] - 1, t) == s.in[2] - 1) return true;
        }
        return false;
      },
      "this needs an output that reads the last column");
}
std::string Grouped(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.groups > 1; }, "this needs groups");
}
std::string GroupedChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.groups > 1 && s.GroupInputs() > 1; }, "this needs groups of several channels");
}
std::string SeveralChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.GroupInputs() > 1; }, "this needs several channels");
}
std::string SeveralTaps(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.Taps() > 1; }, "this needs several taps");
}
std::string SquareKernel(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.kernel[2] > 1 && s.kernel[1] == s.kernel[2]; }, "this needs a square kernel");
}
// The last output's middle tap is no padding.
std::string SeesMiddle(Description op) {
  return ConvWhen(
      op,
      [](const auto& s) {
        const Extents middle = SplitIndex(s.Taps() / 2, s.kernel);
        for (int a = 0; a < 3; ++a) {
          if (!s.Sees(a, s.out[Axis(a)] - 1, middle[Axis(a)])) return false;
        }
        return s.Terms() > 1;
      },
      "this needs a middle tap that the last output sees");
}
// Sums and tails: some output of the last tile sees the last tap.
std::string SeesLastTap(Description op) {
  return ConvWhen(
      op,
      [](const auto& s) {
        for (int64_t i = (s.Positions() - 1) / 16 * 16; i < s.Positions(); ++i) {
          const Extents p = SplitIndex(i, s.out);
          bool sees = true;
          for (int a = 0; a < 3; ++a) sees = sees && s.Sees(a, p[Axis(a)], s.kernel[Axis(a)] - 1);
          if (sees) return true;
        }
        return false;
      },
      "this needs an output of the last tile that sees the last tap");
}
std::string Tail(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.Terms() > 16 && s.Terms() % 16 != 0; },
      "this needs terms that are no multiple of 16");
}

std::string TailBeforeAnother(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.Terms() % 16 != 0 && s.o > 1 && s.x.dtype != plugin::kI8; },
      "this needs several channels of terms that are no multiple of 16");
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return ConvEntry(name, ConvContract, why_not, make);
}
template <int64_t (*kSource)(const ConvSpec&, int, int64_t, int64_t)>
Entry Reads(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return ConvKernel<T>{.source = kSource}; });
}
template <int64_t (*kChannel)(const ConvSpec&, int64_t, int64_t)>
Entry ReadsChannel(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return ConvKernel<T>{.channel = kChannel}; });
}
template <Extents (*kTap)(const ConvSpec&, const Extents&)>
Entry ReadsTap(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return ConvKernel<T>{.tap = kTap}; });
}
template <bool (*kKeeps)(const ConvSpec&, const Pixel&, int64_t, int64_t)>
Entry Keeps(const char* name, TextOf why_not) {
  return Fault(name, why_not, []<class T>(std::type_identity<T>) { return ConvKernel<T>{.keeps = kKeeps}; });
}

}  // namespace conv_terms

std::vector<Entry> ConvTermFaults() {
  using namespace conv_terms;
  return {
      Reads<StrideOneMore>("fault.stride-one-more", SeveralColumns),
      Reads<StrideOne>("fault.stride-ignored", Strided),
      Reads<StridesSwapped>("fault.strides-swapped", UnlikeStrides),
      Reads<DilationOne>("fault.dilation-ignored", Dilated),
      Reads<DilationOneMore>("fault.dilation-one-more", SeveralTapsInARow),
      Reads<PadOneLess>("fault.padding-one-less", Padded),
      Reads<StartClamped>("fault.padding-repeats-edge-at-start", Padded),
      Reads<EndClamped>("fault.padding-repeats-edge-at-end", PaddedAtTheEnd),
      Reads<Wrapped>("fault.padding-wraps-around", Padded),
      Reads<LastColumnUnseen>("fault.last-column-read-as-padding", SeesLastColumn),
      ReadsChannel<NextGroup>("fault.group-off-by-one", Grouped),
      ReadsChannel<FirstGroup>("fault.group-0-for-all", Grouped),
      ReadsChannel<GroupsInterleaved>("fault.groups-interleaved", GroupedChannels),
      ReadsChannel<ChannelsReversed>("fault.channels-reversed", SeveralChannels),
      ReadsChannel<FirstChannelsSwapped>("fault.first-channels-swapped", SeveralChannels),
      ReadsTap<Flipped>("fault.kernel-flipped", SeveralTaps),
      ReadsTap<Transposed>("fault.kernel-transposed", SquareKernel),
      Keeps<WithoutLastChannel>("fault.last-channel-dropped", SeveralChannels),
      Keeps<WithoutLastTerm>("fault.last-term-dropped-everywhere", SeesLastTap),
      Keeps<WithoutLastTermInLastTile>("fault.last-term-dropped-in-last-tile", SeesLastTap),
      Keeps<WithoutMiddleTermInOneElement>("fault.term-dropped-in-one-element", SeesMiddle),
      Keeps<WithoutTail>("fault.im2col-tail-dropped", Tail),
      Keeps<WithoutFirstTap>("fault.first-tap-dropped", SeveralTaps),
      Fault("fault.im2col-tail-repeated", Tail,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.tail_repeats = true}; }),
      Fault("fault.im2col-tail-meets-next-weights", TailBeforeAnother,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.tail_of_next = true}; }),
  };
}

}  // namespace corpus

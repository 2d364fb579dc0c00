// SPDX-License-Identifier: Apache-2.0
// Convolutions that read the wrong element of x, the wrong channel or the wrong tap.
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

constexpr int kDepth = 0, kHeight = 1, kWidth = 2;
using Spec = const ConvSpec&;

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
std::string Any(Description op) {
  return ConvWhyNot(op);
}
std::string Padded(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.pad[2] > 0; }, "this needs padding");
}
std::string UnlikePads(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.pad[1] != s.pad[2] && s.rank > 1; }, "this needs unlike paddings");
}
std::string UnlikeDilations(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.dilation[1] != s.dilation[2] && s.rank > 1; }, "this needs unlike dilations");
}
std::string UnlikeExtents(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.in[1] != s.in[2] && s.rank > 1; }, "this needs unlike height and width");
}
std::string PaddedAndDilated(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.pad[2] > 0 && s.dilation[2] * s.dilation[1] > 1; },
      "this needs padding and dilation");
}
std::string PaddedAndStrided(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.pad[2] > 0 && s.stride[2] > 1; }, "this needs padding and a stride");
}
std::string Strided(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.stride[2] > 1 && s.out[2] > 1; }, "this needs a stride");
}
std::string StridedPoints(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.stride[2] > 1 && s.Taps() == 1 && s.out[2] > 1; },
      "this needs 1 x 1 kernels and a stride");
}
std::string Dilated(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.dilation[2] > 1 && s.kernel[2] > 1; }, "this needs dilated taps");
}
std::string Large(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.in[2] > 128; }, "this needs rows of more than 128");
}
std::string SeveralRows(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.out[1] > 1; }, "this needs several rows");
}
std::string ThreeAxes(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.rank == 3 && s.kernel[0] > 1; }, "this needs three axes");
}
std::string SeveralTaps(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.kernel[2] > 1; }, "this needs several taps in a row");
}
std::string SeveralTapRows(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.kernel[1] > 1; }, "this needs several rows of taps");
}
std::string Grouped(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.groups > 1; }, "this needs groups");
}
std::string GroupsOfOutputs(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.groups > 1 && s.GroupOutputs() > 1; }, "this needs groups of several outputs");
}
std::string SeveralChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.GroupInputs() > 2; }, "this needs several channels");
}
std::string ManyChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.GroupInputs() > 32; }, "this needs more than 32 channels");
}
std::string FloatPadded(Description op) {
  return op.inputs()[0].dtype == plugin::kI8 ? "this is for floating-point operands" : Padded(op);
}
std::string IntegerPadded(Description op) {
  return op.inputs()[0].dtype == plugin::kI8 ? Padded(op) : "this is for i8 operands";
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return ConvEntry(name, ConvContract, why_not, make);
}
template <class Source>
Entry Reads(const char* name, TextOf why_not, Source source) {
  return Fault(name, why_not, [source]<class T>(std::type_identity<T>) { return ConvKernel<T>{.source = source}; });
}
template <class Channel>
Entry ReadsChannel(const char* name, TextOf why_not, Channel channel) {
  return Fault(name, why_not, [channel]<class T>(std::type_identity<T>) { return ConvKernel<T>{.channel = channel}; });
}
template <class Tap>
Entry ReadsTap(const char* name, TextOf why_not, Tap tap) {
  return Fault(name, why_not, [tap]<class T>(std::type_identity<T>) { return ConvKernel<T>{.tap = tap}; });
}

std::vector<Entry> SourceFaults() {
  return {
      Reads("fault.paddings-of-height-and-width-swapped", UnlikePads,
            [](Spec s, int a, int64_t p, int64_t t) {
              return Read(p, s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(Other(a))]);
            }),
      Reads("fault.dilations-of-height-and-width-swapped", UnlikeDilations,
            [](Spec s, int a, int64_t p, int64_t t) {
              return Read(p, s.stride[At(a)], t, s.dilation[At(Other(a))], s.pad[At(a)]);
            }),
      Reads("fault.stride-for-dilation", Strided,
            [](Spec s, int a, int64_t p, int64_t t) {
              return Read(p, s.stride[At(a)], t, s.stride[At(a)], s.pad[At(a)]);
            }),
      Reads("fault.padding-applied-twice", Padded,
            [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) - s.pad[At(a)]; }),
      Reads(
          "fault.padding-ignored-in-height", Padded,
          [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) + (a == kHeight ? s.pad[At(a)] : 0); }),
      Reads("fault.padding-times-dilation", PaddedAndDilated,
            [](Spec s, int a, int64_t p, int64_t t) {
              return Read(p, s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(a)] * s.dilation[At(a)]);
            }),
      Reads("fault.padding-times-stride", PaddedAndStrided,
            [](Spec s, int a, int64_t p, int64_t t) {
              return (p - s.pad[At(a)]) * s.stride[At(a)] + t * s.dilation[At(a)];
            }),
      Reads("fault.padding-one-more-in-height", Padded,
            [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) - (a == kHeight ? 1 : 0); }),
      Reads("fault.stride-ignored-by-1x1-kernels", StridedPoints,
            [](Spec s, int a, int64_t p, int64_t) { return p - s.pad[At(a)]; }),
      Reads("fault.stride-ignored-in-height", Strided,
            [](Spec s, int a, int64_t p, int64_t t) {
              return Read(p, a == kHeight ? 1 : s.stride[At(a)], t, s.dilation[At(a)], s.pad[At(a)]);
            }),
      Reads("fault.stride-off-in-last-output", Strided,
            [](Spec s, int a, int64_t p, int64_t t) {
              return SourceOf(s, a, p, t) - (a == kWidth && p + 1 == s.out[2] ? 1 : 0);
            }),
      Reads("fault.dilation-one-less", Dilated,
            [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, t) - (s.dilation[At(a)] > 1 ? t : 0); }),
      Reads("fault.source-in-i8", Large,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return source > 127 ? source - 256 : source;
            }),
      Reads("fault.source-in-bf16", Large,
            [](Spec s, int a, int64_t p, int64_t t) {
              return static_cast<int64_t>(Rounded(Nearest(kBrain), static_cast<double>(SourceOf(s, a, p, t))));
            }),
      Reads("fault.last-row-read-as-padding", SeveralRows,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return a == kHeight && source == s.in[1] - 1 ? -1 : source;
            }),
      Reads("fault.first-column-read-as-padding", Any,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return a == kWidth && source == 0 ? -1 : source;
            }),
      Reads("fault.height-bounded-by-width", UnlikeExtents,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return a == kHeight && source >= s.in[2] ? -1 : source;
            }),
      Reads("fault.padding-reflects", Padded,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return a == kWidth && source < 0 ? -source : source;
            }),
      Reads("fault.padding-repeats-edge-in-height", Padded,
            [](Spec s, int a, int64_t p, int64_t t) {
              const int64_t source = SourceOf(s, a, p, t);
              return a == kHeight ? std::clamp<int64_t>(source, 0, s.in[1] - 1) : source;
            }),
      Reads("fault.tail-outputs-read-one-back", Any,
            [](Spec s, int a, int64_t p, int64_t t) {
              return SourceOf(s, a, p, t) - (a == kWidth && Tail(4).Has(p, s.out[2]) ? 1 : 0);
            }),
      Reads(
          "fault.depth-reads-reversed-taps", ThreeAxes,
          [](Spec s, int a, int64_t p, int64_t t) { return SourceOf(s, a, p, a == kDepth ? s.kernel[0] - 1 - t : t); }),
      Fault("fault.padding-of-minus-1", FloatPadded,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.padding = T{-1}}; }),
      Fault("fault.padding-of-zero-point", IntegerPadded,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.padding = T{-128}}; }),
  };
}

std::vector<Entry> ChannelFaults() {
  return {
      ReadsChannel("fault.group-of-output-modulo-groups", GroupsOfOutputs,
                   [](Spec s, int64_t o, int64_t c) { return o % s.groups * s.GroupInputs() + c; }),
      ReadsChannel("fault.group-size-of-inputs-for-outputs", GroupsOfOutputs,
                   [](Spec s, int64_t o, int64_t c) {
                     return std::min(o / s.GroupInputs(), s.groups - 1) * s.GroupInputs() + c;
                   }),
      ReadsChannel(
          "fault.last-group-reads-first", Grouped,
          [](Spec s, int64_t o, int64_t c) { return o / s.GroupOutputs() + 1 == s.groups ? c : ChannelOf(s, o, c); }),
      ReadsChannel("fault.groups-beyond-8-wrap", Grouped,
                   [](Spec s, int64_t o, int64_t c) { return o / s.GroupOutputs() % 8 * s.GroupInputs() + c; }),
      ReadsChannel("fault.channel-index-in-5-bits", ManyChannels,
                   [](Spec s, int64_t o, int64_t c) { return ChannelOf(s, o, c % 32); }),
      ReadsChannel("fault.last-channel-reads-previous", SeveralChannels,
                   [](Spec s, int64_t o, int64_t c) { return ChannelOf(s, o, c + 1 == s.GroupInputs() ? c - 1 : c); }),
      ReadsChannel("fault.channels-of-tail-of-4-swapped", SeveralChannels,
                   [](Spec s, int64_t o, int64_t c) {
                     const int64_t n = s.GroupInputs();
                     return ChannelOf(s, o, Tail(4).Has(c, n) ? n - 1 - (c - n / 4 * 4) : c);
                   }),
      ReadsChannel("fault.channels-of-odd-outputs-rotated", SeveralChannels,
                   [](Spec s, int64_t o, int64_t c) { return ChannelOf(s, o, (c + o % 2) % s.GroupInputs()); }),
      ReadsTap("fault.kernel-flipped-in-width", SeveralTaps,
               [](Spec s, const Extents& t) {
                 return Extents{t[0], t[1], s.kernel[2] - 1 - t[2]};
               }),
      ReadsTap("fault.kernel-flipped-in-height", SeveralTapRows,
               [](Spec s, const Extents& t) {
                 return Extents{t[0], s.kernel[1] - 1 - t[1], t[2]};
               }),
      ReadsTap("fault.kernel-of-depth-flipped", ThreeAxes,
               [](Spec s, const Extents& t) {
                 return Extents{s.kernel[0] - 1 - t[0], t[1], t[2]};
               }),
      ReadsTap("fault.last-tap-repeats-previous", SeveralTaps,
               [](Spec s, const Extents& t) {
                 return Extents{t[0], t[1], t[2] + 1 == s.kernel[2] ? t[2] - 1 : t[2]};
               }),
      ReadsTap("fault.tap-row-read-with-stride-of-columns-plus-1", SeveralTapRows,
               [](Spec s, const Extents& t) {
                 return Extents{t[0], t[1], (t[2] + t[1]) % s.kernel[2]};
               }),
  };
}

}  // namespace

std::vector<Entry> ConvHeldReads() {
  std::vector<Entry> all = SourceFaults();
  const std::vector<Entry> channels = ChannelFaults();
  all.insert(all.end(), channels.begin(), channels.end());
  return all;
}

}  // namespace corpus

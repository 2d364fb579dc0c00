// SPDX-License-Identifier: Apache-2.0
// Convolutions: padding, groups, taps and weights mixed up, an operand in eight bits.
#include "tests/faults/corpus/conv_kernel.h"
#include "tests/faults/corpus/later/later.h"

namespace corpus {
namespace {

using Spec = const ConvSpec&;

template <class T>
void Kernels(ConvEdits<T>& of) {
  of("fault.rows-of-padding-wrap-around", [](Spec s) { return s.pad[1] > 0; }).source = [](Spec s, int a, int64_t p,
                                                                                           int64_t t) {
    const int64_t in = s.in[static_cast<size_t>(a)], source = SourceOf(s, a, p, t);
    return a == 1 ? (source % in + in) % in : source;
  };
  of("fault.channels-of-groups-interleaved", [](Spec s) { return s.groups > 1 && s.GroupInputs() > 1; }).channel =
      [](Spec s, int64_t o, int64_t c) { return c * s.groups + o / s.GroupOutputs(); };
  of("fault.taps-of-height-and-width-exchanged", [](Spec s) {
    return s.kernel[1] == s.kernel[2] && s.kernel[1] > 1;
  }).tap = [](Spec, const Extents& t) {
    return Extents{t[0], t[2], t[1]};
  };
  of("fault.rows-of-taps-rotated", [](Spec s) { return s.kernel[1] > 1; }).tap = [](Spec s, const Extents& t) {
    return Extents{t[0], (t[1] + 1) % s.kernel[1], t[2]};
  };
  of("fault.bias-halved", [](Spec s) { return s.has_bias && !s.IsInteger(); }).epilogue =
      [](Spec, const Pixel& at, T sum, std::span<const T> bias) {
        return sum + bias[static_cast<size_t>(at.channel)] / 2;
      };
  of("fault.centre-tap-lost", [](Spec s) { return s.Taps() > 2; }).keeps =
      [](Spec s, const Pixel&, int64_t, int64_t tap) { return tap != s.Taps() / 2; };
}

template <class T>
using AroundConv = AroundPlan<ConvPlan, ConvKernel, T>;

template <class T>
void AroundKernels(Edits<Around<T>, ConvSpec>& of) {
  of("fault.output-channels-of-weights-in-pairs-exchanged", [](Spec s) { return s.o > 1; }).load =
      [](std::vector<std::vector<T>>& inputs, Description op) {
        const int64_t channels = op.inputs()[1].shape[0], inner = std::ssize(inputs[1]) / channels;
        const std::vector<T> right = inputs[1];
        for (int64_t i = 0; i < std::ssize(right); ++i) {
          const int64_t channel = i / inner, other = (channel ^ 1) < channels ? channel ^ 1 : channel;
          inputs[1][static_cast<size_t>(i)] = right[static_cast<size_t>(i + (other - channel) * inner)];
        }
      };
  of("fault.input-in-int8", [](Spec s) { return !s.IsInteger(); }).load = [](std::vector<std::vector<T>>& inputs,
                                                                             Description) {
    const T largest = LargestMagnitude(inputs[0].data(), std::ssize(inputs[0]));
    for (T& x : inputs[0]) x = InInt8(x, largest);
  };
}

}  // namespace

std::vector<Entry> ConvLater() {
  return Joined({ConvRows([](auto& of) { Kernels(of); }),
                 EntriesOf<AroundConv, Around>("conv", ConvContract, ConvWhyNot, plugin::ParseConv,
                                               [](auto& of) { AroundKernels(of); })});
}

}  // namespace corpus

// SPDX-License-Identifier: Apache-2.0
// Operands of a convolution in the accumulator's type, the way the kernels want them. x is split into phases: element
// j * stride + r of a row becomes element j of the row's phase r, so that a tap reads consecutive elements whatever
// the stride. w is dense, o padded with zero rows.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backends/common/conv_spec.h"
#include "backends/cpu/elements.h"
#include "backends/cpu/matmul_kernel.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/workspace.h"

namespace cpu {

inline int64_t PadTo(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

template <class Acc>
class ConvOperands {
 public:
  explicit ConvOperands(const plugin::ConvSpec& spec)
      : spec_(spec),
        phase_((spec.in[2] + spec.stride[2] - 1) / spec.stride[2]),
        padded_outputs_(PadTo(spec.GroupOutputs(), kTileRows)) {
    x_.resize(static_cast<size_t>(spec.n * spec.c * spec.in[0] * spec.in[1] * spec.stride[2] * phase_));
    w_.resize(static_cast<size_t>(spec.groups * padded_outputs_ * spec.Terms()));
    bias_.resize(static_cast<size_t>(spec.o));
  }

  void Load(std::span<std::byte* const> inputs, int threads) {
    const plugin::ConvSpec& s = spec_;
    ParallelFor(s.n * s.c, threads, [&](int64_t channel, int) { LoadChannel(inputs[0], channel); });
    for (int64_t o = 0; o < s.o; ++o) LoadWeights(inputs[1], o);
    if (s.has_bias) cpu::Load(s.bias_dtype, inputs[2], s.bias_stride, s.o, bias_.data());
  }

  // Row (p0, p1) of channel image * c + channel, as phase 0; phase r lies r * PhaseSize() further on.
  const Acc* Row(int64_t channel, int64_t p0, int64_t p1) const {
    return x_.data() + ((channel * spec_.in[0] + p0) * spec_.in[1] + p1) * spec_.stride[2] * phase_;
  }
  int64_t PhaseSize() const { return phase_; }
  // [rows = GroupOutputs() padded to kTileRows][terms]
  const Acc* Weights(int64_t group) const { return w_.data() + group * padded_outputs_ * spec_.Terms(); }
  int64_t PaddedOutputs() const { return padded_outputs_; }
  Acc Bias(int64_t o) const { return bias_[static_cast<size_t>(o)]; }

  uint64_t Bytes() const { return BytesOf(x_, w_, bias_); }

 private:
  void LoadChannel(const std::byte* x, int64_t channel) {
    const plugin::ConvSpec& s = spec_;
    const int64_t step = s.stride[2];
    for (int64_t row = 0; row < s.in[0] * s.in[1]; ++row) {
      const int64_t p0 = row / s.in[1], p1 = row % s.in[1];
      const int64_t offset = channel / s.c * s.x.outer_stride + channel % s.c * s.x.inner_stride + p0 * s.x.strides[0] +
                             p1 * s.x.strides[1];
      Acc* to = x_.data() + (channel * s.in[0] * s.in[1] + row) * step * phase_;
      for (int64_t r = 0; r < std::min(step, s.in[2]); ++r) {
        cpu::Load(s.x.dtype, x + (offset + r * s.x.strides[2]) * plugin::Bytes(s.x.dtype), step * s.x.strides[2],
                  (s.in[2] - r + step - 1) / step, to + r * phase_);
      }
    }
  }

  void LoadWeights(const std::byte* w, int64_t o) {
    const plugin::ConvSpec& s = spec_;
    Acc* to = w_.data() + (o / s.GroupOutputs() * padded_outputs_ + o % s.GroupOutputs()) * s.Terms();
    for (int64_t row = 0; row < s.GroupInputs() * s.kernel[0] * s.kernel[1]; ++row, to += s.kernel[2]) {
      const int64_t c = row / s.kernel[1] / s.kernel[0], t0 = row / s.kernel[1] % s.kernel[0], t1 = row % s.kernel[1];
      const int64_t offset = o * s.w.outer_stride + c * s.w.inner_stride + t0 * s.w.strides[0] + t1 * s.w.strides[1];
      cpu::Load(s.w.dtype, w + offset * plugin::Bytes(s.w.dtype), s.w.strides[2], s.kernel[2], to);
    }
  }

  const plugin::ConvSpec spec_;
  int64_t phase_;
  int64_t padded_outputs_;
  std::vector<Acc> x_, w_, bias_;
};

// Stores `count` results of one output row from (image, o, p0, p1, p2) on.
template <class Acc>
void StoreConvRow(const plugin::ConvSpec& s, std::byte* y, int64_t image, int64_t o, const plugin::Extents& p,
                  const Acc* values, int64_t count) {
  const int64_t offset = image * s.y.outer_stride + o * s.y.inner_stride + p[0] * s.y.strides[0] +
                         p[1] * s.y.strides[1] + p[2] * s.y.strides[2];
  Store(s.y.dtype, values, count, y + offset * plugin::Bytes(s.y.dtype), s.y.strides[2]);
}

// Threads for one execution of the convolution.
inline int ConvThreads(const plugin::ConvSpec& s) {
  return ThreadsFor(static_cast<double>(s.n * s.o) * static_cast<double>(s.Positions()) *
                    static_cast<double>(s.Terms()));
}

}  // namespace cpu

// SPDX-License-Identifier: Apache-2.0
// The geometry of a convolution: y[n, o, p] = bias[o] + sum over c, t of x[n, c, p stride + t dilation - pad] w[o, c,
// t]. Always three spatial axes, of which leading ones may have extent 1. Pure index arithmetic.
#pragma once

#include "backends/gpu/device/integers.h"
#include "backends/gpu/device/tags.h"
#include "backends/gpu/device/tile_shape.h"

namespace gpu {

inline constexpr int kConvThreads = 128;

struct ConvParams {
  const void *x = nullptr, *w = nullptr, *bias = nullptr;
  void* y = nullptr;
  Tag bias_type{}, y_type{};
  int32_t has_bias = 0, dense = 0;          // dense: the weights of an output lie one after the other
  int32_t n = 0, c = 0, o = 0, groups = 1;  // c: inputs, o: outputs of a group
  int32_t in[3]{}, out[3]{}, kernel[3]{}, stride[3]{}, pad[3]{}, dilation[3]{};
  int64_t x_outer = 0, x_inner = 0, x_at[3]{}, w_outer = 0, w_inner = 0, w_at[3]{};
  int64_t y_outer = 0, y_inner = 0, y_at[3]{}, bias_at = 0;  // strides in elements

  GPU_FN int32_t Taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  GPU_FN int32_t Terms() const { return c * Taps(); }
  GPU_FN int32_t Positions() const { return out[0] * out[1] * out[2]; }
};

// Blocks of a launch with a thread per output.
GPU_FN int64_t ConvBlocks(const ConvParams& p) {
  return CeilDiv(int64_t{p.n} * p.groups * p.o * p.Positions(), kConvThreads);
}

// Blocks of a launch with a tile of one image's group in each.
template <class Shape>
GPU_FN int64_t ConvTiles(const ConvParams& p) {
  return TileCount<Shape>(p.o, p.Positions(), int64_t{p.n} * p.groups);
}

struct Index3 {
  int32_t at[3];
};

// The position or tap with row-major index `index` among `extents`.
GPU_FN Index3 Split(const int32_t* extents, int32_t index) {
  Index3 split;
  split.at[2] = index % extents[2], index /= extents[2];
  split.at[1] = index % extents[1], split.at[0] = index / extents[1];
  return split;
}

GPU_FN int64_t Along(const int64_t* strides, const Index3& index) {
  return index.at[0] * strides[0] + index.at[1] * strides[1] + index.at[2] * strides[2];
}

// Where tap t of output p reads along an axis; outside [0, in) it is padding.
GPU_FN int64_t Source(const ConvParams& p, int axis, int32_t position, int32_t tap) {
  return int64_t{position} * p.stride[axis] + int64_t{tap} * p.dilation[axis] - p.pad[axis];
}

// The input element that an output at `position` reads with `tap`: whether it lies inside the input (not in the
// padding), and its offset without channels.
struct Sight {
  bool seen;
  int64_t offset;
};
GPU_FN Sight See(const ConvParams& p, const Index3& position, const Index3& tap) {
  Sight sight{true, 0};
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t source = Source(p, axis, position.at[axis], tap.at[axis]);
    sight.seen = sight.seen && source >= 0 && source < p.in[axis];
    sight.offset += source * p.x_at[axis];
  }
  return sight;
}

}  // namespace gpu

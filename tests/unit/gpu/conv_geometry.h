// SPDX-License-Identifier: Apache-2.0
// A small convolution that has everything at once: two images, two groups of 3 inputs and 2 outputs, three kinds of
// strides, a dilated kernel, padding that a whole row of the kernel can lie in, and a gap behind every row of y.
#pragma once

#include "backends/gpu/device/conv_params.h"

namespace gpu {

inline ConvParams ConvGeometry() {
  ConvParams p;
  const int32_t in[] = {1, 11, 9}, out[] = {1, 6, 4}, kernel[] = {1, 3, 2}, stride[] = {1, 2, 3}, pad[] = {0, 2, 1};
  const int32_t dilation[] = {1, 2, 1};
  for (int axis = 0; axis < 3; ++axis) {
    p.in[axis] = in[axis], p.out[axis] = out[axis], p.kernel[axis] = kernel[axis], p.stride[axis] = stride[axis];
    p.pad[axis] = pad[axis], p.dilation[axis] = dilation[axis];
  }
  p.n = 2, p.c = 3, p.o = 2, p.groups = 2, p.has_bias = 1, p.bias_at = 1, p.y_type = p.bias_type = Tag::kF32;
  p.x_at[1] = 9, p.x_at[2] = 1, p.x_inner = 99, p.x_outer = 6 * 99;
  p.w_at[1] = 2, p.w_at[2] = 1, p.w_inner = 6, p.w_outer = 18, p.dense = 1;
  p.y_at[1] = 5, p.y_at[2] = 1, p.y_inner = 30, p.y_outer = 120;
  return p;
}

}  // namespace gpu

// SPDX-License-Identifier: Apache-2.0
// A conv description with its operands found and its shapes checked: y[n,o,p] = bias[o] + sum over c, t of
// x[n, c, p stride + t dilation - pad] w[o,c,t]. Always three spatial axes; leading ones of extent 1 stand in for
// absent ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backends/common/op_desc.h"

namespace plugin {

using Extents = std::array<int64_t, 3>;

// x[n,c,spatial], w[o,c/groups,kernel] or y[n,o,spatial]; strides in elements, 0 along absent axes.
struct ConvOperand {
  DType dtype;
  int64_t outer_stride = 0, inner_stride = 0;
  Extents strides{};
};

struct ConvSpec {
  int64_t n = 0, c = 0, o = 0, groups = 1;
  int rank = 1;  // spatial axes of the operands
  Extents in{}, kernel{}, stride{}, pad{}, dilation{}, out{};
  ConvOperand x, w, y;
  bool has_bias = false;
  DType bias_dtype;
  int64_t bias_stride = 0;

  int64_t GroupInputs() const { return c / groups; }
  int64_t GroupOutputs() const { return o / groups; }
  int64_t Taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t Terms() const { return GroupInputs() * Taps(); }
  int64_t Positions() const { return out[0] * out[1] * out[2]; }
  bool IsInteger() const { return y.dtype == kI32; }
  bool IsF64() const { return x.dtype == kF64 || w.dtype == kF64 || y.dtype == kF64; }
  // Two dimensions, 3x3, stride and dilation 1: what Winograd's F(m x m, 3 x 3) computes.
  bool IsWinograd() const;
  // The weights of one output channel lie one after the other, as the taps of each input channel do.
  bool HasDenseTerms() const;
  // Where tap t reads for an output at p; outside [0, in) it is padding.
  int64_t Source(int axis, int64_t p, int64_t t) const { return p * stride[axis] + t * dilation[axis] - pad[axis]; }
  bool Sees(int axis, int64_t p, int64_t t) const { return Source(axis, p, t) >= 0 && Source(axis, p, t) < in[axis]; }
};

// Throws Failure naming the operand or attribute that contradicts the operator's definition.
ConvSpec ParseConv(const OpDesc& op);

// Why i8-i8-i32 arithmetic in int32 does not compute this; "" when it does. A bias is i32 or i8, where one is taken.
std::string IntegerConvWhyNot(const ConvSpec& s, bool takes_bias);

}  // namespace plugin

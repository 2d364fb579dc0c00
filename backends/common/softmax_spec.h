// SPDX-License-Identifier: Apache-2.0
// A softmax description as rows: one axis that sums to one, and all the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"

namespace plugin {

struct SoftmaxSpec {
  struct Axis {
    int64_t size = 1, x_stride = 0, y_stride = 0;  // elements
  };
  bool log = false;
  int axis_index = 0;
  DType dtype;
  Axis axis;
  std::vector<Axis> others;
  int64_t rows = 1;

  bool IsF64() const { return dtype == kF64; }
  // Offsets of the first element of row `row`, in elements of x and of y.
  struct Offsets {
    int64_t x = 0, y = 0;
  };
  Offsets OffsetsOf(int64_t row) const;
};

// Throws Failure naming what contradicts the operator's definition.
SoftmaxSpec ParseSoftmax(const OpDesc& op);

// Why it is no softmax of floats over something; "" when it is.
std::string FloatSoftmaxWhyNot(const SoftmaxSpec& spec, const OpDesc& op);

}  // namespace plugin

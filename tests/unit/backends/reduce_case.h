// SPDX-License-Identifier: Apache-2.0
// A reduce case and its description.
#pragma once

#include <algorithm>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct ReduceArgs {
  std::string kind = "sum";
  Type in = kF32, out = kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;
  bool keepdims = false, strided = false;
  std::string nan = "propagate";

  bool IsReduced(size_t axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

  Op Description() const {
    std::vector<int64_t> out_shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!IsReduced(i)) out_shape.push_back(shape[i]);
      if (IsReduced(i) && keepdims) out_shape.push_back(1);
    }
    const Type type = kind.starts_with("arg") ? kI64 : out;
    Op op("reduce");
    op.In(strided ? Strided("x", in, shape) : Dense("x", in, shape));
    op.Out(strided ? Strided("y", type, out_shape) : Dense("y", type, out_shape));
    op.List("shape", shape).List("axes", axes).String("kind", kind).Int("keepdims", keepdims);
    op.String("tie", "first").String("nan", nan);
    return op;
  }
};

}  // namespace plugin_test

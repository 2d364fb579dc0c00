// SPDX-License-Identifier: Apache-2.0
// A convolution case and its description.
#pragma once

#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct ConvArgs {
  using List = std::vector<int64_t>;
  Type in = kF32, out = kF32;
  int64_t n = 1, c = 1, o = 1, groups = 1;
  List i{8, 8}, k{3, 3}, stride{1, 1}, pad{0, 0}, dilation{1, 1};
  bool bias = false, strided = false;

  List OutputExtents() const {
    List extents;
    for (size_t a = 0; a < i.size(); ++a) {
      extents.push_back((i[a] + 2 * pad[a] - dilation[a] * (k[a] - 1) - 1) / stride[a] + 1);
    }
    return extents;
  }

  Op Description() const {
    const auto place = [&](const char* name, const Type& type, int64_t outer, int64_t inner, const List& spatial) {
      List shape{outer, inner};
      shape.insert(shape.end(), spatial.begin(), spatial.end());
      return strided ? Strided(name, type, std::move(shape)) : Dense(name, type, std::move(shape));
    };
    Op op("conv");
    op.In(place("x", in, n, c, i)).In(place("w", in, o, c / groups, k));
    if (bias) op.In(strided ? Strided("bias", out, {o}) : Dense("bias", out, {o}));
    op.Out(place("y", out, n, o, OutputExtents()));
    op.Int("n", n).Int("c", c).Int("o", o).List("i", i).List("k", k).List("stride", stride).List("pad", pad);
    op.List("dilation", dilation).Int("groups", groups).Int("bias", bias);
    return op;
  }
};

}  // namespace plugin_test

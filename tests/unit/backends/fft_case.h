// SPDX-License-Identifier: Apache-2.0
// An fft case and its description.
#pragma once

#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct FftArgs {
  std::string kind = "c2c";
  bool wide = false;
  std::vector<int64_t> n;
  int64_t batch = 1;
  bool inverse = false;
  std::string norm = "none";
  bool strided = false;

  Type Real() const { return wide ? kF64 : kF32; }
  Type X() const { return kind == "r2c" ? Real() : wide ? kC128 : kC64; }
  Type Y() const { return kind == "c2r" ? Real() : wide ? kC128 : kC64; }
  std::vector<int64_t> Axes(bool half) const {
    std::vector<int64_t> axes = n;
    if (half) axes.back() = axes.back() / 2 + 1;
    return axes;
  }
  std::vector<int64_t> XAxes() const { return Axes(kind == "c2r"); }
  std::vector<int64_t> YAxes() const { return Axes(kind == "r2c"); }

  Op Description() const {
    const auto with_batch = [this](std::vector<int64_t> axes) { return axes.insert(axes.begin(), batch), axes; };
    const auto place = strided ? Strided : Dense;
    Op op("fft");
    op.In(place("x", X(), with_batch(XAxes()))).Out(place("y", Y(), with_batch(YAxes())));
    op.String("kind", kind).List("n", n).Int("batch", batch).String("dir", inverse ? "inv" : "fwd");
    op.String("norm", norm);
    return op;
  }
};

}  // namespace plugin_test

// SPDX-License-Identifier: Apache-2.0
// A softmax case: its description, and the formula in long double with a bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct SoftmaxArgs {
  Type type = kF32;
  std::vector<int64_t> shape;
  int64_t axis = -1;
  bool log = false, strided = false;

  Op Description() const {
    Op op("softmax");
    op.In(strided ? Strided("x", type, shape) : Dense("x", type, shape));
    op.Out(strided ? Strided("y", type, shape) : Dense("y", type, shape));
    op.List("shape", shape).Int("axis", axis).Int("log", log);
    return op;
  }

  // Calls row(offsets) with the element numbers of each row.
  template <class Visit>
  void ForEachRow(const Visit& visit) const {
    const auto at = static_cast<size_t>(axis < 0 ? axis + std::ssize(shape) : axis);
    int64_t inner = 1, total = 1;
    for (size_t i = 0; i < shape.size(); ++i) total *= shape[i], inner *= i > at ? shape[i] : 1;
    for (int64_t first = 0; first < total; ++first) {
      if (first / inner % shape[at] != 0) continue;
      std::vector<size_t> row;
      for (int64_t k = 0; k < shape[at]; ++k) row.push_back(static_cast<size_t>(first + k * inner));
      visit(row);
    }
  }

  struct Element {
    double value = 0, error = 0;  // error: of f32 or f64 arithmetic in any order
    double Bound(const Type& stored, double roundings) const {
      return error + roundings * stored.unit * std::abs(value) * 1.01 + stored.min_normal;
    }
  };

  std::vector<Element> Reference(const std::vector<double>& x) const {
    std::vector<Element> elements(x.size());
    const double unit = type == kF64 ? kF64.unit : kF32.unit;
    ForEachRow([&](const std::vector<size_t>& row) {
      long double max = -kInf, sum = 0;
      for (size_t i : row) max = std::max<long double>(max, x[i]);
      for (size_t i : row) sum += std::exp(x[i] - max);
      for (size_t i : row) {
        const long double y = log ? x[i] - max - std::log(sum) : std::exp(x[i] - max) / sum;
        const double size = std::abs(static_cast<double>(y)), n = static_cast<double>(row.size());
        elements[i] = {static_cast<double>(y), unit * (n + 64) * (log ? 1 + size : size)};
      }
    });
    return elements;
  }
};

}  // namespace plugin_test

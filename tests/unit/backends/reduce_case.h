// SPDX-License-Identifier: Apache-2.0
// A reduce case: its description and its reference in long double with a bound for any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
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

  // The reduced elements of each output, in row-major order of the reduced axes.
  std::vector<std::vector<double>> Groups(const std::vector<double>& x) const {
    std::vector<std::vector<double>> groups;
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i);
      size_t group = 0, scale = 1;
      for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
        if (IsReduced(axis)) continue;
        group += static_cast<size_t>(rest % shape[axis]) * scale;
        scale *= static_cast<size_t>(shape[axis]);
      }
      if (groups.size() <= group) groups.resize(group + 1);
      groups[group].push_back(x[i]);
    }
    return groups;
  }

  // The exact result for finite elements, and what any order of f32 (or f64) operations may differ by.
  std::pair<double, double> Reference(const std::vector<double>& x) const {
    const double unit = in == kF64 || out == kF64 ? kF64.unit : kF32.unit;
    const double n = static_cast<double>(x.size());
    long double sum = 0, magnitude = 0, squares = 0, product = 1, exponentials = 0;
    const double max = *std::max_element(x.begin(), x.end()), min = *std::min_element(x.begin(), x.end());
    for (double v : x) {
      sum += v, magnitude += std::abs(v), squares += static_cast<long double>(v) * v, product *= v;
      exponentials += std::exp(static_cast<long double>(v) - max);
    }
    long double value = sum, error = 2 * unit * n * magnitude;
    if (kind == "mean") value = sum / n, error = error / n + 2 * unit * std::abs(value);
    if (kind == "prod") value = product, error = 2 * unit * n * std::abs(product);
    if (kind == "l2") value = std::sqrt(squares), error = 2 * unit * (n + 4) * value;
    if (kind == "logsumexp") value = max + std::log(exponentials), error = 4 * unit * (n + 8 + 2 * std::abs(max) + 16);
    if (kind == "max") value = max, error = 0;
    if (kind == "min") value = min, error = 0;
    if (kind == "argmax") return {static_cast<double>(std::find(x.begin(), x.end(), max) - x.begin()), 0};
    if (kind == "argmin") return {static_cast<double>(std::find(x.begin(), x.end(), min) - x.begin()), 0};
    return {static_cast<double>(value),
            static_cast<double>(error + out.unit * (std::abs(value) + error) + out.min_normal * out.unit)};
  }
};

}  // namespace plugin_test

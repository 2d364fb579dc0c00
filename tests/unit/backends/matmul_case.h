// SPDX-License-Identifier: Apache-2.0
// A matmul case: its description, its inputs, and the reference in long double with a bound for any summation order.
#pragma once

#include <cmath>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct MatmulArgs {
  Type in = kF32, out = kF32;
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transa = false, transb = false, bias = false, rounded = false, strided = false;
  double alpha = 1, beta = 0;

  std::string Text() const {
    return std::string(in.name) + "-" + out.name + " m=" + std::to_string(m) + " n=" + std::to_string(n) +
           " k=" + std::to_string(k) + " batch=" + std::to_string(batch) + (transa ? " transa" : "") +
           (transb ? " transb" : "") + (bias ? " bias" : "") + (rounded ? " rounded" : "") +
           (strided ? " strided" : "") + " alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
  }

  Op Description() const {
    const auto shape = [&](int64_t rows, int64_t columns, bool transposed) {
      std::vector<int64_t> s{transposed ? columns : rows, transposed ? rows : columns};
      if (batch > 1) s.insert(s.begin(), batch);
      return s;
    };
    const auto place = [&](const char* name, const Type& type, std::vector<int64_t> s) {
      return strided ? Strided(name, type, std::move(s)) : Dense(name, type, std::move(s));
    };
    Op op("matmul");
    op.In(place("a", in, shape(m, k, transa))).In(place("b", in, shape(k, n, transb)));
    if (beta != 0) op.In(place("c", out, shape(m, n, false)));
    if (bias) op.In(place("bias", out, {n}));
    op.Out(place("y", out, shape(m, n, false)));
    op.Int("m", m).Int("n", n).Int("k", k).Int("batch", batch).Int("transa", transa).Int("transb", transb);
    op.Float("alpha", alpha).Float("beta", beta).Int("bias", bias);
    op.String("epilogue", rounded ? "rounded" : "fused");
    return op;
  }

  std::vector<std::vector<double>> Inputs() const { return RandomInputs(Description()); }

  struct Expected {
    std::vector<double> value, bound;
  };

  Expected Reference(const std::vector<std::vector<double>>& x) const {
    const double unit = out == kI32 ? 0 : out == kF64 ? kF64.unit : kF32.unit;
    Expected expected;
    for (int64_t index = 0; index < batch * m * n; ++index) {
      const int64_t b = index / (m * n), i = index / n % m, j = index % n;
      long double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const auto at_a = static_cast<size_t>(b * m * k + (transa ? p * m + i : i * k + p));
        const auto at_b = static_cast<size_t>(b * k * n + (transb ? j * k + p : p * n + j));
        const long double product = static_cast<long double>(x[0][at_a]) * x[1][at_b];
        sum += product, magnitude += std::abs(product);
      }
      sum *= alpha, magnitude *= std::abs(alpha);
      long double rounding = rounded ? out.unit * std::abs(sum) : 0;
      if (beta != 0)
        sum += beta * x[2][static_cast<size_t>(index)], magnitude += std::abs(beta * x[2][static_cast<size_t>(index)]);
      if (bias) sum += x.back()[static_cast<size_t>(j)], magnitude += std::abs(x.back()[static_cast<size_t>(j)]);
      rounding += 2 * unit * static_cast<long double>(k + 4) * magnitude * 1.001L;
      rounding += out.unit * (std::abs(sum) + rounding);
      expected.value.push_back(static_cast<double>(sum));
      expected.bound.push_back(static_cast<double>(rounding));
    }
    return expected;
  }
};

}  // namespace plugin_test

// SPDX-License-Identifier: Apache-2.0
// A matmul case: its description and its inputs.
#pragma once

#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct MatmulArgs {
  Type in = kF32, out = kF32;
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transa = false, transb = false, bias = false, rounded = false, strided = false;
  double alpha = 1, beta = 0;

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
};

}  // namespace plugin_test

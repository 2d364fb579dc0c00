// SPDX-License-Identifier: Apache-2.0
// Normalisations of lines, and what a gradient of softmax takes.
#pragma once

#include "backends/gpu/device/line.h"

namespace gpu {

// (x - mean) / sqrt(variance + eps) gamma + beta; where they are asked for the mean and the factor as well.
struct LayerNormKernel {
  template <class A>
  GPU_DEVICE static void Run(const Line<A>& line) {
    const LineParams& p = line.params();
    const A n = static_cast<A>(p.size);
    const A mean = line.Sum([&](int64_t i) { return line.X(0, i); }) / n;
    const A squares = line.Sum([&](int64_t i) { return (line.X(0, i) - mean) * (line.X(0, i) - mean); });
    const A rstd = 1 / SquareRoot(squares / n + static_cast<A>(p.eps));
    line.ForEach([&](int64_t i) { line.Write(0, i, (line.X(0, i) - mean) * rstd * line.X(1, i) + line.X(2, i)); });
    if (p.outputs < 3 || !line.IsFirstThread()) return;
    line.Write(1, 0, mean);
    line.Write(2, 0, rstd);
  }
};

struct RmsNormKernel {
  template <class A>
  GPU_DEVICE static void Run(const Line<A>& line) {
    const LineParams& p = line.params();
    const A squares = line.Sum([&](int64_t i) { return line.X(0, i) * line.X(0, i); });
    const A rrms = 1 / SquareRoot(squares / static_cast<A>(p.size) + static_cast<A>(p.eps));
    line.ForEach([&](int64_t i) { line.Write(0, i, line.X(0, i) * rrms * line.X(1, i)); });
  }
};

// s = x + residual may lie where the residual is: the thread that writes an element is the one that reads it, and all
// have read theirs for the sum before any writes.
struct FusedAddRmsNormKernel {
  template <class A>
  GPU_DEVICE static void Run(const Line<A>& line) {
    const LineParams& p = line.params();
    const auto added = [&](int64_t i) { return line.X(0, i) + line.X(1, i); };
    const A squares = line.Sum([&](int64_t i) { return added(i) * added(i); });
    const A rrms = 1 / SquareRoot(squares / static_cast<A>(p.size) + static_cast<A>(p.eps));
    line.ForEach([&](int64_t i) {
      const A s = added(i);
      line.Write(0, i, s * rrms * line.X(2, i));
      line.Write(1, i, s);
    });
  }
};

// y (dy - sum y dy)
struct SoftmaxBackwardKernel {
  template <class A>
  GPU_DEVICE static void Run(const Line<A>& line) {
    const A sum = line.Sum([&](int64_t i) { return line.X(0, i) * line.X(1, i); });
    line.ForEach([&](int64_t i) { line.Write(0, i, line.X(0, i) * (line.X(1, i) - sum)); });
  }
};

// dy - exp(y) sum dy, of logarithms y
struct LogSoftmaxBackwardKernel {
  template <class A>
  GPU_DEVICE static void Run(const Line<A>& line) {
    const A sum = line.Sum([&](int64_t i) { return line.X(1, i); });
    line.ForEach([&](int64_t i) { line.Write(0, i, line.X(1, i) - Exp(line.X(0, i)) * sum); });
  }
};

}  // namespace gpu

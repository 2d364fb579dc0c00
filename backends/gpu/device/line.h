// SPDX-License-Identifier: Apache-2.0
// Operators that compute lines, a block per line. What loads, stores and adds up is here, once: a kernel is a type with
//   template <class A> GPU_DEVICE static void Run(const Line<A>& line);
// in the accumulator's type, and a name in LineKernel.
#pragma once

#include "backends/gpu/device/line_params.h"
#include "backends/gpu/device/math.h"

namespace gpu {

template <class A>
class Line {
 public:
  // `shared` has kReduceThreads elements.
  GPU_DEVICE Line(const LineParams& p, int64_t line, A* shared) : p_(p), shared_(shared) {
    for (int64_t axis = p.axes - 1; axis >= 0; --axis) {
      const int64_t next = line / p.axis_size[axis], at = line - next * p.axis_size[axis];
      for (int i = 0; i < kMostLineInputs; ++i) x_at_[i] += at * p.x[i].axis_step[axis];
      for (int i = 0; i < kMostLineOutputs; ++i) y_at_[i] += at * p.y[i].axis_step[axis];
      line = next;
    }
  }

  GPU_DEVICE const LineParams& params() const { return p_; }
  GPU_DEVICE A X(int input, int64_t i) const {
    return Load<A>(p_.x[input].data, p_.x[input].type, x_at_[input] + i * p_.x[input].step);
  }
  GPU_DEVICE void Write(int output, int64_t i, A value) const {
    Store(p_.y[output].data, p_.y[output].type, y_at_[output] + i * p_.y[output].step, value);
  }
  // Each index by one thread, the same one each time.
  template <class Visit>
  GPU_DEVICE void ForEach(const Visit& visit) const {
    for (int64_t i = threadIdx.x; i < p_.size; i += kReduceThreads) visit(i);
  }
  // Sums term(i) as a tree; all threads get the result.
  template <class Term>
  GPU_DEVICE A Sum(const Term& term) const {
    A own = 0;
    ForEach([&](int64_t i) { own += term(i); });
    return BlockCombine<kReduceThreads>(own, shared_, SumOf{});
  }
  GPU_DEVICE bool IsFirstThread() const { return threadIdx.x == 0; }

 private:
  const LineParams& p_;
  A* shared_;
  int64_t x_at_[kMostLineInputs]{}, y_at_[kMostLineOutputs]{};
};

template <class Kernel, class A>
GPU_KERNEL void RunLine(const GPU_CONSTANT LineParams p) {
  GPU_SHARED A shared[kReduceThreads];
  Kernel::template Run<A>(Line<A>(p, blockIdx.x, shared));
}

}  // namespace gpu

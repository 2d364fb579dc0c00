// SPDX-License-Identifier: Apache-2.0
// Operands whose elements are found by an index along every axis. A kernel is a type with
//   template <class A> GPU_DEVICE static void Run(const Operands<A>& x, int64_t item);
// run by a thread, or by all threads of a block with
//   static constexpr int kThreads;                   of a block
//   template <class A> using Shared = ...;           what BlockCombine holds of each thread: x.shared()
#pragma once

#include "backends/gpu/device/math.h"
#include "backends/gpu/device/operand_params.h"

namespace gpu {

template <class A, class OfThread = A>
class Operands {
 public:
  GPU_DEVICE explicit Operands(const OperandParams& p, OfThread* shared = nullptr) : p_(p), shared_(shared) {}

  GPU_DEVICE const OperandParams& params() const { return p_; }
  GPU_DEVICE int64_t Size(int index) const { return p_.size[index]; }
  GPU_DEVICE OfThread* shared() const { return shared_; }
  GPU_DEVICE A X(int input, int64_t i = 0, int64_t j = 0, int64_t k = 0, int64_t l = 0) const {
    return Load<A>(p_.x[input].data, p_.x[input].type, Offset(p_.x[input], i, j, k, l));
  }
  GPU_DEVICE int64_t Integer(int input, int64_t i = 0, int64_t j = 0) const {
    return Load<int64_t>(p_.x[input].data, p_.x[input].type, Offset(p_.x[input], i, j, 0, 0));
  }
  template <class Value>
  GPU_DEVICE void Write(int output, Value value, int64_t i = 0, int64_t j = 0, int64_t k = 0, int64_t l = 0) const {
    Store(p_.y[output].data, p_.y[output].type, Offset(p_.y[output], i, j, k, l), value);
  }

 private:
  GPU_DEVICE static int64_t Offset(const StridedOperand& of, int64_t i, int64_t j, int64_t k, int64_t l) {
    return i * of.step[0] + j * of.step[1] + k * of.step[2] + l * of.step[3];
  }

  const OperandParams& p_;
  OfThread* shared_;
};

template <class Kernel, class A>
GPU_KERNEL void RunItem(const GPU_CONSTANT OperandParams p) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kItemThreads + threadIdx.x;
  if (item < p.items) Kernel::template Run<A>(Operands<A>(p), item);
}

template <class Kernel, class A>
GPU_KERNEL void RunBlock(const GPU_CONSTANT OperandParams p) {
  using OfThread = typename Kernel::template Shared<A>;
  GPU_SHARED OfThread shared[Kernel::kThreads];
  Kernel::template Run<A>(Operands<A, OfThread>(p, shared), blockIdx.x);
}

}  // namespace gpu

// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace opencl {
namespace {

// OpenCL C specification, "Relative Error as ULPs", full profile. Where division and square root are correctly rounded
// nothing needs to be said. tanh is the same in both precisions.
double MathUlp(const Traits& traits, bool wide, Math math) {
  const bool rounded = wide || traits.RoundsDivideAndSqrt();
  switch (math) {
    case Math::kNone:
      return 0;
    case Math::kDivide:
      return rounded ? 0 : 2.5;
    case Math::kSqrt:
      return rounded ? 0 : 3;
    case Math::kExp:
    case Math::kExpLog:
      return 3;
    case Math::kExpTanh:
      return 5;
  }
  return 0;
}

bool IsKnown(plugin::DType d) {
  return plugin::IsFloat(d) || d == plugin::kI8 || d == plugin::kU8 || d == plugin::kBool8 || d == plugin::kI32 ||
         d == plugin::kI64 || d == plugin::kC64 || d == plugin::kC128;
}

}  // namespace

Accumulator AccumulatorOf(const plugin::OpDesc& op) {
  bool wide = false;
  for (const auto* tensors : {&op.inputs(), &op.outputs()}) {
    for (const plugin::Tensor& t : *tensors) wide = wide || t.dtype == plugin::kF64 || t.dtype == plugin::kC128;
  }
  if (wide) return Accumulator::kF64;
  return op.outputs().at(0).dtype == plugin::kI32 ? Accumulator::kI32 : Accumulator::kF32;
}

int64_t Bytes(Accumulator acc) {
  return acc == Accumulator::kF64 ? 8 : 4;
}

int64_t ScalarBits(Accumulator acc, double value) {
  if (acc == Accumulator::kF64) return std::bit_cast<int64_t>(value);
  if (acc == Accumulator::kI32) return static_cast<int64_t>(value);
  return std::bit_cast<int32_t>(static_cast<float>(value));
}

std::string OperandsWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const bool wide = AccumulatorOf(op) == Accumulator::kF64;
  if (wide && !traits.HasF64()) return fmt::format("{} has no double precision (cl_khr_fp64)", traits.name);
  for (const auto* tensors : {&op.inputs(), &op.outputs()}) {
    for (const plugin::Tensor& tensor : *tensors) {
      if (!IsKnown(tensor.dtype)) return fmt::format("{} is not among the types of the kernels", Name(tensor.dtype));
      if (wide && tensor.dtype == plugin::kBF16) return "bf16 beside f64 is not offered: it would be rounded twice";
      const plugin::Tensor::Extent extent = tensor.ByteExtent();
      const auto bytes = static_cast<uint64_t>(extent.last - extent.first);
      if (bytes > traits.MostBytes()) {
        return fmt::format("operand '{}' of {} bytes exceeds CL_DEVICE_MAX_MEM_ALLOC_SIZE of {}, {} bytes", tensor.name,
                           bytes, traits.name, traits.max_alloc_bytes);
      }
    }
  }
  return "";
}

std::string ContractText(const Traits& traits, Accumulator acc, Math math, double least_ulp) {
  if (acc == Accumulator::kI32) return "acc=i32;det=yes;batchinv=yes";
  const bool wide = acc == Accumulator::kF64;
  std::string text = wide ? "f64" : "f32acc";
  if (const double ulp = std::max(MathUlp(traits, wide, math), least_ulp); ulp > 0)
    text += fmt::format(";math={}", ulp);
  if (!traits.KeepsSubnormals(wide)) text += ";ftz=all";
  // Results are cut off then, but those of 16 bits, which STORE rounds itself.
  if (!traits.RoundsToNearest(wide)) text += ";out=any";
  return text + ";det=yes;batchinv=yes";
}

}  // namespace opencl

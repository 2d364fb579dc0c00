// SPDX-License-Identifier: Apache-2.0
// The arithmetic that a case gets on a device, and its declaration. Storage types other than the accumulator's are
// converted by the kernels, so that f16 and bf16 need no extension of the device.
#pragma once

#include <string>

#include "backends/common/op_desc.h"
#include "backends/opencl/program.h"
#include "backends/opencl/traits.h"

namespace opencl {

// i32 where the output is an integer sum of integers, f64 where any operand is f64, else f32.
Accumulator AccumulatorOf(const plugin::OpDesc& op);
int64_t Bytes(Accumulator acc);
// `value` in the accumulator's format, as the bits that SCALAR() of elements.cl turns back.
int64_t ScalarBits(Accumulator acc, double value);

// Why the device cannot hold or compute the operands' types and sizes; "" when it can.
std::string OperandsWhyNot(const Traits& traits, const plugin::OpDesc& op);

// The functions whose errors OpenCL's specification bounds (7.4, relative error as ulp).
enum class Math { kNone, kDivide, kSqrt, kExp, kExpLog, kExpTanh };

// "f32acc;math=3;ftz=all;det=yes;batchinv=yes": accumulator, accuracy of the functions, flushes and rounding.
// `least_ulp` is of functions beside `math`.
std::string ContractText(const Traits& traits, Accumulator acc, Math math, double least_ulp = 0);

}  // namespace opencl

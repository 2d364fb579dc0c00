// SPDX-License-Identifier: Apache-2.0
// The kernels' arithmetic, and its contract.
#pragma once

#include <string>

#include "backends/common/op_desc.h"
#include "backends/gpu/device/tags.h"
#include "backends/gpu/traits.h"

namespace gpu {

// Bytes of the accumulator that goes with operands of a type: f64 for f64, i32 for i8, f32 otherwise.
int64_t AccumulatorBytes(Tag operands);

// Why inputs and outputs are not all f64, nor all of f32, f16 and bf16; "" when they are. A double rounded to 16 bits
// would be rounded twice.
std::string FloatTypesWhyNot(const plugin::OpDesc& op);

// Why the device cannot launch `blocks` blocks; "" if it can.
std::string BlocksWhyNot(const Traits& traits, double blocks, int threads);

// "f32acc;math=2;det=yes;batchinv=yes" of the kernels: sums in one order, subnormals kept. `math` in ulp of the
// accumulator.
std::string ContractText(Tag operands, double math);

// The contract of products on matrix units.
std::string UnitContractText(const Traits& traits, double math);

// Why the device has no matrix units for the type; "" when it has.
std::string UnitWhyNot(const Traits& traits, plugin::DType dtype);

}  // namespace gpu

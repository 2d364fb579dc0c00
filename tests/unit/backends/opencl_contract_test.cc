// SPDX-License-Identifier: Apache-2.0
// The OpenCL plugin's contract follows from the device's properties, tested for devices that are not here too.
#include <gtest/gtest.h>

#include "backends/opencl/arithmetic.h"
#include "tests/unit/backends/matmul_case.h"

namespace plugin_test {
namespace {

using opencl::Accumulator;
using opencl::ContractText;
using opencl::Math;
using opencl::Traits;

Traits Device(cl_device_fp_config f32, cl_device_fp_config f64) {
  Traits traits;
  traits.name = "a device";
  traits.f32 = f32, traits.f64 = f64;
  traits.max_alloc_bytes = 1 << 20;
  return traits;
}

constexpr cl_device_fp_config kLeast = CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN;  // of OpenCL's full profile, for f32
constexpr cl_device_fp_config kDouble = kLeast | CL_FP_DENORM | CL_FP_FMA;

TEST(OpenClContract, AnIeeeDeviceDeclaresNoMoreThanTheSpecificationsFunctions) {
  const Traits traits = Device(kDouble | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, kDouble);
  EXPECT_EQ(ContractText(traits, Accumulator::kF32, Math::kNone), "f32acc;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(traits, Accumulator::kF32, Math::kDivide), "f32acc;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(traits, Accumulator::kF32, Math::kSqrt), "f32acc;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(traits, Accumulator::kF32, Math::kExpLog), "f32acc;math=3;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(traits, Accumulator::kF64, Math::kExpTanh), "f64;math=5;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(traits, Accumulator::kI32, Math::kNone), "acc=i32;det=yes;batchinv=yes");
}

TEST(OpenClContract, WeakerArithmeticIsDeclared) {
  const Traits least = Device(kLeast, kDouble);
  EXPECT_EQ(ContractText(least, Accumulator::kF32, Math::kDivide), "f32acc;math=2.5;ftz=all;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(least, Accumulator::kF32, Math::kSqrt), "f32acc;math=3;ftz=all;det=yes;batchinv=yes");
  EXPECT_EQ(ContractText(least, Accumulator::kF64, Math::kSqrt), "f64;det=yes;batchinv=yes");
  const Traits truncating = Device(CL_FP_ROUND_TO_ZERO | CL_FP_DENORM, 0);
  EXPECT_EQ(ContractText(truncating, Accumulator::kF32, Math::kNone), "f32acc;out=any;det=yes;batchinv=yes");
}

TEST(OpenClContract, RefusesWhatTheDeviceLacks) {
  const auto why_not = [](const Traits& traits, const MatmulArgs& c) {
    Op op = c.Description();
    return opencl::OperandsWhyNot(traits, plugin::OpDesc(op.raw()));
  };
  const Traits single = Device(kLeast, 0), both = Device(kLeast, kDouble);
  EXPECT_NE(why_not(single, {.in = kF64, .out = kF64}).find("cl_khr_fp64"), std::string::npos);
  EXPECT_NE(why_not(single, {.in = kF32, .out = kF64}).find("cl_khr_fp64"), std::string::npos);
  EXPECT_EQ(why_not(both, {.in = kF64, .out = kF64}), "");
  EXPECT_EQ(why_not(single, {.in = kF16, .out = kF16}), "") << "f16 is storage: it needs no extension";
  // The limit is 1 MiB, in which an operand's guards have their place too.
  EXPECT_EQ(why_not(single, {.m = 128, .n = 128, .k = 512}), "");
  EXPECT_NE(why_not(single, {.m = 128, .n = 512, .k = 512}).find("operand 'b' of 1048576 bytes"), std::string::npos);
}

}  // namespace
}  // namespace plugin_test

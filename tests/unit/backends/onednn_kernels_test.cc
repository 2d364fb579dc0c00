// SPDX-License-Identifier: Apache-2.0
// The oneDNN plugin's contracts for kernels by name, including instruction sets and releases that are not on this
// machine.
#include <gtest/gtest.h>

#include "backends/onednn/kernels.h"

namespace onednn {
namespace {

using enum IntegerSum::Operator;
constexpr plugin::DType kU8{ASSAY_TYPE_UINT, 8};

bool IsExact(IntegerSum::Operator op, plugin::DType a, int64_t terms, const char* name) {
  return IntegerContract({op, a, plugin::kI8, terms}, name) == "acc=i32;det=yes";
}

struct Row {
  IntegerSum::Operator op;
  plugin::DType a;
  const char* name;
  int64_t most_terms;  // the most whose sums are exact; 0: any number
};

const Row kRows[] = {
    // Stored as summed: the GEMM of matmul, and brgemm where the instruction multiplies signed bytes.
    {kMatmul, plugin::kI8, "gemm-jit", 0},
    {kMatmul, plugin::kI8, "brg-avx512_core_amx_int8", 0},
    {kMatmul, kU8, "brg-avx512_core_amx_int8", 0},
    {kMatmul, plugin::kI8, "brg_matmul-avx10_1_512_amx", 0},  // oneDNN 3.x
    {kConvolution, plugin::kI8, "brgconv-avx512_core_amx_int8-reordered", 0},
    {kConvolution, plugin::kI8, "brgconv_1x1-avx512_core_amx_int8", 0},
    // Converted to f32 once: 2^24 = 1024 * 128 * 128 = 514 * 255 * 128 + 16.
    {kMatmul, plugin::kI8, "brg-avx512_core_vnni", 1024},
    {kMatmul, kU8, "brg-avx512_core_vnni", 514},
    {kMatmul, plugin::kI8, "ref_int8-any", 1024},
    {kConvolution, plugin::kI8, "brgconv-avx512_core_vnni-reordered", 1024},
    {kConvolution, plugin::kI8, "brgconv_1x1-avx512_core_vnni-reordered", 1024},
    {kConvolution, plugin::kI8, "jit_int8-avx512_core_vnni-reordered", 1024},
    {kConvolution, plugin::kI8, "jit_uni_int8-avx2_vnni-reordered", 1024},
    {kConvolution, plugin::kI8, "jit-avx512_core_amx_int8-reordered", 1024},
    {kConvolution, plugin::kI8, "jit_1x1-avx512_core_amx_int8-reordered", 1024},
    {kConvolution, plugin::kI8, "x64-gemm_s8s8s32-jit-reordered", 1024},
    {kConvolution, plugin::kI8, "gemm-jit", 1024},
    {kConvolution, plugin::kI8, "ref_int8-any", 1024},
    // Converted while a signed image is still shifted by 128.
    {kConvolution, plugin::kI8, "jit_int8_1x1-avx512_core_vnni-reordered", 514},
    {kConvolution, plugin::kI8, "jit_uni_int8_1x1-sse41-reordered", 514},
    {kConvolution, kU8, "jit_int8_1x1-avx512_core_vnni-reordered", 514},
};

TEST(OneDnnKernels, IntegerSumsByMechanism) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    if (row.most_terms == 0) {
      EXPECT_TRUE(IsExact(row.op, row.a, 1, row.name));
      EXPECT_TRUE(IsExact(row.op, row.a, 131071, row.name));
    } else {
      EXPECT_TRUE(IsExact(row.op, row.a, row.most_terms, row.name));
      EXPECT_FALSE(IsExact(row.op, row.a, row.most_terms + 1, row.name));
    }
  }
}

// The limits are those of f32: the next odd sum is the first that it rounds.
TEST(OneDnnKernels, LimitsAreWhereF32BeginsToRound) {
  const auto rounds = [](int64_t sum) { return static_cast<int64_t>(static_cast<float>(sum)) != sum; };
  EXPECT_FALSE(rounds(1024 * 128 * 128));
  EXPECT_TRUE(rounds(1024 * 128 * 128 + 1));
  EXPECT_FALSE(rounds(514 * 255 * 128 + 1));
  EXPECT_TRUE(rounds(515 * 255 * 128 + 1));
}

TEST(OneDnnKernels, SaturateWithoutDotProducts) {
  EXPECT_TRUE(SaturatesSumsOfBytes("brg-avx512_core"));
  EXPECT_TRUE(SaturatesSumsOfBytes("brgconv-avx512_core-reordered"));
  for (const char* name :
       {"brg-avx512_core_vnni", "brg-avx512_core_amx", "brg-avx2_vnni", "gemm-jit", "ref_int8-any"}) {
    EXPECT_FALSE(SaturatesSumsOfBytes(name)) << name;
  }
}

TEST(OneDnnKernels, WithheldWhereTheyWritePastTheirOutput) {
  for (const char* name : {"jit_1x1-avx512_core_amx_bf16", "jit_1x1-avx512_core_amx_bf16-reordered",
                           "jit_1x1-avx512_core_amx_int8", "jit_1x1-avx512_core_amx"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(WritesPastItsOutput(name, {2, 6}));
    EXPECT_TRUE(WritesPastItsOutput(name, {3, 3}));
    EXPECT_FALSE(WritesPastItsOutput(name, {3, 4}));
    EXPECT_FALSE(WritesPastItsOutput(name, {4, 0}));
  }
  for (const char* name : {"brgconv_1x1-avx512_core_amx_bf16", "jit-avx512_core_amx_bf16", "jit_1x1-avx512_core",
                           "jit_bf16_1x1-avx512_core_bf16"}) {
    EXPECT_FALSE(WritesPastItsOutput(name, {2, 6})) << name;
  }
}

}  // namespace
}  // namespace onednn

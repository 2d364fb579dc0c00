// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/iree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/import/imported_text.h"

namespace assay {
namespace {

using testing::ElementsAre;

// A function in the form of the generators' calls.
std::string Call(const std::string& name, const std::string& description, const std::string& body) {
  return fmt::format(
      "util.func @{}() attributes {{\n  iree.reflection = {{description = \"{}\"}}\n}} {{\n{}  util.return\n}}\n", name,
      description, body);
}

void ImportCalls(const std::string& text, Outcome& outcome) {
  ImportText(
      "builtin.module @calls attributes {\n} {\nutil.func private @module.matmul_1x1xf32(%lhs: !hal.buffer_view)\n" +
          text,
      "calls.mlir", outcome, [](const auto& file, Imports& imports) { return ImportIree(file, imports); });
  EXPECT_TRUE(outcome.status);
}

TEST(Iree, CallsOfProductsAndAttention) {
  Outcome outcome;
  ImportCalls(Call("matmul_accumulate_DYNxDYNxf16_times_DYNxDYNxf16_into_DYNxDYNxf32_6_13_3_acc_0",
                   "Matmul shape (MxKxN): 6x13x3",
                   "  %acc_dim0 = arith.constant 6 : i64\n  %transpose_rhs = arith.constant 1 : i32\n") +
                  Call("matmul_1x10xi8_times_10x10xi8_into_1x10xi32_1_10_10_1", "Matmul shape (MxKxN): 1x10x10",
                       "  %transpose_rhs = arith.constant 0 : i32\n") +
                  Call("call_batch_matmul_2x8x4xf32_times_2x4x8xf32_into_2x8x8xf32_2x8x4x8_0",
                       "Batch matmul shape (BxMxKxN): 2x8x4x8", "") +
                  Call("attention_2_4_8_6_5_dtype_f16_f16_f16_f16_masked_2_4_8_6_5_8_1.0_0",
                       "Attention shape (BATCHxMxK1xK2xN): 2x4x8x6x8x5 (causal masked)",
                       "  %scale = arith.constant 1.0 : f32\n"),
              outcome);
  EXPECT_THAT(outcome.Ids(),
              ElementsAre("matmul/f16-f16-f32/m=6,n=3,k=13,transb=1,beta=1/fill=normal/seed=0",
                          "matmul/i8-i8-i32/m=1,n=10,k=10/fill=normal/seed=0",
                          "matmul/f32/m=8,n=8,k=4,batch=2/fill=normal/seed=0",
                          "attention/f16/b=2,h=1,l=4,s=6,d=8,dv=5,causal=1,align=tl,scale=1/fill=normal/seed=0"));
  EXPECT_EQ(outcome.unmapped.size(), 0U) << outcome.Reason(0);
}

TEST(Iree, WhatHasNoCounterpartSaysWhy) {
  Outcome outcome;
  const std::string types = "matmul_8x8xf8E4M3FNUZ_times_8x8xf8E4M3FNUZ_into_8x8xf32_8_8_8_0";
  const std::string plain = "matmul_8x8xf32_times_8x8xf32_into_8x8xf32_8_8_8_0";
  ImportCalls(Call(types, "Matmul shape (MxKxN): 8x8x8", "") + Call(plain, "Matmul shape (MxKxN): 8x8", "") +
                  Call(plain, "Matmul shape (MxKxN): 8x99999999999999x8", "") +
                  Call(plain, "Matmul shape (MxKxN): 8x8x8", "  %lhs_scale_dim0 = arith.constant 8 : i64\n") +
                  Call(plain, "Conv2d shape (NHWC): 8x8x8x8", "") + Call("matmul", "Matmul shape (MxKxN): 8x8x8", "") +
                  "util.func @bare() {\n",
              outcome);
  EXPECT_EQ(outcome.imports.mapped(), 0U);
  ASSERT_EQ(outcome.unmapped.size(), 7U);
  EXPECT_EQ(outcome.Reason(0), "no type f8E4M3FNUZ here");
  EXPECT_EQ(outcome.Reason(1), "its description has another number of extents than it names");
  EXPECT_EQ(outcome.Reason(2), "an extent is not from 1 to 2^31");
  EXPECT_EQ(outcome.Reason(3), "operands in blocks with scales");
  EXPECT_EQ(outcome.Reason(4), "no operator for 'Conv2d' here");
  EXPECT_EQ(outcome.Reason(6), "a function without description");
}

}  // namespace
}  // namespace assay

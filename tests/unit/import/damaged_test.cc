// SPDX-License-Identifier: Apache-2.0
// Files that somebody has cut, repeated and overwritten at random: importers take them or say why not, and end.
#include <gtest/gtest.h>

#include "harness/tools/import/benchdnn.h"
#include "harness/tools/import/ggml.h"
#include "harness/tools/import/iree.h"
#include "harness/tools/import/onnx.h"
#include "tests/unit/import/damage.h"
#include "tests/unit/import/imported_text.h"
#include "tests/unit/import/onnx_bytes.h"

namespace assay {
namespace {

// Each outcome is a case that its operator takes, or a reason; and what can be written can be read as a suite again.
void ExpectWhole(const Outcome& outcome) {
  if (!outcome.status) {
    EXPECT_FALSE(outcome.status.error().message.empty());
    return;
  }
  EXPECT_EQ(outcome.imports.unmapped(), outcome.unmapped.size());
  for (const UnmappedCase& one : outcome.unmapped) EXPECT_FALSE(one.reason.empty()) << one.from.text;
  const auto again = ParseSuite(ImportedSuite(outcome.imports, "a title"), "again.suite", Catalog());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->size(), outcome.imports.cases().size());
}

constexpr int kRounds = 400;

TEST(Damaged, TextsOfEachFormat) {
  const std::string benchdnn =
      "--matmul --dt=f32,f16:f16:f32 --stag=ab,ba --bia-dt=undef,f32 --bia_mask=2\n3x5:5x7_n\"a\"\n2x3x4:2x4x5\n"
      "--conv --dir=FWD_D --mb=2\ng2ic4ih9oc6oh5kh3sh2ph1dh0n\"b\"\n--reduction --alg=sum,mul\n5x3x2:1x3x1\n"
      "--lnorm --flags=CH\n2x3x8\n--gnorm --flags=CH\ng2mb3ic8ih3iw4\n--eltwise --alg=exp\n3x4\n--ip\nmb7ic3ih2oc5\n"
      "--softmax --axis=0,1\n4x6\n";
  const std::string ggml =
      "MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=256,bs=[2,1],nr=[1,1],per=[0,1,2,3])\n"
      "FLASH_ATTN_EXT(hsk=64,hsv=32,nh=4,nr23=[2,1],kv=96,nb=3,mask=1,max_bias=0.0,logit_softcap=1.5,type_K=f32,type_V="
      "f32)\n"
      "SOFT_MAX(type=f32,ne=[10,5,4,3],mask=0,nr23=[2,1],scale=1.0)\nSUM_ROWS(type=f32,ne=[10,5,4,3],permute=1,slice=1)"
      "\n"
      "CONV_2D(ne_input=[9,7,2,3],ne_kernel=[3,2,2,4],type_kernel=f32,stride0=1,stride1=2,padding0=1)\n"
      "SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,swapped=0)\nTOP_K(type=f32,ne=[16,10,1,1],k=4)\n"
      "ROPE(type=f32,ne_a=[64,8,3,1],n_dims=64,mode=2)\nGET_ROWS(type=f32,n=256,m=5,r=4,be1=1,be2=1,v=0)\n";
  const std::string iree =
      "util.func @matmul_1x10xf32_times_10x10xf32_into_1x10xf32_1_10_10_1() attributes {\n"
      "  iree.reflection = {description = \"Matmul shape (MxKxN): 1x10x10\"}\n  %transpose_rhs = arith.constant 1 : "
      "i32\n"
      "func.func @attention_2_4_8_6_5_dtype_f16_f16_f16_f16_0() attributes {\n"
      "  iree.reflection = {description = \"Attention shape (BATCHxMxK1xK2xN): 2x4x8x6x8x5\"}\n"
      "  %scale = arith.constant 1.0 : f32\n";
  size_t mapped = 0, unmapped = 0;
  for (int round = 0; round < kRounds; ++round) {
    Damage damage(round);
    Outcome outcomes[3];
    ImportText(damage.Of(benchdnn), "a", outcomes[0],
               [](const auto& file, Imports& imports) { return ImportBenchdnn(file, "", imports); });
    ImportText(damage.Of(ggml), "b", outcomes[1],
               [&](const auto& file, Imports& imports) { return ImportGgml(file, round % 2 == 0, imports); });
    ImportText(damage.Of(iree), "c", outcomes[2], ImportIree);
    for (const Outcome& outcome : outcomes) {
      ExpectWhole(outcome);
      mapped += outcome.imports.mapped();
      unmapped += outcome.imports.unmapped();
    }
  }
  EXPECT_GT(mapped, 1000U);  // else these would be no test of what comes behind the first check
  EXPECT_GT(unmapped, 1000U);
}

TEST(Damaged, NodesAndTheirTensors) {
  const std::string model =
      OneNode("Conv", {"x", "w"}, {"y"},
              {IntsAttribute("pads", {1, 1, 1, 1}), IntsAttribute("strides", {2, 2}), IntAttribute("group", 1)});
  const std::string x = RealTensor({1, 1, 5, 5}, std::vector<float>(25, 1)),
                    w = RealTensor({1, 1, 3, 3}, std::vector<float>(9, 1));
  const std::string y = RealTensor({1, 1, 3, 3}, std::vector<float>(9, 1));
  size_t mapped = 0, unmapped = 0;
  for (int round = 0; round < kRounds; ++round) {
    Damage damage(round);
    const TemporaryFolder folder;
    WriteText(folder.Path("model.onnx"), round % 2 == 0 ? damage.Of(model) : model);
    WriteText(folder.Path("test_data_set_0/input_0.pb"), round % 2 == 1 ? damage.Of(x) : x);
    WriteText(folder.Path("test_data_set_0/input_1.pb"), w);
    WriteText(folder.Path("test_data_set_0/output_0.pb"), y);
    Outcome outcome;
    const OnnxData data = round % 3 == 0 ? OnnxData::kShapesAlone : OnnxData::kWithTensors;
    outcome.status = ImportOnnx(folder.Path(""), data, outcome.imports);
    ExpectWhole(outcome);
    mapped += outcome.imports.mapped();
    unmapped += outcome.imports.unmapped();
  }
  EXPECT_GT(mapped, 20U);
  EXPECT_GT(unmapped, 20U);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/benchdnn.h"

#include <gmock/gmock.h>

#include "tests/unit/import/imported_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The text as a file in a folder of that driver's name.
void ImportProblems(const std::string& driver, const std::string& text, Outcome& outcome) {
  ImportText(text, driver + "/shapes_own", outcome,
             [](const auto& file, Imports& imports) { return ImportBenchdnn(file, "", imports); });
}

std::vector<std::string> IdsOf(const std::string& driver, const std::string& text) {
  Outcome outcome;
  ImportProblems(driver, text, outcome);
  EXPECT_TRUE(outcome.status);
  for (const UnmappedCase& one : outcome.unmapped) ADD_FAILURE() << one.from.text << ": " << one.reason;
  return outcome.Ids();
}

std::string ReasonOf(const std::string& driver, const std::string& text) {
  Outcome outcome;
  ImportProblems(driver, text, outcome);
  EXPECT_EQ(outcome.imports.mapped(), 0U) << text;
  return outcome.Reason(0);
}

TEST(Benchdnn, ProductsWithTheirTypesBatchesAndTranspositions) {
  EXPECT_THAT(IdsOf("matmul", "3x5:5x7"), ElementsAre("matmul/f32/m=3,n=7,k=5/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("matmul", "--dt=bf16:bf16:f32 --stag=ba --wtag=any\n3x5:5x7_n\"a_name\""),
              ElementsAre("matmul/bf16-bf16-f32/m=3,n=7,k=5,transa=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("matmul", "--wtag=abdc\n2x3x4x5:2x3x5x6"),
              ElementsAre("matmul/f32/m=4,n=6,k=5,batch=6,transb=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("matmul", "2x4x5:1x5x6"), ElementsAre("matmul/f32/m=8,n=6,k=5/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("matmul", "--bia-dt=f32 --bia_mask=4\n2x4x5:2x5x6"),
              ElementsAre("matmul/f32/m=4,n=6,k=5,batch=2,bias=1/fill=normal/seed=0"));
}

TEST(Benchdnn, OptionsThatCountMultiplyAndOthersDoNot) {
  Outcome outcome;
  ImportProblems("matmul", "--dt=f32,f16 --stag=ab,any,ba --strides=8x1:,,9x1: --frob=1\n3x5:5x7\n--reset\n1x2:2x3",
                 outcome);
  EXPECT_THAT(
      outcome.Ids(),
      ElementsAre("matmul/f32/m=3,n=7,k=5/fill=normal/seed=0", "matmul/f32/m=3,n=7,k=5,transa=1/fill=normal/seed=0",
                  "matmul/f16/m=3,n=7,k=5/fill=normal/seed=0", "matmul/f16/m=3,n=7,k=5,transa=1/fill=normal/seed=0",
                  "matmul/f32/m=1,n=3,k=2/fill=normal/seed=0"));
  EXPECT_THAT(outcome.imports.passed_over(true), ElementsAre(std::pair("--strides", 1)));
  EXPECT_THAT(outcome.imports.passed_over(false), ElementsAre(std::pair("--frob", 1)));
}

TEST(Benchdnn, WhatHasNoCounterpartSaysWhy) {
  EXPECT_THAT(ReasonOf("matmul", "--attr-post-ops=relu\n3x5:5x7"), StartsWith("attr-post-ops: "));
  EXPECT_THAT(ReasonOf("matmul", "--attr-new-thing=x\n3x5:5x7"), StartsWith("attr-others: "));
  EXPECT_EQ(ReasonOf("matmul", "--dt=s4\n3x5:5x7"), "no type s4 here");
  EXPECT_THAT(ReasonOf("matmul", "--dt=u8:s8:s32\n3x5:5x7"), HasSubstr("a is u8 and b is i8"));
  EXPECT_EQ(ReasonOf("matmul", "2x3x5:7x5x7"), "operands are repeated over the batch");
  EXPECT_EQ(ReasonOf("matmul", "3x5:6x7"), "the shapes of a product do not fit each other");
  EXPECT_EQ(ReasonOf("matmul", "--bia-dt=s32\n3x5:5x7"), "the bias has another type than the output");
  EXPECT_EQ(ReasonOf("matmul", "--bia-dt=f32 --bia_mask=1\n3x5:5x7"), "the bias does not go along n alone");
  EXPECT_EQ(ReasonOf("pool", "ic3ih4kh2"), "driver pool: no operator for it");
  EXPECT_THAT(ReasonOf("elsewhere", "3x5:5x7"), StartsWith("no driver: give --driver NAME"));
  EXPECT_EQ(ReasonOf("conv", "--dir=BWD_D\nic3oc4ih5kh3"), "dir=BWD_D: this gradient is no operator here");
  EXPECT_EQ(ReasonOf("conv", "ic3oc4ih5oh5kh3ph0"), "padding that differs between both ends");
  EXPECT_EQ(ReasonOf("reduction", "3x4:3x4"), "no axis is reduced");
  EXPECT_EQ(ReasonOf("eltwise", "--alg=RELU\n3x4"), "no elementwise operator relu here");
  EXPECT_EQ(ReasonOf("lnorm", "3x4"), "flags=: a norm here has scale and shift");
}

TEST(Benchdnn, ConvolutionsAreSquareWhereOneAxisIsStated) {
  EXPECT_THAT(IdsOf("conv", "--dir=FWD_D\nmb1ic3ih8oc4oh8kh3ph1_n\"net:conv1\""),
              ElementsAre("conv/f32/n=1,c=3,o=4,i=8x8,k=3x3,pad=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("conv", "g2mb3ic4iw9oc6ow4kw3sw2pw0dw0"),
              ElementsAre("conv/f32/n=3,c=4,o=6,i=9,k=3,stride=2,groups=2,bias=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("conv", "--dir=fwd_d --dt=bf16\nmb1ic2_ih9iw5oc2kh3kw1dh1"),
              ElementsAre("conv/bf16/n=1,c=2,o=2,i=9x5,k=3x1,dilation=2x1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("conv", "--cfg=f16 --dir=FWD_D --mb=5\nic2oc2id5kd2"),
              ElementsAre("conv/f16/n=5,c=2,o=2,i=5x5x5,k=2x2x2/fill=normal/seed=0"));
  // The padding follows from the output where only that is stated.
  EXPECT_THAT(IdsOf("conv", "--dir=FWD_D\nmb1ic2oc2ih7oh4kh3sh2"),
              ElementsAre("conv/f32/n=1,c=2,o=2,i=7x7,k=3x3,stride=2,pad=1/fill=normal/seed=0"));
}

TEST(Benchdnn, TheOtherDrivers) {
  EXPECT_THAT(IdsOf("ip", "mb7ic3ih2oc5"), ElementsAre("matmul/f32/m=7,n=5,k=12,transb=1,bias=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("softmax", "--sdt=f16 --ddt=f16 --alg=LOGSOFTMAX\n4x6x5"),
              ElementsAre("softmax/f16/shape=4x6x5,axis=1,log=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("softmax", "--dir=BWD_D --axis=2\n4x6x5"),
              ElementsAre("softmax_backward/f32/rows=24,n=5/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("reduction", "--alg=mul,norm_lp_sum --p=2 --eps=\n5x3x2:1x3x1"),
              ElementsAre("reduce/f32/shape=5x3x2,axes=0+2,kind=prod,keepdims=1/fill=near_one/seed=0",
                          "reduce/f32/shape=5x3x2,axes=0+2,kind=l2,keepdims=1/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("lnorm", "--flags=CH --dt=bf16\n2x3x8"),
              ElementsAre("layer_norm/bf16-f32-f32-bf16/rows=6,n=8/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("lnorm", "--flags=CH --dir=BWD_DW\n2x3x8"),
              ElementsAre("layer_norm_backward/f32/rows=6,n=8/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("gnorm", "--flags=CH\ng2mb3ic8ih3iw4"),
              ElementsAre("group_norm/f32/b=3,g=2,c=4,n=12/fill=normal/seed=0"));
  EXPECT_THAT(IdsOf("eltwise", "--alg=gelu_tanh,exp\n3x4"),
              ElementsAre("gelu/f32/n=12,approx=tanh/fill=normal/seed=0", "exp/f32/n=12/fill=normal/seed=0"));
}

TEST(Benchdnn, BatchFilesCommandsAndOutput) {
  const TemporaryFolder folder;
  folder.Write("matmul/shapes_a", "# a comment\n3x5:5x7 # another\n--batch=shapes_b\n");
  folder.Write("matmul/shapes_b", "--dt=f16 1x2:2x3\n");
  folder.Write("run.txt",
               "./benchdnn --matmul --dt=bf16 --batch=shapes_a\n2x2:2x2\n"
               "--softmax --axis=0, \\\n   1 \\\n --alg=SOFTMAX 4x4\n--batch=absent\n");
  Outcome outcome;
  ASSERT_TRUE(ImportBenchdnn(folder.Path("run.txt"), "", outcome.imports));
  EXPECT_THAT(
      outcome.Ids(),
      ElementsAre("matmul/bf16/m=3,n=7,k=5/fill=normal/seed=0", "matmul/f16/m=1,n=3,k=2/fill=normal/seed=0",
                  "matmul/f16/m=2,n=2,k=2/fill=normal/seed=0", "softmax/f32/shape=4x4,axis=0/fill=normal/seed=0",
                  "softmax/f32/shape=4x4/fill=normal/seed=0"));
  EXPECT_EQ(outcome.Reason(0), "a batch file that is not there");

  Outcome output;
  ImportText(
      "0:PASSED (3 ms) __REPRO: --matmul --dt=f16 3x5:5x7\nnothing 1x1:1x1\n1:FAILED __REPRO: --matmul 1x2:2x3\n",
      "log.txt", output, [](const auto& file, Imports& imports) { return ImportBenchdnn(file, "", imports); });
  EXPECT_THAT(output.Ids(),
              ElementsAre("matmul/f16/m=3,n=7,k=5/fill=normal/seed=0", "matmul/f32/m=1,n=3,k=2/fill=normal/seed=0"));
}

TEST(Benchdnn, FilesThatIncludeThemselvesEnd) {
  const TemporaryFolder folder;
  folder.Write("matmul/loop", "--batch=loop\n");
  Outcome outcome;
  ASSERT_TRUE(ImportBenchdnn(folder.Path("matmul/loop"), "", outcome.imports));
  EXPECT_THAT(outcome.Reason(0), HasSubstr("include each other more than 16 deep"));
}

TEST(Benchdnn, UnreadableFilesAndUnknownDriversAreErrors) {
  Outcome outcome;
  EXPECT_FALSE(ImportBenchdnn("/nowhere/at/all", "", outcome.imports));
  ImportProblems("matmul", std::string("3x5:5x7\0", 8), outcome);
  ASSERT_FALSE(outcome.status);
  EXPECT_THAT(outcome.status.error().message, HasSubstr("not a text file"));
  const auto unknown = ImportBenchdnn("x", "mat", outcome.imports);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("--driver mat: benchdnn has no driver of this name; give matmul"));
}

TEST(Benchdnn, NumbersBeyondAllLimitsAreReasons) {
  for (const char* text : {"99999999999999999999x1:1x1", "0x1:1x1", "-1x1:1x1", "3000000000x1:1x1", "1x1", "x:x", ":",
                           "1x1x1x1x1x1x1x1x1x1:1x1", "2147483648x2147483648x2:2147483648x2x2"}) {
    EXPECT_FALSE(ReasonOf("matmul", text).empty()) << text;
  }
  for (const char* text : {"ic3", "ic3oc4ih5kh", "icoc", "ic99999999999999999999oc1ih1kh1", "zz4",
                           "ic1oc1ih1kh1ph2147483648", "ic1oc1ih2oh2147483648kh2147483648sh2147483648"}) {
    EXPECT_FALSE(ReasonOf("conv", text).empty()) << text;
  }
}

}  // namespace
}  // namespace assay

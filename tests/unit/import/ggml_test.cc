// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/ggml.h"

#include <gmock/gmock.h>

#include "tests/unit/import/imported_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

void ImportLines(const std::string& text, bool near_types, Outcome& outcome) {
  ImportText(text, "cases.txt", outcome,
             [&](const auto& file, Imports& imports) { return ImportGgml(file, near_types, imports); });
  EXPECT_TRUE(outcome.status);
}

std::string GgmlId(const std::string& line, bool near_types = false) {
  Outcome outcome;
  ImportLines(line, near_types, outcome);
  const auto ids = outcome.Ids();
  return ids.empty() ? outcome.Reason(0) : ids[0];
}

TEST(Ggml, ProductsHaveTheWeightsAsTransposedB) {
  EXPECT_EQ(GgmlId("MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=256,bs=[1,1],nr=[1,1],per=[0,1,2,3],k_v=0,o=1)"),
            "matmul/f32/m=3,n=16,k=256,transb=1/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=8,bs=[2,3],nr=[1,1])"),
            "matmul/f32/m=3,n=16,k=8,batch=6,transb=1/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=8,bs=[1,1],nr=[2,2])"),
            "matmul/f32/m=12,n=16,k=8,transb=1/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("MUL_MAT(type_a=f32,type_b=f32,m=16,n=3,k=8,bs=[3,1],nr=[2,1])"),
            "operands are repeated over the batch");
  EXPECT_EQ(GgmlId("OUT_PROD(type_a=f32,type_b=f32,m=4,n=5,k=6,bs=[1,1],nr=[1,1],trans_b=0)"),
            "matmul/f32/m=5,n=4,k=6,transa=1/fill=normal/seed=0");
}

TEST(Ggml, MixedTypesBecomeNearOnesOnlyWhenAsked) {
  const std::string line = "MUL_MAT(type_a=f16,type_b=f32,m=16,n=1,k=8,bs=[1,1],nr=[1,1])";
  EXPECT_EQ(GgmlId(line), "f32-f16-f32 mixed, where operators here take one type: --near-types takes f16-f16-f32");
  EXPECT_EQ(GgmlId(line, true), "matmul/f16-f16-f32/m=1,n=16,k=8,transb=1/fill=normal/seed=0");
  Outcome outcome;
  ImportLines(line + "\nMUL_MAT(type_a=f32,type_b=f32,m=16,n=1,k=8,bs=[1,1],nr=[1,1])", true, outcome);
  EXPECT_EQ(outcome.imports.replaced_types(), 1U);
  EXPECT_THAT(ImportSummary(outcome.imports), HasSubstr("1  of the mapped ones have other types than theirs"));
}

TEST(Ggml, Attention) {
  const std::string shape = "FLASH_ATTN_EXT(hsk=64,hsv=32,nh=4,nr23=[2,1],kv=96,nb=3,";
  EXPECT_EQ(GgmlId(shape + "mask=0,sinks=0,max_bias=0.000000,logit_softcap=10.000000,prec=f32,type_K=f32,type_V=f32)"),
            "attention/f32/b=1,h=8,hkv=4,l=3,s=96,d=64,dv=32,softcap=10/fill=normal/seed=0");
  EXPECT_EQ(GgmlId(shape + "mask=1,type_K=f16,type_V=f16)", true),
            "attention/f16/b=1,h=8,hkv=4,l=3,s=96,d=64,dv=32,mask=add/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("FLASH_ATTN_EXT(hs=64,nh=4,nr=2,kv=96,nb=3,mask=0,type_KV=f32)"),
            "attention/f32/b=1,h=8,hkv=4,l=3,s=96,d=64/fill=normal/seed=0");
  EXPECT_THAT(GgmlId(shape + "mask=0,sinks=1,type_K=f32,type_V=f32)"), StartsWith("sinks: "));
  EXPECT_THAT(GgmlId(shape + "mask=1,max_bias=8.0,type_K=f32,type_V=f32)"), StartsWith("max_bias: "));
}

TEST(Ggml, RowsAndReductions) {
  EXPECT_EQ(
      GgmlId("SOFT_MAX(type=f32,ne=[10,5,4,3],mask=0,sinks=0,m_prec=f32,nr23=[2,1],scale=1.000000,max_bias=0.000000)"),
      "softmax/f32/shape=3x8x5x10/fill=normal/seed=0");
  EXPECT_THAT(GgmlId("SOFT_MAX(type=f32,ne=[10,5,4,3],mask=1,scale=1.0,max_bias=0.0)"), StartsWith("mask: "));
  EXPECT_EQ(GgmlId("SUM(type=f32,ne=[10,5,4,3])"),
            "reduce/f32/shape=3x4x5x10,axes=0+1+2+3,keepdims=1/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("SUM_ROWS(type=f32,ne=[10,5,4,3],permute=1,slice=1)"),
            "reduce/f32/shape=2x5x2x10,axes=3,keepdims=1/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("ARGMAX(type=f32,ne=[32,10,1,1])"),
            "reduce/f32-i64/shape=1x1x10x32,axes=3,kind=argmax/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("ARGSORT(type=f32,ne=[16,10,10,1],order=1)"),
            "sort/f32/rows=100,n=16,descending=1,tie=any/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("CUMSUM(type=f32,ne=[10,5,4,1])"), "cumsum/f32/rows=20,n=10/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,swapped=0)"),
            "silu_and_mul/f32/rows=8,n=64/fill=normal/seed=0");
  EXPECT_THAT(GgmlId("SWIGLU(type=f32,ne_a=[128,2,2,2],v=0,split)"), StartsWith("split: "));
  EXPECT_EQ(GgmlId("GET_ROWS(type=f32,n=256,m=5,r=4,be1=1,be2=1,v=0)"),
            "gather/f32-i32-f32/v=5,n=4,d=256/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("ROPE(type=f32,ne_a=[64,8,3,1],n_dims=64,mode=2,n_ctx=512,fs=1.0,ef=0.0,af=1.0,ff=0,v=0)"),
            "rope/f32/b=1,l=3,h=8,d=64/fill=normal/seed=0");
}

TEST(Ggml, Convolutions) {
  EXPECT_EQ(
      GgmlId("CONV_2D(ne_input=[9,7,2,3],ne_kernel=[3,2,2,4],type_kernel=f32,stride0=1,stride1=2,padding0=1,padding1=0,"
             "dilation0=1,dilation1=1,cwhn=0)"),
      "conv/f32/n=3,c=2,o=4,i=7x9,k=2x3,stride=2x1,pad=0x1/fill=normal/seed=0");
  EXPECT_EQ(
      GgmlId(
          "CONV_2D_DW(ne_input=[17,34,9,1],ne_kernel=[3,3,1,9],type_kernel=f32,stride=1,padding=0,dilation=1,cwhn=0)"),
      "conv/f32/n=1,c=9,o=9,i=34x17,k=3x3,groups=9/fill=normal/seed=0");
  EXPECT_EQ(GgmlId("CONV_3D(N=1,IC=2,ID=5,IH=6,IW=7,OC=3,KD=1,KH=2,KW=3,s0=1,s1=1,s2=1,p0=0,p1=0,p2=0,d0=1,d1=1,d2=1,"
                   "type_kernel=f32)"),
            "conv/f32/n=1,c=2,o=3,i=5x6x7,k=1x2x3/fill=normal/seed=0");
}

TEST(Ggml, FindsCasesInWhatStandsAround) {
  Outcome outcome;
  ImportLines(
      "Backend 1/1: CPU\n  Device memory: 24105 MB (24105 MB free)\n"
      "  EXP(type=f16,ne_a=[128,2,2,2],v=0): \033[1;32mOK\033[0m\r\n"
      "[SOFT_MAX] NMSE = 0.1 > 0.0   SUM(type=f32,ne=[10,5,4,3]): FAIL\n  ABS(type=f16,ne_a=[5,7,11,13],v=0): OK\n",
      false, outcome);
  EXPECT_THAT(outcome.Ids(), ElementsAre("exp/f16/n=1024/fill=normal/seed=0",
                                         "reduce/f32/shape=3x4x5x10,axes=0+1+2+3,keepdims=1/fill=normal/seed=0"));
  EXPECT_EQ(outcome.Reason(0), "no operator ABS here");
  EXPECT_THAT(outcome.unmapped[0].from.where, testing::EndsWith("cases.txt:5"));
}

TEST(Ggml, WhatIsNotKnownIsNoCase) {
  EXPECT_EQ(GgmlId("SUM(type=f32,ne=[10,5,4,3],twist=1)"), "twist: a variable that is not known here");
  EXPECT_THAT(GgmlId("MUL_MAT(type_a=q4_0,type_b=f32,m=16,n=1,k=256,bs=[1,1],nr=[1,1])"),
              StartsWith("types in blocks"));
  for (const char* line :
       {"SUM(type=f32,ne=[10,5,4", "SUM(=)", "SUM(type=f32,ne=[])", "SUM(type=f32,ne=[0,1,1,1])",
        "SUM(type=f32,ne=[99999999999999999999,1,1,1])", "SUM(type=f32,ne=[2147483648,2147483648,4,4])",
        "SUM(type=f32,ne=10)", "SUM_ROWS(type=f32,ne=[10,1,1,1],permute=0,slice=1)",
        "SOFT_MAX(type=f32,ne=[4,4,2147483648,1],nr23=[2147483648,1])",
        "MUL_MAT(type_a=f32,type_b=f32,m=-1,n=1,k=1,bs=[1,1],nr=[1,1])",
        "CONV_2D(ne_input=[1,1,1,1],ne_kernel=[3,3,1,1],type_kernel=f32)"}) {
    Outcome outcome;
    ImportLines(line, false, outcome);
    EXPECT_EQ(outcome.imports.mapped(), 0U) << line;
  }
}

}  // namespace
}  // namespace assay

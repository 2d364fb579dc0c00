// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/onnx.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/tools/import/onnx_model.h"
#include "tests/unit/import/imported_text.h"
#include "tests/unit/import/onnx_bytes.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Tensors = std::vector<std::string>;

void WriteTest(const TemporaryFolder& folder, const std::string& name, const std::string& model, const Tensors& inputs,
               const Tensors& outputs) {
  WriteText(folder.Path(name + "/model.onnx"), model);
  const std::string set = name + "/test_data_set_0/";
  for (size_t i = 0; i < inputs.size(); ++i) WriteText(folder.Path(fmt::format("{}input_{}.pb", set, i)), inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) WriteText(folder.Path(fmt::format("{}output_{}.pb", set, i)), outputs[i]);
}

std::string OnnxId(const std::string& model, const Tensors& inputs, const Tensors& outputs) {
  const TemporaryFolder folder;
  WriteTest(folder, "test_one", model, inputs, outputs);
  Outcome outcome;
  EXPECT_TRUE(ImportOnnx(folder.Path(""), OnnxData::kShapesAlone, outcome.imports));
  const auto ids = outcome.Ids();
  return ids.empty() ? outcome.Reason(0) : ids[0];
}

std::string Zeros(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return RealTensor(shape, std::vector<float>(static_cast<size_t>(elements)));
}

TEST(Onnx, ProductsAndConvolutions) {
  EXPECT_EQ(OnnxId(OneNode("MatMul", {"a", "b"}, {"y"}, {}), {Zeros({2, 3, 4}), Zeros({2, 4, 5})}, {Zeros({2, 3, 5})}),
            "matmul/f32/m=3,n=5,k=4,batch=2/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("Gemm", {"a", "b", "c"}, {"y"}, {RealAttribute("alpha", 0.5F), IntAttribute("transB", 1)}),
                   {Zeros({3, 4}), Zeros({5, 4}), Zeros({1, 5})}, {Zeros({3, 5})}),
            "matmul/f32/m=3,n=5,k=4,transb=1,alpha=0.5,bias=1/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("Gemm", {"a", "b", "c"}, {"y"}, {RealAttribute("beta", 2)}),
                   {Zeros({3, 4}), Zeros({4, 5}), Zeros({3, 5})}, {Zeros({3, 5})}),
            "matmul/f32/m=3,n=5,k=4,beta=2/fill=normal/seed=0");
  const Tensors image = {Zeros({1, 1, 5, 5}), Zeros({1, 1, 3, 3})};
  EXPECT_EQ(OnnxId(OneNode("Conv", {"x", "w"}, {"y"},
                           {IntsAttribute("pads", {1, 1, 1, 1}), IntsAttribute("strides", {2, 2})}),
                   image, {Zeros({1, 1, 3, 3})}),
            "conv/f32/n=1,c=1,o=1,i=5x5,k=3x3,stride=2,pad=1/fill=normal/seed=0");
  EXPECT_EQ(
      OnnxId(OneNode("Conv", {"x", "w"}, {"y"}, {IntsAttribute("pads", {0, 1, 1, 1})}), image, {Zeros({1, 1, 4, 5})}),
      "padding that differs between both ends");
}

TEST(Onnx, RowsAndReductions) {
  const Tensors x = {Zeros({2, 3, 4})};
  EXPECT_EQ(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {}, 13), x, x), "softmax/f32/shape=2x3x4/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("LogSoftmax", {"x"}, {"y"}, {}, 11), x, x),
            "softmax/f32/shape=2x12,log=1/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("ReduceSum", {"x", "axes"}, {"y"}, {IntAttribute("keepdims", 0)}),
                   {x[0], IntTensor({1}, {-2})}, {Zeros({2, 4})}),
            "reduce/f32/shape=2x3x4,axes=1/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("ReduceMax", {"x"}, {"y"}, {}), x, {Zeros({1, 1, 1})}),
            "reduce/f32/shape=2x3x4,axes=0+1+2,kind=max,keepdims=1/fill=normal/seed=0");
  EXPECT_EQ(
      OnnxId(OneNode("LayerNormalization", {"x", "s", "b"}, {"y", "mean", "rstd"}, {RealAttribute("epsilon", 0.25F)}),
             {x[0], Zeros({4}), Zeros({4})}, {x[0], Zeros({2, 3, 1}), Zeros({2, 3, 1})}),
      "layer_norm/f32/rows=6,n=4,eps=0.25,stats=1/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("InstanceNormalization", {"x", "s", "b"}, {"y"}, {}), {x[0], Zeros({3}), Zeros({3})}, x),
            "group_norm/f32/b=2,g=3,c=1,n=4/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("TopK", {"x", "k"}, {"v", "i"}, {}), {x[0], IntTensor({1}, {2})},
                   {Zeros({2, 3, 2}), IntTensor({2, 3, 2}, std::vector<int64_t>(12))}),
            "top_k/f32/rows=6,k=2,n=4/fill=normal/seed=0");
}

TEST(Onnx, Attention) {
  const Tensors qkv = {Zeros({1, 4, 3, 8}), Zeros({1, 2, 5, 8}), Zeros({1, 2, 5, 6})}, o = {Zeros({1, 4, 3, 6})};
  EXPECT_EQ(
      OnnxId(OneNode("Attention", {"q", "k", "v"}, {"y"}, {IntAttribute("is_causal", 1), RealAttribute("scale", 0.5F)}),
             qkv, o),
      "attention/f32/b=1,h=4,hkv=2,l=3,s=5,d=8,dv=6,causal=1,align=tl,scale=0.5/fill=normal/seed=0");
  Tensors masked = qkv;
  masked.push_back(Zeros({3, 5}));
  EXPECT_EQ(OnnxId(OneNode("Attention", {"q", "k", "v", "m"}, {"y"}, {}), masked, o),
            "attention/f32/b=1,h=4,hkv=2,l=3,s=5,d=8,dv=6,mask=add/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("Attention", {"q", "k", "v"}, {"y"}, {IntAttribute("left_window_size", 2)}), qkv, o),
            "left_window_size: an attribute that is not known here");
}

TEST(Onnx, Powers) {
  EXPECT_EQ(OnnxId(OneNode("Pow", {"x", "p"}, {"y"}, {}), {Zeros({2, 3}), Zeros({2, 3})}, {Zeros({2, 3})}),
            "pow/f32/n=6/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("Pow", {"x", "p"}, {"y"}, {}), {Zeros({2, 3}), Zeros({1})}, {Zeros({2, 3})}),
            "one power of several numbers; here each number has its own");
}

TEST(Onnx, CodesOfEightBits) {
  const auto quantised = [](const std::string& scale, const std::string& zero, int64_t axis) {
    return OnnxId(OneNode("QuantizeLinear", {"x", "s", "z"}, {"q"}, {IntAttribute("axis", axis)}),
                  {Zeros({2, 3, 4}), scale, zero}, {ByteTensor({2, 3, 4})});
  };
  EXPECT_EQ(quantised(Zeros({}), ByteTensor({}), 1), "quantize/f32-f32-u8-u8/rows=1,n=24/fill=normal/seed=0");
  EXPECT_EQ(quantised(Zeros({2}), ByteTensor({2}), 0), "quantize/f32-f32-u8-u8/rows=2,n=12,per=row/fill=normal/seed=0");
  EXPECT_EQ(quantised(Zeros({4}), ByteTensor({4}), -1),
            "quantize/f32-f32-u8-u8/rows=6,n=4,per=column/fill=normal/seed=0");
  EXPECT_EQ(quantised(Zeros({3}), ByteTensor({3}), 1),
            "scales along an axis in the middle; here rows or columns have them");
  EXPECT_EQ(OnnxId(OneNode("QuantizeLinear", {"x", "s"}, {"q"}, {}), {Zeros({6}), Zeros({})}, {ByteTensor({6})}),
            "quantize/f32-f32-u8/rows=1,n=6/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("DequantizeLinear", {"q", "s", "z"}, {"y"}, {}),
                   {ByteTensor({6}), Zeros({}), ByteTensor({})}, {Zeros({6})}),
            "dequantize/u8-f32-u8-f32/rows=1,n=6/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("DequantizeLinear", {"q", "s"}, {"y"}, {}), {ByteTensor({6}), Zeros({})}, {Zeros({6})}),
            "dequantize/u8-f32-f32/rows=1,n=6/fill=normal/seed=0");
  EXPECT_EQ(OnnxId(OneNode("DequantizeLinear", {"q", "s"}, {"y"}, {IntAttribute("block_size", 2)}),
                   {ByteTensor({6}), Zeros({3})}, {Zeros({6})}),
            "a scale for each block of an axis");
}

TEST(Onnx, Rotations) {
  const auto turned = [](const std::vector<int64_t>& x, const std::vector<int64_t>& table,
                         const std::vector<std::string>& attributes) {
    return OnnxId(OneNode("RotaryEmbedding", {"x", "c", "s"}, {"y"}, attributes),
                  {Zeros(x), Zeros(table), Zeros(table)}, {Zeros(x)});
  };
  EXPECT_EQ(turned({1, 4, 3, 8}, {1, 3, 4}, {}), "rope/f32/b=4,l=3,h=1,d=8/fill=normal/seed=0");
  EXPECT_EQ(turned({2, 3, 32}, {2, 3, 4}, {IntAttribute("num_heads", 4)}),
            "rope/f32/b=1,l=6,h=4,d=8/fill=normal/seed=0");
  EXPECT_EQ(turned({2, 4, 3, 8}, {2, 3, 4}, {}), "tables of each batch, where here all batches have one");
  EXPECT_EQ(turned({1, 4, 3, 8}, {1, 3, 4}, {IntAttribute("interleaved", 1)}),
            "pairs of neighbours; here of the halves of a head");
  EXPECT_EQ(turned({1, 4, 3, 8}, {1, 3, 2}, {IntAttribute("rotary_embedding_dim", 4)}),
            "a part of each head is turned");
  EXPECT_EQ(OnnxId(OneNode("RotaryEmbedding", {"x", "c", "s", "p"}, {"y"}, {}),
                   {Zeros({1, 4, 3, 8}), Zeros({50, 4}), Zeros({50, 4}), IntTensor({1, 3}, {0, 1, 2})},
                   {Zeros({1, 4, 3, 8})}),
            "positions that choose rows of the tables");
}

TEST(Onnx, DataComeInTheOperandsShapes) {
  const TemporaryFolder folder;
  const std::string x = RealTensor({2, 1, 3}, {1, 2, 3, 4, 5, 6}), y = RealTensor({2, 1, 3}, {7, 8, 9, 10, 11, 12});
  const std::string ones = RealTensor({3}, {1, 1, 1});
  for (const char* name : {"test_a", "below/test_b"}) {
    WriteTest(folder, name, OneNode("RMSNormalization", {"x", "s"}, {"y"}, {}), {x, ones}, {y});
  }
  Outcome outcome;
  ASSERT_TRUE(ImportOnnx(folder.Path(""), OnnxData::kWithTensors, outcome.imports));
  ASSERT_EQ(outcome.imports.cases().size(), 2U) << outcome.Reason(0);  // of one shape, and each with its data
  const ImportedCase& one = outcome.imports.cases()[1];
  EXPECT_EQ(one.label, "test_a");
  ASSERT_EQ(one.tensors.inputs.size(), 2U);
  EXPECT_EQ(one.tensors.inputs[0].name, "x");
  EXPECT_EQ(one.tensors.inputs[0].tensor.shape(), (Shape{2, 3}));
  EXPECT_THAT(one.tensors.inputs[0].tensor.ToDoubles(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(one.tensors.outputs[0].tensor.ToDoubles(), ElementsAre(7, 8, 9, 10, 11, 12));
}

TEST(Onnx, TensorsInEachOfTheirFields) {
  const auto values = [](const std::string& bytes) {
    const auto tensor = ParseOnnxTensor(bytes);
    return tensor ? tensor->data.ToDoubles() : std::vector<double>();
  };
  const std::string shape = Field(1, int64_t{2});
  EXPECT_THAT(values(shape + Field(2, int64_t{1}) + Field(4, 1.5F) + Field(4, -2.0F)),
              ElementsAre(1.5, -2));  // not packed
  EXPECT_THAT(values(shape + Field(2, int64_t{3}) + Field(5, int64_t{-1}) + Field(5, int64_t{7})), ElementsAre(-1, 7));
  EXPECT_THAT(values(shape + Field(2, int64_t{10}) + Field(5, int64_t{0x3C00}) + Field(5, int64_t{0xC000})),
              ElementsAre(1, -2));
  EXPECT_THAT(values(Field(1, std::string_view("\x02", 1)) + Field(2, int64_t{7}) + Field(7, int64_t{1} << 40) +
                     Field(7, int64_t{0})),
              ElementsAre(0x1p40, 0));
  EXPECT_FALSE(ParseOnnxTensor(shape + Field(2, int64_t{1}) + Field(4, 1.5F)));  // one too few
  EXPECT_FALSE(ParseOnnxTensor(Field(1, int64_t{-1}) + Field(2, int64_t{1})));
  EXPECT_FALSE(ParseOnnxTensor(Field(1, int64_t{1} << 31) + Field(1, int64_t{1} << 31) + Field(2, int64_t{1})));
  EXPECT_FALSE(ParseOnnxTensor(""));
}

TEST(Onnx, WhatHasNoCounterpartSaysWhy) {
  const Tensors x = {Zeros({2, 3})};
  EXPECT_EQ(OnnxId(OneNode("Relu", {"x"}, {"y"}, {}), x, x), "no operator Relu here");
  EXPECT_EQ(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {IntAttribute("axis", 2)}), x, x),
            "an axis that its tensor does not have");
  EXPECT_EQ(OnnxId(OneNode("TopK", {"x", "k"}, {"v", "i"}, {}), {x[0], IntTensor({1}, {1})}, {Zeros({}), Zeros({})}),
            "it lacks one of its outputs");
  EXPECT_THAT(OnnxId(OneNode("ReduceSum", {"x", "axes"}, {"y"}, {}), {x[0], IntTensor({1}, {INT64_MAX})}, x),
              HasSubstr("an axis that its tensor does not have"));
  EXPECT_EQ(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {}), {}, {}), "no test_data_set_0 with its tensors");
  EXPECT_EQ(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {}), x, {}), "it lacks one of its tensors");
  EXPECT_EQ(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {}), {Zeros({0, 3})}, {Zeros({0, 3})}),
            "a tensor without elements");
  EXPECT_THAT(OnnxId(OneNode("Softmax", {"x"}, {"y"}, {}), {"no message"}, x), HasSubstr("input_0.pb: a damaged file"));
  EXPECT_THAT(OnnxId("no message", x, x), HasSubstr("a damaged file"));
  EXPECT_THAT(OnnxId("", x, x), HasSubstr("a damaged file"));
}

TEST(Onnx, AFolderWithoutAModelIsAnError) {
  const TemporaryFolder folder;
  Outcome outcome;
  const auto status = ImportOnnx(folder.Path(""), OnnxData::kShapesAlone, outcome.imports);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("there is no model.onnx in it; give a folder"));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/other_names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace {

const std::vector<std::string>& Operators() {
  static const std::vector<std::string> names = {"attention", "avg_pool", "conv",     "exp",     "gather", "matmul",
                                                 "max_pool",  "reduce",   "rms_norm", "softmax", "top_k"};
  return names;
}

OpSchema Norm() {
  return {.op = "rms_norm",
          .attrs = {{.key = "rows"}, {.key = "n"}, {.key = "eps", .type = AttrType::kFloat, .default_value = "1e-06"}},
          .operands = {"x", "gamma", "y"},
          .outputs = {"y"},
          .layouts = {{"x", "[rows,n]"}, {"gamma", "[n]"}, {"y", "[rows,n]"}}};
}

OpSchema Reduction() {
  return {.op = "reduce",
          .attrs = {{.key = "axes", .type = AttrType::kAxes}, {.key = "keepdims", .default_value = "0"}},
          .operands = {"x", "y"},
          .outputs = {"y"},
          .layouts = {{"x", "[shape]"}, {"y", "[...]"}}};
}

TEST(OtherNames, OfOperatorsComeWithTheAttributesThatMakeThemTheSame) {
  const std::vector<std::pair<std::string, std::string>> hints = {
      {"log_softmax", "; did you mean 'softmax' with log=1?"},
      {"torch.nn.functional.linear", "; did you mean 'matmul' with transb=1?"},
      {"bmm", "; did you mean 'matmul'?"},
      {"mm", "; did you mean 'matmul'?"},
      {"conv2d", "; did you mean 'conv'?"},
      {"RMSNorm", "; did you mean 'rms_norm'?"},
      {"topk", "; did you mean 'top_k'?"},
      {"sdpa", "; did you mean 'attention'?"},
      {"F.scaled_dot_product_attention", "; did you mean 'attention'?"},
      {"np.sum", "; did you mean 'reduce' with kind=sum?"},
      {"matmull", "; did you mean 'matmul'?"},
      {"layer_normalization", ""},  // the list has none
      {"quux", ""},
      {"AvgPool2d", "; did you mean 'avg_pool'?"},
      {"F.max_pool1d", "; did you mean 'max_pool'?"},
      {"glu", "; glu is none of them; state its formula as an operator (ops/ADDING.md in the sources)"},
      {"torch.lgamma", "; lgamma is none of them; state its formula as an operator (ops/ADDING.md in the sources)"}};
  for (const auto& [word, hint] : hints) EXPECT_EQ(OperatorHint(word, Operators()), hint) << word;
}

TEST(OtherNames, OfAttributesAndOperands) {
  EXPECT_EQ(AttributeHint("dim", Reduction()), "; did you mean 'axes'?");
  EXPECT_EQ(AttributeHint("keepdim", Reduction()), "; did you mean 'keepdims'?");
  EXPECT_EQ(AttributeHint("keep_dims", Reduction()), "; did you mean 'keepdims'?");
  EXPECT_EQ(AttributeHint("keepdms", Reduction()), "; did you mean 'keepdims'?");
  EXPECT_EQ(AttributeHint("epsilon", Norm()), "; did you mean 'eps'?");
  EXPECT_EQ(AttributeHint("weight", Norm()), "; give weight with the inputs, as the operand 'gamma'");
  EXPECT_EQ(AttributeHint("gamma", Norm()), "; give gamma with the inputs, as the operand 'gamma'");
  EXPECT_EQ(AttributeHint("out", Norm()), "; give out with the outputs, as the operand 'y'");
  EXPECT_EQ(AttributeHint("axis", Norm()),
            "; it works along the last axis of [rows,n]: give the arrays with that axis last");
  EXPECT_EQ(AttributeHint("quux", Norm()), "");
  EXPECT_EQ(OperandHint("weight", Norm()), "; did you mean 'gamma'?");
  EXPECT_EQ(OperandHint("input", Norm()), "; did you mean 'x'?");
  EXPECT_EQ(OperandHint("gama", Norm()), "; did you mean 'gamma'?");
  EXPECT_EQ(OperandHint("x", Norm()), "");
}

TEST(OtherNames, ThatProgramsMayUseBelongToOneAttribute) {
  EXPECT_EQ(OtherNamesOf("axes", Reduction()), (std::vector<std::string>{"axis", "dim"}));
  EXPECT_EQ(OtherNamesOf("keepdims", Reduction()), std::vector<std::string>{"keepdim"});
  EXPECT_EQ(OtherNamesOf("eps", Norm()), std::vector<std::string>{"epsilon"});
  EXPECT_TRUE(OtherNamesOf("rows", Norm()).empty());
}

// An operator of that name is one, whoever has added it.
TEST(OtherNames, OfOtherFunctionsAreOperatorsWhereTheyAreKnown) {
  const std::vector<std::string> known = {"gelu", "relu"};
  EXPECT_EQ(OperatorHint("torch.relu", known), "; did you mean 'relu'?");
}

TEST(OtherNames, OfPyTorchsAttention) {
  const OpSchema attention{
      .op = "attention",
      .attrs = {{.key = "hkv"}, {.key = "causal"}, {.key = "mask"}, {.key = "scale"}, {.key = "softcap"}},
      .operands = {"q", "k", "v", "o"},
      .outputs = {"o"},
      .layouts = {{"q", ""}, {"k", ""}, {"v", ""}, {"mask", ""}, {"o", ""}}};
  EXPECT_EQ(AttributeHint("enable_gqa", attention),
            "; leave it out: the shapes of q and k say how many query heads share a key head");
  EXPECT_EQ(AttributeHint("dropout_p", attention),
            "; leave it out, as nothing is dropped at random: judge what the kernel gives without dropout");
  EXPECT_EQ(AttributeHint("attn_mask", attention), "; give attn_mask with the inputs, as the operand 'mask'");
  EXPECT_EQ(AttributeHint("is_causal", attention), "; did you mean 'causal'?");
  EXPECT_EQ(AttributeHint("dropout_p", Norm()), "");
}

}  // namespace
}  // namespace assay

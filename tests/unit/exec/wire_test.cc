// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

Problem MakeProblem() {
  Problem problem;
  problem.spec.op = "conv";
  problem.spec.attrs = {{"note", "confidential"}};
  problem.spec.fill = "confidential";
  problem.spec.seed = 987654321;
  problem.inputs = {{"x", DType::kBF16, {2, 3}}, {"alpha", DType::kE4M3, {}}};
  problem.outputs = {{"y", DType::kF32, {2}}};
  problem.attrs = {{"n", AttrType::kInt, -7, 0, "", {}},
                   {"cap", AttrType::kFloat, 0, std::numeric_limits<double>::infinity(), "", {}},
                   {"scale", AttrType::kFloat, 0, 0.1, "", {}},
                   {"pad", AttrType::kName, 0, 0, "same", {}},
                   {"stride", AttrType::kDims, 0, 0, "", {2, 3}},
                   {"axes", AttrType::kAxes, 0, 0, "", {}}};
  return problem;
}

TEST(Wire, ArrivesAsTheAbiSays) {
  const Problem problem = MakeProblem();
  const Json sent = EncodeProblem(problem, LayoutsOf(problem, {0, 2}));
  const OpDescription description(Json::parse(sent.dump()));
  const assay_op_desc& op = description.get();
  EXPECT_STREQ(op.op, "conv");
  ASSERT_EQ(op.n_inputs, 2u);
  EXPECT_STREQ(op.inputs[0]->name, "x");
  EXPECT_EQ(op.inputs[0]->type_code, ASSAY_TYPE_BFLOAT);
  EXPECT_EQ(op.inputs[0]->bits, 16);
  EXPECT_EQ(op.inputs[0]->ndim, 2);
  EXPECT_EQ(op.inputs[0]->shape[1], 3);
  EXPECT_EQ(op.inputs[0]->strides[0], 5);
  EXPECT_EQ(op.inputs[1]->ndim, 0);
  EXPECT_NE(op.inputs[1]->strides, nullptr);
  ASSERT_EQ(op.n_outputs, 1u);
  EXPECT_STREQ(op.outputs[0]->name, "y");
  ASSERT_EQ(op.n_attrs, 6u);
  EXPECT_EQ(op.attrs[0]->i, -7);
  EXPECT_EQ(op.attrs[1]->type, ASSAY_ATTR_FLOAT);
  EXPECT_EQ(op.attrs[1]->f, std::numeric_limits<double>::infinity());
  EXPECT_EQ(op.attrs[2]->f, 0.1);
  EXPECT_STREQ(op.attrs[3]->s, "same");
  ASSERT_EQ(op.attrs[4]->count, 2u);
  EXPECT_EQ(op.attrs[4]->ints[1], 3);
  EXPECT_EQ(op.attrs[5]->type, ASSAY_ATTR_INT_LIST);
  EXPECT_EQ(op.attrs[5]->count, 0u);
}

TEST(Wire, SaysNothingAboutTheCase) {
  const Problem problem = MakeProblem();
  const std::string sent = EncodeProblem(problem, LayoutsOf(problem, {})).dump();
  EXPECT_EQ(sent.find("confidential"), sent.npos);
  EXPECT_EQ(sent.find("987654321"), sent.npos);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "backends/common/op_desc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/common/status.h"

namespace plugin {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Raw {
  int64_t shape[2] = {2, 3}, strides[2] = {-5, 2}, list[2] = {4, 5};
  assay_tensor_desc tensor{sizeof tensor, "x", ASSAY_TYPE_FLOAT, 32, 1, 2, shape, strides};
  const assay_tensor_desc* tensors[1] = {&tensor};
  assay_attr attrs[4] = {{sizeof(assay_attr), "n", ASSAY_ATTR_INT, 0, 7, 0, nullptr, nullptr, 0},
                         {sizeof(assay_attr), "alpha", ASSAY_ATTR_FLOAT, 0, 0, 0.5, nullptr, nullptr, 0},
                         {sizeof(assay_attr), "kind", ASSAY_ATTR_STRING, 0, 0, 0, "sum", nullptr, 0},
                         {sizeof(assay_attr), "axes", ASSAY_ATTR_INT_LIST, 0, 0, 0, nullptr, list, 2}};
  const assay_attr* attr_pointers[4] = {attrs, attrs + 1, attrs + 2, attrs + 3};
  assay_op_desc op{sizeof op, "reduce", 1, tensors, 1, tensors, 4, attr_pointers};
};

TEST(OpDesc, ReadsTypedAttributes) {
  const Raw raw;
  const OpDesc op(&raw.op);
  EXPECT_EQ(op.AttrInt("n"), 7);
  EXPECT_EQ(op.AttrFloat("alpha"), 0.5);
  EXPECT_EQ(op.AttrFloat("n"), 7.0);
  EXPECT_EQ(op.AttrString("kind"), "sum");
  EXPECT_EQ(op.AttrList("axes"), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(op.AttrList("n"), std::vector<int64_t>{7});
  EXPECT_EQ(op.DTypesText(), "f32-f32");
}

TEST(OpDesc, NamesWhatIsWrong) {
  const Raw raw;
  const OpDesc op(&raw.op);
  EXPECT_THAT([&] { op.AttrInt("gone"); }, ThrowsMessage<Error>(HasSubstr("reduce: attribute 'gone' is missing")));
  EXPECT_THAT([&] { op.AttrInt("kind"); }, ThrowsMessage<Error>(HasSubstr("'kind' is not an integer")));
  EXPECT_THAT([&] { op.AttrString("n"); }, ThrowsMessage<Error>(HasSubstr("'n' is not a string")));
  EXPECT_THAT([&] { op.AttrList("alpha"); }, ThrowsMessage<Error>(HasSubstr("not a list")));
}

TEST(OpDesc, RejectsMalformedTensorsAndAttributes) {
  Raw negative;
  negative.shape[1] = -3;
  EXPECT_THAT([&] { OpDesc op(&negative.op); }, ThrowsMessage<Error>(HasSubstr("[2, -3]")));
  Raw rank;
  rank.tensor.ndim = -1;
  EXPECT_THAT([&] { OpDesc op(&rank.op); }, ThrowsMessage<Error>(HasSubstr("rank -1")));
  Raw count;
  count.op.n_attrs = ~uint64_t{0};
  EXPECT_THAT([&] { OpDesc op(&count.op); }, ThrowsMessage<Error>(HasSubstr("attributes announced")));
  Raw type;
  type.attrs[0].type = 99;
  EXPECT_THAT([&] { OpDesc op(&type.op); }, ThrowsMessage<Error>(HasSubstr("unknown type 99")));
}

TEST(Tensor, KnowsTheBytesItMayTouch) {
  const Raw raw;
  const OpDesc op(&raw.op);
  const Tensor::Extent extent = op.inputs()[0].ByteExtent();
  EXPECT_EQ(extent.first, -20);
  EXPECT_EQ(extent.last, 20);
  EXPECT_EQ(Tensor({"e", kF32, {0, 3}, {3, 1}}).ByteExtent().last, 0);
}

}  // namespace
}  // namespace plugin

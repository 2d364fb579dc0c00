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
  assay_tensor_desc tensor{sizeof tensor, "x", ASSAY_TYPE_FLOAT, 32, 0, 2, shape, strides};
  const assay_tensor_desc* tensors[1] = {&tensor};
  double floats[2] = {0.5, 2};
  assay_attr attrs[7] = {
      {.struct_size = sizeof(assay_attr), .key = "n", .type = ASSAY_ATTR_INT, .i = 7},
      {.struct_size = sizeof(assay_attr), .key = "alpha", .type = ASSAY_ATTR_FLOAT, .f = 0.5},
      {.struct_size = sizeof(assay_attr), .key = "kind", .type = ASSAY_ATTR_STRING, .s = "sum"},
      {.struct_size = sizeof(assay_attr), .key = "axes", .type = ASSAY_ATTR_INT_LIST, .ints = list, .count = 2},
      {.struct_size = sizeof(assay_attr), .key = "fast", .type = ASSAY_ATTR_BOOL, .i = 1},
      {.struct_size = sizeof(assay_attr),
       .key = "acc",
       .type = ASSAY_ATTR_TYPE,
       .type_code = ASSAY_TYPE_BFLOAT,
       .bits = 16},
      {.struct_size = sizeof(assay_attr), .key = "pads", .type = ASSAY_ATTR_FLOAT_LIST, .floats = floats, .count = 2}};
  const assay_attr* attr_pointers[7] = {attrs, attrs + 1, attrs + 2, attrs + 3, attrs + 4, attrs + 5, attrs + 6};
  assay_op_desc op{sizeof op, "reduce", 1, tensors, 1, tensors, 7, attr_pointers, 0};
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
  EXPECT_TRUE(op.AttrBool("fast"));
  EXPECT_EQ(op.AttrType("acc"), kBF16);
  EXPECT_EQ(op.AttrFloats("pads"), (std::vector<double>{0.5, 2}));
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

// The status with which a description is refused, ASSAY_OK when it is not.
assay_status StatusOf(const assay_op_desc& raw) {
  try {
    const OpDesc op(&raw);
    op.MayIgnore({"n", "alpha", "kind", "axes", "fast", "acc", "pads"});
    op.RefuseUnknownAttrs();
  } catch (const Error& error) {
    return error.status();
  }
  return ASSAY_OK;
}

TEST(OpDesc, RefusesWhatItDoesNotKnowAsUnsupported) {
  const auto status_with = [](auto alter) {
    Raw raw;
    alter(raw);
    return StatusOf(raw.op);
  };
  EXPECT_EQ(status_with([](Raw&) {}), ASSAY_OK);
  EXPECT_EQ(status_with([](Raw& raw) { raw.op.flags = 1u << 7; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.tensor.flags = 1; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.tensor.alias = 1; }), ASSAY_UNSUPPORTED) << "of an input, too";
  EXPECT_EQ(status_with([](Raw& raw) { raw.tensor.reserved = 1; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].reserved[2] = 1; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].flags = 2; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].type = 99; }), ASSAY_UNSUPPORTED);
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].key = "unheard-of"; }), ASSAY_UNSUPPORTED);
  // An optional attribute may have a type or a key that nobody knows.
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].type = 99, raw.attrs[0].flags = ASSAY_ATTR_OPTIONAL; }), ASSAY_OK);
  EXPECT_EQ(status_with([](Raw& raw) { raw.attrs[0].key = "new", raw.attrs[0].flags = ASSAY_ATTR_OPTIONAL; }),
            ASSAY_OK);
}

TEST(OpDesc, AnAttributeThatWasReadIsKnown) {
  Raw raw;
  raw.op.n_attrs = 1;
  const OpDesc op(&raw.op);
  EXPECT_THAT([&] { op.RefuseUnknownAttrs(); }, ThrowsMessage<Error>(HasSubstr("attribute 'n' is not known")));
  op.AttrInt("n");
  op.RefuseUnknownAttrs();
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

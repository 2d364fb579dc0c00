// SPDX-License-Identifier: Apache-2.0
#include "backends/common/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plugin {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> LinesOf(const std::vector<Capability>& lines) {
  std::vector<std::string> texts;
  for (const Capability& line : lines) texts.push_back(line.op + " " + Name(line.dtype) + " " + line.features);
  return texts;
}

constexpr Columns kRows[] = {{"softmax_backward", kHalfTypes, "direct"},
                             {"softmax", kNarrowTypes, "direct", kDense},
                             {"softmax", kHalfTypes, "online", kPermuted | kInPlace}};

TEST(CapabilitiesOf, AreThoseOfAllRows) {
  EXPECT_THAT(LinesOf(CapabilitiesOf(kRows, [](DType) { return true; })),
              testing::ElementsAre("softmax_backward f16 strides;permuted", "softmax_backward bf16 strides;permuted",
                                   "softmax f32 ", "softmax f16 permuted;in_place", "softmax bf16 permuted;in_place"));
}

TEST(CapabilitiesOf, LeaveOutWhatTheDeviceLacks) {
  EXPECT_THAT(LinesOf(CapabilitiesOf(kRows, [](DType type) { return type == kF32; })),
              testing::ElementsAre("softmax f32 "));
}

OpDesc SoftmaxOf(DType type) {
  const assay_tensor_desc x{sizeof x, "x", type.code, type.bits, 0, 0, nullptr, nullptr};
  const assay_tensor_desc* const inputs[] = {&x};
  const assay_op_desc raw{.struct_size = sizeof raw, .op = "softmax", .n_inputs = 1, .inputs = inputs};
  return OpDesc(&raw);
}

// An author's function that forgets the types.
std::string ForgetTypes(const Columns&) {
  return "";
}

TEST(QueryRows, OffersTheRowsThatListTheType) {
  const auto names_of = [](DType type) {
    std::vector<std::string> names;
    const auto contract = [](const Columns&) { return "f32"; };
    for (const Implementation& one : QueryRows<Columns>(kRows, SoftmaxOf(type), ForgetTypes, contract)) {
      names.push_back(one.name);
    }
    return names;
  };
  EXPECT_THAT(names_of(kF32), testing::ElementsAre("direct"));
  EXPECT_THAT(names_of(kBF16), testing::ElementsAre("direct", "online"));
  EXPECT_THAT([&] { names_of(kI8); },
              ThrowsMessage<Error>(HasSubstr("softmax takes f32, f16, bf16 as first operand here, not i8")));
}

TEST(FindRow, RefusesATypeThatTheRowDoesNotList) {
  EXPECT_STREQ(FindRow<Columns>(kRows, SoftmaxOf(kF16), "online", ForgetTypes).name, "online");
  EXPECT_THAT([] { FindRow<Columns>(kRows, SoftmaxOf(kF32), "online", ForgetTypes); },
              ThrowsMessage<Error>(HasSubstr("softmax takes f16, bf16 as first operand here, not f32")));
}

TEST(RefuseOperator, NamesEachOperatorOnce) {
  const assay_op_desc fft{.struct_size = sizeof(assay_op_desc), .op = "fft"};
  EXPECT_THAT([&] { RefuseOperator(kRows, OpDesc(&fft)); },
              ThrowsMessage<Error>(HasSubstr("no operator 'fft' in this backend; it has: softmax, softmax_backward")));
}

}  // namespace
}  // namespace plugin

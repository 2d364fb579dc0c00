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

TEST(RefuseOperator, NamesEachOperatorOnce) {
  const assay_op_desc fft{.struct_size = sizeof(assay_op_desc), .op = "fft"};
  EXPECT_THAT([&] { RefuseOperator(kRows, OpDesc(&fft)); },
              ThrowsMessage<Error>(HasSubstr("no operator 'fft' in this backend; it has: softmax, softmax_backward")));
}

}  // namespace
}  // namespace plugin

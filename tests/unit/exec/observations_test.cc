// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

using Where = GuardViolation::Where;

class GuardTest : public testing::Test {
 protected:
  void Make(const LayoutVariant& variant) {
    layout_ = MakeLayout(DType::kF32, {3, 5}, variant, 1);
    image_.resize(layout_.total_bytes);
    WriteOutputImage(layout_, Prefill::kSentinel, image_);
  }
  void Damage(uint64_t position) { image_[position] ^= std::byte{0xFF}; }
  BufferLayout layout_;
  std::vector<std::byte> image_;
};

TEST_F(GuardTest, EveryByteOfTheImageIsWatched) {
  for (const LayoutVariant& variant : {LayoutVariant{}, LayoutVariant{1, 2}}) {
    Make(variant);
    const Tensor before = ReadImage(layout_, image_);
    for (uint64_t position = 0; position < layout_.total_bytes; ++position) {
      Damage(position);
      const bool element_changed = FindChangedElements(before, ReadImage(layout_, image_)).count == 1;
      const std::vector<GuardViolation> violations = CheckGuards(layout_, image_);
      ASSERT_NE(element_changed, violations.size() == 1) << position;
      Damage(position);
    }
  }
}

TEST_F(GuardTest, SaysWhere) {
  Make({0, 2});
  const uint64_t end = layout_.offset + layout_.span_bytes;
  Damage(layout_.offset - 9);
  Damage(layout_.offset - 3);
  Damage(layout_.offset + 21);
  Damage(end);
  Damage(end + 1);
  Damage(layout_.total_bytes - 1);
  const std::vector<GuardViolation> violations = CheckGuards(layout_, image_);
  ASSERT_EQ(violations.size(), 3u);
  EXPECT_EQ(violations[0].Text("y"), "2 bytes before y were overwritten, the nearest 3 bytes before its start");
  EXPECT_EQ(violations[1].where, Where::kGap);
  EXPECT_EQ(violations[1].distance, 21u);
  EXPECT_EQ(violations[1].bytes, 1u);
  EXPECT_EQ(violations[2].Text("y"), "3 bytes after y were overwritten, the nearest is byte 1 past its end");
}

TEST_F(GuardTest, AShiftedCopyOfTheWholeImageShows) {
  Make({});
  std::rotate(image_.begin(), image_.begin() + 256, image_.end());
  EXPECT_EQ(CheckGuards(layout_, image_).size(), 2u);
}

class UnwrittenTest : public testing::TestWithParam<DType> {
 protected:
  Tensor Filled(Prefill prefill) const {
    const BufferLayout layout = MakeLayout(GetParam(), {2, 3}, {}, 0);
    std::vector<std::byte> image(layout.total_bytes);
    WriteOutputImage(layout, prefill, image);
    return ReadImage(layout, image);
  }
  static void Write(Tensor& tensor, int64_t index, const void* element) {
    const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
    std::memcpy(tensor.data() + static_cast<size_t>(index) * size, element, size);
  }
};

TEST_P(UnwrittenTest, OnlyWhatHoldsThePrefillBothTimes) {
  Tensor nan = Filled(Prefill::kNanPayload), sentinel = Filled(Prefill::kSentinel);
  // Rightly equal to one of the prefills: the other run tells.
  for (const int64_t index : {0, 1}) {
    const void* value = PrefillElement(GetParam(), index == 0 ? Prefill::kNanPayload : Prefill::kSentinel).data();
    Write(nan, index, value);
    Write(sentinel, index, value);
  }
  const char zeros[16] = {};
  for (const int64_t index : {2, 3, 5}) {
    Write(nan, index, zeros);
    Write(sentinel, index, zeros);
  }
  const ElementReport report = FindUnwrittenElements(nan, sentinel);
  EXPECT_EQ(report.count, 1);
  EXPECT_EQ(report.first, 4);
  EXPECT_EQ(UnwrittenText("y", {2, 3}, report), "1 of 6 elements of y were not written, the first is [1,1]");
}

INSTANTIATE_TEST_SUITE_P(DTypes, UnwrittenTest,
                         testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3,
                                         DType::kE5M2, DType::kI8, DType::kI32, DType::kI64, DType::kC64, DType::kC128,
                                         DType::kU8),
                         [](const auto& dtype) { return std::string(Name(dtype.param)); });

TEST(ChangedElementsTest, CountsElementsNotBytes) {
  Tensor before(DType::kI32, {4}), after(DType::kI32, {4});
  for (size_t i = 0; i < 4; ++i) before.As<int32_t>()[i] = after.As<int32_t>()[i] = static_cast<int32_t>(i);
  EXPECT_EQ(ChangedText("a", {4}, FindChangedElements(before, after)), "");
  after.As<int32_t>()[2] = -1;
  EXPECT_EQ(ChangedText("a", {4}, FindChangedElements(before, after)),
            "1 of 4 elements of a (an input) were changed on the device, the first is [2]");
}

}  // namespace
}  // namespace assay

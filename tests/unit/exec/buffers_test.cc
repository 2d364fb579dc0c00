// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "harness/exec/observations.h"

namespace assay {
namespace {

using testing::ElementsAre;

std::vector<DType> AllDTypes() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

Tensor CountingBytes(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < tensor.bytes(); ++i) tensor.data()[i] = static_cast<std::byte>(i * 7 + 1);
  return tensor;
}

TEST(Layout, DenseByDefault) {
  const BufferLayout layout = MakeLayout(DType::kF32, {3, 5}, {}, 0);
  EXPECT_THAT(layout.strides, ElementsAre(5, 1));
  EXPECT_EQ(layout.offset % kImageAlignment, 0u);
  EXPECT_GE(layout.offset, kLeastGuardBytes);
  EXPECT_EQ(layout.span_bytes, 60u);
  EXPECT_GE(layout.total_bytes - layout.offset - layout.span_bytes, kLeastGuardBytes);
  EXPECT_FALSE(layout.HasGaps());
}

TEST(Layout, OffsetAndPadding) {
  const BufferLayout layout = MakeLayout(DType::kF16, {2, 3, 5}, {.element_offset = 1, .row_padding = 3}, 0);
  EXPECT_THAT(layout.strides, ElementsAre(24, 8, 1));
  EXPECT_EQ(layout.offset % kImageAlignment, 2u);
  EXPECT_EQ(layout.span_bytes, (24 + 16 + 4 + 1) * 2u);
  EXPECT_TRUE(layout.HasGaps());
  EXPECT_THAT(MakeLayout(DType::kF16, {7}, {.row_padding = 3}, 0).strides, ElementsAre(1));
}

TEST(Layout, GuardsGrowWithTheRow) {
  EXPECT_EQ(MakeLayout(DType::kF32, {2, 1000}, {}, 0).offset, 4096u);
  EXPECT_EQ(MakeLayout(DType::kF32, {2, 10000000}, {}, 0).offset, kLargestGuardBytes);
}

TEST(Layout, ScalarsAndEmptyTensors) {
  EXPECT_EQ(MakeLayout(DType::kF64, {}, {}, 0).span_bytes, 8u);
  const BufferLayout empty = MakeLayout(DType::kF64, {3, 0}, {.row_padding = 2}, 0);
  EXPECT_EQ(empty.span_bytes, 0u);
  std::vector<std::byte> image(empty.total_bytes);
  WriteOutputImage(empty, Prefill::kSentinel, image);
  EXPECT_TRUE(CheckGuards(empty, image).empty());
}

TEST(GuardPatternTest, DependsOnThePositionAlone) {
  std::vector<std::byte> all(4096), part(100), other(4096);
  const BufferLayout layout{.salt = 5}, layout_of_other{.salt = 6};
  GuardPattern(layout, 0, all);
  GuardPattern(layout, 1003, part);
  GuardPattern(layout_of_other, 0, other);
  EXPECT_EQ(std::memcmp(part.data(), all.data() + 1003, part.size()), 0);
  for (const size_t shift : {1, 4, 8, 64, 256, 1024}) {
    EXPECT_NE(std::memcmp(all.data(), all.data() + shift, 64), 0) << shift;
  }
  EXPECT_NE(std::memcmp(all.data(), other.data(), 64), 0);
}

TEST(GuardPatternTest, IsPoisonToWhoReadsIt) {
  const std::pair<DType, double> types[] = {
      {DType::kF64, 0x1p1023}, {DType::kF32, 0x1p127}, {DType::kF16, 0x1p15}, {DType::kBF16, 0x1p127}};
  for (const auto& [dtype, huge] : types) {
    for (const LayoutVariant& variant : {LayoutVariant{}, LayoutVariant{3, 7}}) {
      const BufferLayout layout = MakeLayout(dtype, {4, 5}, variant, 3);
      Tensor read(dtype, {64});
      GuardPattern(layout, layout.offset - read.bytes(), {read.data(), read.bytes()});
      for (const double x : read.ToDoubles()) {
        if (variant == LayoutVariant{}) {
          EXPECT_TRUE(std::isnan(x)) << Name(dtype);
        } else {
          EXPECT_GE(std::abs(x), huge) << Name(dtype);
          EXPECT_FALSE(std::isinf(x)) << Name(dtype);
        }
      }
    }
  }
}

TEST(Image, RoundTripInEveryDTypeAndLayout) {
  for (const DType dtype : AllDTypes()) {
    for (const LayoutVariant& variant :
         {LayoutVariant{}, LayoutVariant{1, 0}, LayoutVariant{0, 1}, LayoutVariant{3, 7}, LayoutVariant{2, 0, true}}) {
      const BufferLayout layout = MakeLayout(dtype, {2, 3, 5}, variant, 9);
      const Tensor tensor = CountingBytes(dtype, {2, 3, 5});
      std::vector<std::byte> image(layout.total_bytes);
      WriteInputImage(layout, tensor, image);
      EXPECT_EQ(FindChangedElements(tensor, ReadImage(layout, image)).count, 0) << Name(dtype);
      EXPECT_TRUE(CheckGuards(layout, image).empty()) << Name(dtype);
    }
  }
}

TEST(Image, TransposedStrides) {
  const BufferLayout layout = MakeStridedLayout(DType::kI32, {2, 3}, {1, 2}, 0, 0);
  EXPECT_FALSE(layout.HasGaps());
  const Tensor tensor = CountingBytes(DType::kI32, {2, 3});
  std::vector<std::byte> image(layout.total_bytes);
  WriteInputImage(layout, tensor, image);
  EXPECT_EQ(std::memcmp(image.data() + layout.offset + 4, tensor.data() + 12, 4), 0);  // [1,0] comes second
  EXPECT_TRUE(CheckGuards(layout, image).empty());
}

TEST(Layout, PermutedStridesHaveTheSecondAxisInnermost) {
  EXPECT_EQ(PermutedStrides({2, 3, 4, 5}), (Shape{60, 1, 15, 3}));  // NCHW as NHWC
  EXPECT_EQ(PermutedStrides({7, 3, 4}), (Shape{12, 1, 3}));         // each matrix of a stack transposed
  EXPECT_EQ(PermutedStrides({3, 4}), (Shape{1, 3}));
  EXPECT_EQ(PermutedStrides({9}), Shape{1});
  EXPECT_EQ(PermutedStrides({}), Shape{});
  EXPECT_FALSE(MakeLayout(DType::kF32, {2, 3, 4, 5}, {.permuted = true}, 0).HasGaps());
}

TEST(PrefillTest, TwoValuesThatDifferAndAreWhatTheyClaim) {
  for (const DType dtype : AllDTypes()) {
    const auto nan = PrefillElement(dtype, Prefill::kNanPayload), sentinel = PrefillElement(dtype, Prefill::kSentinel);
    ASSERT_EQ(nan.size(), static_cast<size_t>(SizeOf(dtype)));
    EXPECT_NE(std::memcmp(nan.data(), sentinel.data(), nan.size()), 0) << Name(dtype);
    if (IsInt(dtype)) continue;
    std::vector<double> values(IsComplex(dtype) ? 2 : 1);
    ToF64(dtype, nan.data(), values);
    for (const double value : values) EXPECT_TRUE(std::isnan(value)) << Name(dtype);
    ToF64(dtype, sentinel.data(), values);
    for (const double value : values) EXPECT_TRUE(std::isfinite(value) && value != 0) << Name(dtype);
  }
}

// So that neither a maximum nor a minimum with what lay there stays unseen.
TEST(PrefillTest, TheThirdHasTheOtherSign) {
  for (const DType dtype : AllDTypes()) {
    if (dtype == DType::kU8 || dtype == DType::kBool) continue;  // without signs: the next test
    std::vector<double> negative(IsComplex(dtype) ? 2 : 1), positive = negative;
    ToF64(dtype, PrefillElement(dtype, Prefill::kSentinel).data(), negative);
    ToF64(dtype, PrefillElement(dtype, Prefill::kPositive).data(), positive);
    for (size_t part = 0; part < positive.size(); ++part) {
      EXPECT_LT(negative[part], 0) << Name(dtype);
      EXPECT_GT(positive[part], 0) << Name(dtype);
      if (!IsInt(dtype)) {
        EXPECT_EQ(positive[part], -negative[part]) << Name(dtype);
      }
    }
  }
}

TEST(PrefillTest, WithoutSignsTheSecondIsLargeAndTheThirdSmall) {
  double second = 0, third = 0;
  ToF64(DType::kU8, PrefillElement(DType::kU8, Prefill::kSentinel).data(), {&second, 1});
  ToF64(DType::kU8, PrefillElement(DType::kU8, Prefill::kPositive).data(), {&third, 1});
  EXPECT_GT(second, 128);
  EXPECT_LT(third, 128);
  EXPECT_GT(third, 0);
}

TEST(PrefillTest, FillsEveryElement) {
  for (const DType dtype : AllDTypes()) {
    const BufferLayout layout = MakeLayout(dtype, {3, 5}, {1, 2}, 0);
    std::vector<std::byte> image(layout.total_bytes);
    for (const Prefill prefill : {Prefill::kNanPayload, Prefill::kSentinel, Prefill::kPositive}) {
      WriteOutputImage(layout, prefill, image);
      EXPECT_EQ(FindPrefilledElements(ReadImage(layout, image), prefill).count, 15) << Name(dtype);
      EXPECT_TRUE(CheckGuards(layout, image).empty());
    }
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace assay {
namespace {

Tensor Counting(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  std::vector<double> values(static_cast<size_t>(tensor.size()) * (IsComplex(dtype) ? 2 : 1));
  std::iota(values.begin(), values.end(), 1.0);
  tensor.SetDoubles(values);
  return tensor;
}

TEST(Tensor, ShapesAndStrides) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({2, 0, 3}), 0);
  EXPECT_EQ(RowMajorStrides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(ShapeText({2, 3, 4}), "2x3x4");
  EXPECT_EQ(ShapeText({}), "scalar");
}

TEST(Tensor, AlignedAndCloned) {
  for (int64_t n : {0, 1, 3, 1000}) {
    Tensor tensor(DType::kF32, {n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    EXPECT_EQ(tensor.bytes(), static_cast<size_t>(4 * n));
  }
  Tensor tensor = Counting(DType::kC64, {3, 5});
  Tensor copy = tensor.Clone();
  EXPECT_EQ(copy.shape(), tensor.shape());
  EXPECT_EQ(copy.ToDoubles(), tensor.ToDoubles());
  copy.As<float>()[0] = 7;
  EXPECT_EQ(tensor.ToDoubles()[0], 1.0);
  EXPECT_EQ(Tensor().Clone().data(), nullptr);
}

TEST(TensorDeath, ImpossibleShapesAbort) {
  EXPECT_DEATH(NumElements({2, -1}), "check failed");
  EXPECT_DEATH(NumElements({int64_t{1} << 40, int64_t{1} << 40}), "check failed");
  EXPECT_DEATH(Tensor(DType::kF32, {3}).SetDoubles(std::vector<double>(4)), "check failed");
}

// There and back through a layout leaves the values and everything between them alone.
void RoundTrip(DType dtype, const Shape& shape, const Shape& strides, int64_t elements, int64_t byte_offset) {
  const Tensor from = Counting(dtype, shape);
  const auto size = static_cast<size_t>(SizeOf(dtype));
  std::vector<std::byte> memory(static_cast<size_t>(elements) * size + 16, std::byte{0xAB});
  const TensorView view{dtype, shape, strides, memory.data() + byte_offset};
  Scatter(from, view);
  Tensor back(dtype, shape);
  Gather(view, back);
  EXPECT_EQ(std::memcmp(back.data(), from.data(), from.bytes()), 0) << Name(dtype) << " " << ShapeText(strides);
  // Undone one element at a time, by definition, the memory is as it was.
  for (int64_t i = 0; i < from.size(); ++i) {
    int64_t offset = 0, rest = i;
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    std::byte* element = view.data + offset * static_cast<int64_t>(size);
    EXPECT_EQ(std::memcmp(element, from.data() + static_cast<size_t>(i) * size, size), 0);
    std::memset(element, 0xAB, size);
  }
  for (std::byte b : memory) ASSERT_EQ(b, std::byte{0xAB});
}

TEST(StridedCopy, RoundTrips) {
  for (DType dtype : {DType::kI8, DType::kF16, DType::kF32, DType::kF64, DType::kC128}) {
    RoundTrip(dtype, {2, 3, 4}, {12, 4, 1}, 24, 0);
    RoundTrip(dtype, {2, 3, 4}, {1, 2, 6}, 24, 1);     // transposed, at an odd byte
    RoundTrip(dtype, {2, 3, 4}, {40, 10, 2}, 200, 3);  // padded, with a step
    RoundTrip(dtype, {300, 200}, {1, 301}, 301 * 200, 0);
    RoundTrip(dtype, {}, {}, 1, 0);
    RoundTrip(dtype, {5}, {3}, 15, 0);
    RoundTrip(dtype, {2, 0, 4}, {0, 4, 1}, 1, 0);
  }
}

TEST(StridedCopy, BroadcastGathersOneValueAndScattersTheLast) {
  std::vector<float> memory = {1, 2, 3};
  const TensorView view{DType::kF32, {4, 3}, {0, 1}, reinterpret_cast<std::byte*>(memory.data())};
  Tensor tensor(DType::kF32, {4, 3});
  Gather(view, tensor);
  EXPECT_EQ(tensor.ToDoubles(), (std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
  Scatter(Counting(DType::kF32, {4, 3}), view);
  EXPECT_EQ(memory, (std::vector<float>{10, 11, 12}));
}

// xxh3-64 of nothing is its published test value.
TEST(Hash, IsXxh3) {
  EXPECT_EQ(HashHex(HashBytes("", 0)), "2d06800538d394c2");
  EXPECT_EQ(HashHex(0x1f), "000000000000001f");
  EXPECT_NE(HashBytes("ab", 2), HashBytes("ba", 2));
}

}  // namespace
}  // namespace assay

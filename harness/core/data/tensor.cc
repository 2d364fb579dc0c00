// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "harness/core/base/check.h"

namespace assay {
namespace {

constexpr std::align_val_t kTensorAlignment{64};  // a cache line, and the widest vector register
constexpr size_t kBigPage = size_t{1} << 21;

// Large pages where the system offers them: touching fresh small ones costs more than filling them. A hint: failing
// changes nothing.
void AdviseBigPages([[maybe_unused]] std::byte* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < 2 * kBigPage) return;
  std::byte* const begin = data + (kBigPage - reinterpret_cast<uintptr_t>(data) % kBigPage) % kBigPage;
  ::madvise(begin, static_cast<size_t>(data + bytes - begin) / kBigPage * kBigPage, MADV_HUGEPAGE);
#endif
}

}  // namespace

int64_t NumElements(const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;  // however large others are
  int64_t count = 1;
  for (int64_t extent : shape) {
    ASSAY_CHECK(extent >= 0);
    ASSAY_CHECK(count <= std::numeric_limits<int64_t>::max() / extent);
    count *= extent;
  }
  return count;
}

Shape RowMajorStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::string ShapeText(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string IndexText(const Shape& shape, int64_t index) {
  std::string text = "[";
  const Shape strides = RowMajorStrides(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    text += fmt::format("{}{}", axis == 0 ? "" : ",", index / strides[axis] % shape[axis]);
  }
  return text + "]";
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), size_(NumElements(shape_)) {
  ASSAY_CHECK(size_ <= std::numeric_limits<int64_t>::max() / SizeOf(dtype));
  data_.reset(static_cast<std::byte*>(::operator new(bytes(), kTensorAlignment)));
  AdviseBigPages(data(), bytes());
}

Tensor Tensor::Borrow(DType dtype, Shape shape, const std::byte* data) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.size_ = NumElements(shape);
  tensor.shape_ = std::move(shape);
  tensor.data_ = {const_cast<std::byte*>(data), Free{true}};
  return tensor;
}

void Tensor::Free::operator()(std::byte* p) const {
  if (!is_borrowed) ::operator delete(p, kTensorAlignment);
}

Tensor Tensor::Clone() const {
  Tensor copy;
  if (data_ == nullptr && shape_.empty()) return copy;
  copy = Tensor(dtype_, shape_);
  if (size_ > 0) std::memcpy(copy.data(), data(), bytes());
  return copy;
}

void Tensor::Reshape(Shape shape) {
  ASSAY_CHECK(NumElements(shape) == size_);
  shape_ = std::move(shape);
}

std::vector<double> Tensor::ToDoubles() const {
  std::vector<double> values(static_cast<size_t>(size_) * (IsComplex(dtype_) ? 2 : 1));
  Read(0, values);
  return values;
}

void Tensor::Read(int64_t first, std::span<double> values) const {
  // A stretch of complex numbers may begin in the middle of one, so that their parts are read as reals.
  const DType part = dtype_ == DType::kC64 ? DType::kF32 : dtype_ == DType::kC128 ? DType::kF64 : dtype_;
  ToF64(part, data() + first * SizeOf(part), values);
}

void Tensor::SetDoubles(std::span<const double> values) {
  ASSAY_CHECK(std::ssize(values) == size_ * (IsComplex(dtype_) ? 2 : 1));
  FromF64(dtype_, values, data());
}

uint64_t HashBytes(const void* data, size_t size) {
  return XXH3_64bits(data, size);
}

std::string HashHex(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Tensors on the host: an owning dense row-major Tensor, and a strided view for layouts that a case asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/data/dtype.h"

namespace assay {

using Shape = std::vector<int64_t>;

int64_t NumElements(const Shape& shape);    // 1 for rank 0
Shape RowMajorStrides(const Shape& shape);  // in elements
std::string ShapeText(const Shape& shape);  // "2x3x4", "scalar" for rank 0
// Coordinates of the row-major element `index`: "[3,5]"; "[]" for rank 0.
std::string IndexText(const Shape& shape, int64_t index);

// Dense row-major, 64-byte aligned, uninitialised until written.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);
  // Refers to elements that somebody else keeps as long as this lives; they are only read. Their alignment is that of
  // the type.
  static Tensor Borrow(DType dtype, Shape shape, const std::byte* data);
  Tensor Clone() const;
  void Reshape(Shape shape);  // precondition: as many elements
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  size_t bytes() const { return static_cast<size_t>(size_) * static_cast<size_t>(SizeOf(dtype_)); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  template <class T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(data_.get()), bytes() / sizeof(T)};
  }
  template <class T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_.get()), bytes() / sizeof(T)};
  }

  std::vector<double> ToDoubles() const;                     // 2 per element for complex types
  void Read(int64_t first, std::span<double> values) const;  // a stretch of what ToDoubles returns
  void SetDoubles(std::span<const double> values);           // rounds to the dtype, to nearest even

 private:
  struct Free {
    bool is_borrowed;  // false where nothing is said: a std::unique_ptr value-initialises it
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::kF32;
  Shape shape_;
  int64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

// A strided window into someone else's bytes. Strides in elements, may be any non-negative value; where it is only read
// from (Gather), negative ones too.
struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  Shape strides;
  std::byte* data = nullptr;  // of the element with all indices zero
};

// Copies between a dense tensor and a strided view of the same dtype and shape.
void Scatter(const Tensor& from, const TensorView& to);
void Gather(const TensorView& from, Tensor& to);

// 64-bit content hash (xxh3) of the bytes.
uint64_t HashBytes(const void* data, size_t size);
std::string HashHex(uint64_t hash);  // 16 hex digits

}  // namespace assay

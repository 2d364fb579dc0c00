// SPDX-License-Identifier: Apache-2.0
// Allocation images: the bytes of one operand as they travel to the device and back. Guards before and after the
// tensor, and in the gaps between its rows, hold a pattern that depends on the position, so that bytes copied to a
// wrong place show. To a kernel that reads them they are poison: where elements are of 16 bits or more, NaN or, in
// other layouts than the dense one, numbers near the largest, so that no weight of zero hides the access. Outputs
// start out as a prefill, so that elements that were never written show (observations.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/core/data/tensor.h"

namespace assay {

inline constexpr uint64_t kImageAlignment = 256;  // of element zero when element_offset is 0
inline constexpr uint64_t kLeastGuardBytes = 1024;
inline constexpr uint64_t kLargestGuardBytes = 65536;

// How far the layout departs from dense and aligned.
struct LayoutVariant {
  int64_t element_offset = 0;  // elements between an aligned address and element zero
  int64_t row_padding = 0;     // elements added to the stride of the last axis but one
  bool permuted = false;       // dense, axes in another order: see PermutedStrides(); rows are then not padded
  bool operator==(const LayoutVariant&) const = default;
};

enum class Poison : uint8_t { kNan, kHuge };

struct BufferLayout {
  DType dtype = DType::kF32;
  Shape shape;
  Shape strides;            // elements, non-negative
  uint64_t offset = 0;      // of the element with all indices zero, in bytes
  uint64_t span_bytes = 0;  // from its first byte to the end of the last element; 0 without elements
  uint64_t total_bytes = 0;
  uint64_t salt = 0;  // of the guard pattern; differs between the operands of an execution
  Poison poison = Poison::kNan;
  bool HasGaps() const;
};

// Dense strides with the second axis innermost: NHWC of an NCHW tensor, OHWI of weights, the transpose of each matrix
// of a stack. A matrix is transposed; what has one axis stays as it is.
Shape PermutedStrides(const Shape& shape);

// A guard is as long as a row, between the two limits above: a kernel that is one row off is caught as a whole.
BufferLayout MakeLayout(DType dtype, const Shape& shape, const LayoutVariant& variant, uint64_t salt);
BufferLayout MakeStridedLayout(DType dtype, const Shape& shape, const Shape& strides, int64_t element_offset,
                               uint64_t salt, Poison poison = Poison::kNan);

// Bytes [first, first + out.size()) of its pattern.
void GuardPattern(const BufferLayout& layout, uint64_t first, std::span<std::byte> out);

enum class Prefill : uint8_t {
  kNanPayload,  // floats: a quiet NaN with a payload that arithmetic does not produce; integers: one value
  kSentinel,    // floats: an odd finite number, negative; integers: another value
  kPositive,    // the sentinel with the other sign: a maximum with what lay there stays, as one with a NaN may not
};
inline constexpr size_t kPrefillCount = 3;
std::span<const std::byte> PrefillElement(DType dtype, Prefill prefill);  // SizeOf(dtype) bytes

// Repeats `element` until `out` is full.
void FillWith(std::span<const std::byte> element, std::span<std::byte> out);

// Fills all bytes that are not part of the tensor.
void WriteGuards(const BufferLayout& layout, std::span<std::byte> image);
// Both fill the whole image, guards included.
void WriteInputImage(const BufferLayout& layout, const Tensor& tensor, std::span<std::byte> image);
void WriteOutputImage(const BufferLayout& layout, Prefill prefill, std::span<std::byte> image);

Tensor ReadImage(const BufferLayout& layout, std::span<const std::byte> image);

}  // namespace assay

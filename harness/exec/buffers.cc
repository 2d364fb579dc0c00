// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/buffers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace assay {
namespace {

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every position gets an unrelated word.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Bits to clear and to set to make poison of any eight bytes, whatever their other bits are.
struct PoisonBits {
  uint64_t clear = 0, set = 0;
};

PoisonBits BitsOf(DType dtype, Poison poison) {
  const auto repeated = [&](uint64_t exponent, uint64_t nan, uint64_t huge, uint64_t lanes) {
    return poison == Poison::kNan ? PoisonBits{0, nan * lanes} : PoisonBits{(exponent & ~huge) * lanes, huge * lanes};
  };
  constexpr uint64_t kHalves = 0x0001'0001'0001'0001, kWords = 0x0000'0001'0000'0001;
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return repeated(0x7FF0'0000'0000'0000, 0x7FF8'0000'0000'0000, 0x7FE0'0000'0000'0000, 1);
    case DType::kF32:
    case DType::kC64:
      return repeated(0x7F80'0000, 0x7FC0'0000, 0x7F00'0000, kWords);
    case DType::kF16:
      return repeated(0x7C00, 0x7E00, 0x7800, kHalves);
    case DType::kBF16:
      return repeated(0x7F80, 0x7FC0, 0x7F00, kHalves);
    default:  // too few bits for both a number and a place
      return {};
  }
}

TensorView ViewOf(const BufferLayout& layout, std::byte* image) {
  return {layout.dtype, layout.shape, layout.strides, image + layout.offset};
}

using Bytes = std::array<uint8_t, 16>;

// Flips the sign of each part of the element: the top bit of the part's last byte.
Bytes FlipSigns(Bytes bytes, DType dtype) {
  const auto part = static_cast<size_t>(SizeOf(dtype) / (IsComplex(dtype) ? 2 : 1));
  for (size_t i = part - 1; i < bytes.size(); i += part) bytes[i] ^= 0x80;
  return bytes;
}

// Little-endian. Two NaN encodings exist in e4m3, so that its "payload" is the value 0x7F itself; a result that is
// rightly NaN still differs from the other prefill.
Bytes Pattern(DType dtype, Prefill prefill) {
  if (prefill == Prefill::kPositive) return FlipSigns(Pattern(dtype, Prefill::kSentinel), dtype);
  const bool nan = prefill == Prefill::kNanPayload;
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      if (nan) return {0xA5, 0x5A, 0xA5, 0xC3, 0x3C, 0xA5, 0xF9, 0x7F, 0xA5, 0x5A, 0xA5, 0xC3, 0x3C, 0xA5, 0xF9, 0x7F};
      return {0xC3, 0xA5, 0x5A, 0x3C, 0x5A, 0xC3, 0xA5, 0xC1, 0xC3, 0xA5, 0x5A, 0x3C, 0x5A, 0xC3, 0xA5, 0xC1};
    case DType::kF32:
    case DType::kC64:
      if (nan) return {0x5A, 0xA5, 0xD3, 0x7F, 0x5A, 0xA5, 0xD3, 0x7F};
      return {0xA5, 0x5A, 0xA5, 0xC9, 0xA5, 0x5A, 0xA5, 0xC9};
    case DType::kF16:
      return nan ? Bytes{0x5A, 0x7F} : Bytes{0xA5, 0xD3};
    case DType::kBF16:
      return nan ? Bytes{0xDA, 0x7F} : Bytes{0xA5, 0xC9};
    case DType::kE4M3:
      return nan ? Bytes{0x7F} : Bytes{0xD5};
    case DType::kE5M2:
      return nan ? Bytes{0x7F} : Bytes{0xD5};
    case DType::kI16:
      return nan ? Bytes{0x5A, 0x3C} : Bytes{0xC5, 0xA7};
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kI32:
    case DType::kI64:
      break;
  }
  if (nan) return {0x5A, 0xA5, 0x3C, 0x5A, 0xA5, 0xC3, 0x5A, 0x5A};
  return {0xA7, 0x5B, 0xC5, 0xA7, 0x5B, 0x3D, 0xA7, 0xA7};
}

}  // namespace

bool BufferLayout::HasGaps() const {
  return span_bytes != static_cast<uint64_t>(NumElements(shape)) * static_cast<uint64_t>(SizeOf(dtype));
}

Shape PermutedStrides(const Shape& shape) {
  if (shape.size() < 2) return RowMajorStrides(shape);
  const size_t innermost = shape.size() == 2 ? 0 : 1;
  Shape strides(shape.size(), 1);
  int64_t stride = std::max<int64_t>(shape[innermost], 1);
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (axis == innermost) continue;
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

BufferLayout MakeLayout(DType dtype, const Shape& shape, const LayoutVariant& variant, uint64_t salt) {
  const Poison poison = variant == LayoutVariant{} ? Poison::kNan : Poison::kHuge;
  if (variant.permuted) {
    return MakeStridedLayout(dtype, shape, PermutedStrides(shape), variant.element_offset, salt, poison);
  }
  Shape strides = RowMajorStrides(shape);
  if (shape.size() >= 2 && variant.row_padding != 0) {
    int64_t stride = shape.back() + variant.row_padding;
    for (size_t axis = shape.size() - 1; axis-- > 0;) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
  }
  return MakeStridedLayout(dtype, shape, strides, variant.element_offset, salt, poison);
}

BufferLayout MakeStridedLayout(DType dtype, const Shape& shape, const Shape& strides, int64_t element_offset,
                               uint64_t salt, Poison poison) {
  BufferLayout layout{dtype, shape, strides, 0, 0, 0, salt, poison};
  const auto size = static_cast<uint64_t>(SizeOf(dtype));
  if (NumElements(shape) > 0) {
    uint64_t last = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) last += static_cast<uint64_t>((shape[axis] - 1) * strides[axis]);
    layout.span_bytes = (last + 1) * size;
  }
  const uint64_t row = shape.empty() ? size : static_cast<uint64_t>(shape.back()) * size;
  const uint64_t guard = RoundUp(std::clamp(row, kLeastGuardBytes, kLargestGuardBytes));
  layout.offset = guard + static_cast<uint64_t>(element_offset) * size;
  layout.total_bytes = RoundUp(layout.offset + layout.span_bytes + guard);
  return layout;
}

void GuardPattern(const BufferLayout& layout, uint64_t first, std::span<std::byte> out) {
  const uint64_t stream = Mix(layout.salt);
  const PoisonBits poison = BitsOf(layout.dtype, layout.poison);
  const auto word_at = [&](uint64_t position) { return (Mix(stream ^ (position / 8)) & ~poison.clear) | poison.set; };
  const auto part = [&](size_t from, size_t bytes) {
    const uint64_t position = first + from;
    const uint64_t word = word_at(position) >> (position % 8 * 8);  // little-endian, as every host so far
    std::memcpy(out.data() + from, &word, bytes);
  };
  size_t done = std::min<size_t>((8 - first % 8) % 8, out.size());
  if (done > 0) part(0, done);
  for (; done + 8 <= out.size(); done += 8) {
    const uint64_t word = word_at(first + done);
    std::memcpy(out.data() + done, &word, 8);
  }
  if (done < out.size()) part(done, out.size() - done);
}

std::span<const std::byte> PrefillElement(DType dtype, Prefill prefill) {
  static const auto table = [] {
    std::array<std::array<Bytes, kPrefillCount>, kDTypeCount> all{};
    for (int d = 0; d < kDTypeCount; ++d) {
      for (size_t p = 0; p < kPrefillCount; ++p) all[d][p] = Pattern(static_cast<DType>(d), static_cast<Prefill>(p));
    }
    return all;
  }();
  const Bytes& bytes = table[static_cast<size_t>(dtype)][static_cast<size_t>(prefill)];
  return std::as_bytes(std::span(bytes)).first(static_cast<size_t>(SizeOf(dtype)));
}

void WriteInputImage(const BufferLayout& layout, const Tensor& tensor, std::span<std::byte> image) {
  WriteGuards(layout, image);
  if (tensor.size() > 0) Scatter(tensor, ViewOf(layout, image.data()));
}

void WriteGuards(const BufferLayout& layout, std::span<std::byte> image) {
  const uint64_t end = layout.offset + layout.span_bytes;
  if (layout.HasGaps()) return GuardPattern(layout, 0, image.first(layout.total_bytes));
  GuardPattern(layout, 0, image.first(layout.offset));
  GuardPattern(layout, end, image.subspan(end, layout.total_bytes - end));
}

// Copies the filled part behind itself, which doubles it each time.
void FillWith(std::span<const std::byte> element, std::span<std::byte> out) {
  for (size_t done = 0; done < out.size();) {
    const size_t bytes = std::min(done == 0 ? element.size() : done, out.size() - done);
    std::memcpy(out.data() + done, done == 0 ? element.data() : out.data(), bytes);
    done += bytes;
  }
}

void WriteOutputImage(const BufferLayout& layout, Prefill prefill, std::span<std::byte> image) {
  Tensor filled(layout.dtype, layout.shape);
  FillWith(PrefillElement(layout.dtype, prefill), {filled.data(), filled.bytes()});
  WriteInputImage(layout, filled, image);
}

Tensor ReadImage(const BufferLayout& layout, std::span<const std::byte> image) {
  Tensor tensor(layout.dtype, layout.shape);
  // Gather only reads; a view over constant bytes would be a second type for this one place.
  if (tensor.size() > 0) Gather(ViewOf(layout, const_cast<std::byte*>(image.data())), tensor);
  return tensor;
}

}  // namespace assay

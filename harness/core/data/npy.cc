// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/core/base/amounts.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/npy_header.h"

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as they lie in a little-endian memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxHeader = 1 << 16;  // a real one takes some hundred bytes
constexpr size_t kAlignment = 64;         // of the data in a written file, as NumPy does it

struct StoredType {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr StoredType kStoredTypes[] = {
    {"f8", DType::kF64},  {"f4", DType::kF32},   {"f2", DType::kF16}, {"i1", DType::kI8},
    {"b1", DType::kBool}, {"i2", DType::kI16},   {"i4", DType::kI32}, {"i8", DType::kI64},
    {"c8", DType::kC64},  {"c16", DType::kC128}, {"u1", DType::kU8},
};

tl::unexpected<Error> Bad(const std::string& message) {
  return Fail(ErrorCode::kIo, message);
}

// u2, V2, V1, and u1 of which the user says so: bits without a meaning of their own.
Result<DType> BitsType(std::string_view descr, int size, std::optional<DType> bits_as) {
  const char* possible = size == 2 ? "bf16 or f16" : "e4m3, e5m2, u8 or i8";
  if (!bits_as) {
    return Bad(
        fmt::format("elements of type {} have no meaning of their own: say what the bits hold (--dtype NAME=TYPE), {}",
                    descr, possible));
  }
  if (SizeOf(*bits_as) == size) return *bits_as;
  return Bad(fmt::format("elements of type {} cannot hold {}, only {}", descr, Name(*bits_as), possible));
}

Result<DType> TypeOf(std::string_view descr, std::optional<DType> bits_as) {
  if (descr.size() >= 2 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    const std::string_view name = descr.substr(1);
    if (name == "u2" || name == "V2") return BitsType(descr, 2, bits_as);
    if (name == "V1" || (name == "u1" && bits_as)) return BitsType(descr, 1, bits_as);
    for (const StoredType& type : kStoredTypes) {
      if (type.name == name) return type.dtype;
    }
  }
  return Bad(fmt::format(
      "elements of type '{}' are not supported; convert to one of f2 f4 f8 i1 u1 i2 i4 i8 c8 c16 bool, or u2 "
      "and u1 that hold bf16 and fp8",
      descr));
}

void SwapBytes(Tensor& tensor) {
  const auto width = static_cast<size_t>(SizeOf(tensor.dtype())) / (IsComplex(tensor.dtype()) ? 2 : 1);
  for (std::byte* at = tensor.data(); at != tensor.data() + tensor.bytes(); at += width) std::reverse(at, at + width);
}

// The tensor whose first index runs fastest in `from`.
Tensor FromFortranOrder(Tensor from) {
  Shape strides;
  int64_t stride = 1;
  for (int64_t extent : from.shape()) {
    strides.push_back(stride);
    stride *= extent;
  }
  Tensor to(from.dtype(), from.shape());
  Gather({from.dtype(), from.shape(), strides, from.data()}, to);
  return to;
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Splits the header's text off `bytes` and leaves the elements.
Result<std::string_view> TakeHeader(std::string_view& bytes) {
  if (!bytes.starts_with(kMagic)) return Bad("it does not begin like a .npy file; numpy.save writes one");
  if (bytes.size() < 8) return Bad("the file ends before its version");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) return Bad(fmt::format("version {} is not known; 1, 2 and 3 are", version));
  bytes.remove_prefix(8);
  const size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < width) return Bad("the file ends before the length of its header");
  const uint32_t length = LittleEndian(bytes.substr(0, width));
  bytes.remove_prefix(width);
  if (length > kMaxHeader) return Bad(fmt::format("a header of {} bytes; at most {} are read", length, kMaxHeader));
  if (length > bytes.size()) {
    return Bad(fmt::format("the header has {} bytes, but only {} follow: the file is cut short", length, bytes.size()));
  }
  const std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return header;
}

std::string Descr(DType dtype) {
  if (dtype == DType::kBF16) return "<u2";
  if (dtype == DType::kE4M3 || dtype == DType::kE5M2) return "|u1";
  const auto* type = std::ranges::find(kStoredTypes, dtype, &StoredType::dtype);
  return fmt::format("{}{}", SizeOf(dtype) == 1 ? '|' : '<', type->name);
}

}  // namespace

Result<Tensor> ParseNpy(std::string_view bytes, std::optional<DType> bits_as) {
  auto text = TakeHeader(bytes);
  if (!text) return tl::unexpected(text.error());
  auto header = ParseNpyHeader(*text);
  if (!header) return tl::unexpected(header.error());
  auto dtype = TypeOf(header->descr, bits_as);
  if (!dtype) return tl::unexpected(dtype.error());

  const auto size = static_cast<size_t>(SizeOf(*dtype));
  const auto elements = static_cast<uint64_t>(NumElements(header->shape));
  if (bytes.size() % size != 0 || bytes.size() / size != elements) {
    return Bad(fmt::format(
        "the shape {} of {} needs {}, but {} bytes follow the header: the file is cut short "
        "or holds more than one array",
        ShapeText(header->shape), header->descr, Counted(static_cast<int64_t>(elements), "element"), bytes.size()));
  }
  Tensor tensor(*dtype, header->shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (header->descr[0] == '>') SwapBytes(tensor);
  if (header->fortran_order && header->shape.size() > 1) return FromFortranOrder(std::move(tensor));
  return tensor;
}

Result<Tensor> ReadNpy(const std::filesystem::path& path, std::optional<DType> bits_as) {
  const auto fail = [&](const std::string& message) { return Bad(fmt::format("{}: {}", path.string(), message)); };
  const Result<std::string> bytes = ReadWholeFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  Result<Tensor> tensor = ParseNpy(*bytes, bits_as);
  if (!tensor) return fail(tensor.error().message);
  return tensor;
}

Status WriteNpy(const std::filesystem::path& path, const TensorRef& tensor) {
  std::string header = NpyHeaderText({Descr(tensor.dtype), false, tensor.shape});
  const size_t before = kMagic.size() + 4;  // magic, version, length
  const size_t total = (before + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(total - before - 1, ' ');
  header += '\n';
  std::string front(kMagic);
  front += std::string("\x01\x00", 2);
  front += static_cast<char>(header.size() & 0xff);
  front += static_cast<char>(header.size() >> 8);
  front += header;
  const auto bytes = static_cast<size_t>(NumElements(tensor.shape)) * static_cast<size_t>(SizeOf(tensor.dtype));
  return WriteFileAtomically(path, {{front.data(), front.size()}, {tensor.data, bytes}});
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"

namespace assay {
namespace {

using SortedJson = nlohmann::json;  // looks a member up among thousands in few steps

Result<SortedJson> ParseHeader(std::string_view text) {
  std::vector<std::set<std::string>> names;  // by depth, of the object that is open there
  std::string twice;
  const auto note_name = [&](int depth, SortedJson::parse_event_t event, SortedJson& parsed) {
    const auto level = static_cast<size_t>(depth);
    names.resize(std::max(names.size(), level + 2));
    if (event == SortedJson::parse_event_t::object_start) names[level + 1].clear();
    if (event != SortedJson::parse_event_t::key) return true;
    if (!names[level].insert(parsed.get<std::string>()).second) twice = parsed.get<std::string>();
    return true;
  };
  SortedJson header(SortedJson::value_t::discarded);
  if (!IsNestedTooDeep(text)) {
    header = SortedJson::parse(text.data(), text.data() + text.size(), note_name, /*allow_exceptions=*/false);
  }
  if (!header.is_object()) return Fail(ErrorCode::kIo, "the header is not a JSON object");
  if (!twice.empty()) return Fail(ErrorCode::kIo, fmt::format("the header has the name '{}' twice", twice));
  return header;
}

tl::unexpected<Error> FailToRead(const std::filesystem::path& path, const std::string& why) {
  return Fail(ErrorCode::kIo, fmt::format("{}: {}; the file is cut short, damaged or no safetensors: copy or write it "
                                          "again",
                                          path.string(), why));
}

constexpr int kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kNamedTypes[] = {
    {"F64", DType::kF64},      {"F32", DType::kF32},      {"F16", DType::kF16}, {"BF16", DType::kBF16},
    {"F8_E4M3", DType::kE4M3}, {"F8_E5M2", DType::kE5M2}, {"I8", DType::kI8},   {"U8", DType::kU8},
    {"I32", DType::kI32},      {"I64", DType::kI64},      {"I16", DType::kI16}, {"BOOL", DType::kBool},
    {"C64", DType::kC64},  // read, never written: the first name of a type is
};

// A complex tensor is stored as its components.
DType ComponentType(DType dtype) {
  if (dtype == DType::kC64) return DType::kF32;
  return dtype == DType::kC128 ? DType::kF64 : dtype;
}

std::string_view StoredName(DType dtype) {
  for (const NamedType& type : kNamedTypes) {
    if (type.dtype == ComponentType(dtype)) return type.name;
  }
  return "";
}

uint64_t BytesOf(const TensorRef& tensor) {
  return static_cast<uint64_t>(NumElements(tensor.shape)) * static_cast<uint64_t>(SizeOf(tensor.dtype));
}

std::string HeaderOf(const std::vector<TensorRef>& tensors, const std::map<std::string, std::string>& metadata) {
  SortedJson header = SortedJson::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorRef& tensor : tensors) {
    Shape shape = tensor.shape;
    if (IsComplex(tensor.dtype)) shape.push_back(2);
    const uint64_t end = offset + BytesOf(tensor);
    header[tensor.name] = {{"dtype", StoredName(tensor.dtype)}, {"shape", shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', /*ensure_ascii=*/false, SortedJson::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data start aligned
  return text;
}

struct Entry {
  std::string name;
  std::string type;            // as the file calls it
  std::optional<DType> dtype;  // none: a type that is not supported
  Shape shape;
  uint64_t begin, end;
};

Result<Shape> ParseShape(const SortedJson& json, const std::string& name) {
  Shape shape;
  if (!json.is_array()) return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has no shape", name));
  int64_t count = 1;
  for (const SortedJson& extent : json) {
    const bool fits =
        extent.is_number_unsigned() && extent.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (!fits) return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has a bad extent in its shape", name));
    shape.push_back(extent.get<int64_t>());
    if (__builtin_mul_overflow(count, std::max<int64_t>(1, shape.back()), &count)) {
      return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has a shape beyond 2^63 elements", name));
    }
  }
  return shape;
}

Result<Entry> ParseEntry(const std::string& name, const SortedJson& json, uint64_t data_size) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") || !json.contains("data_offsets")) {
    return Fail(ErrorCode::kIo, fmt::format("tensor '{}' lacks dtype, shape or data_offsets", name));
  }
  if (!json["dtype"].is_string())
    return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has a dtype that is no text", name));
  Entry entry{.name = name, .type = json["dtype"].get<std::string>(), .dtype = {}, .shape = {}, .begin = 0, .end = 0};
  const auto* stored = std::ranges::find(kNamedTypes, entry.type, &NamedType::name);
  if (stored != std::end(kNamedTypes)) entry.dtype = stored->dtype;
  Result<Shape> shape = ParseShape(json["shape"], name);
  if (!shape) return tl::unexpected(shape.error());
  entry.shape = std::move(*shape);
  const SortedJson& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has bad data_offsets", name));
  }
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  if (entry.begin > entry.end || entry.end > data_size) {
    return Fail(ErrorCode::kIo,
                fmt::format("tensor '{}' lies at bytes {} to {} of {}", name, entry.begin, entry.end, data_size));
  }
  if (!entry.dtype) return entry;
  const uint64_t bytes = entry.end - entry.begin, size = static_cast<uint64_t>(SizeOf(*entry.dtype));
  if (bytes % size != 0 || static_cast<uint64_t>(NumElements(entry.shape)) != bytes / size) {
    return Fail(ErrorCode::kIo, fmt::format("tensor '{}' has {} bytes, but its shape {} of {} needs another number",
                                            name, bytes, ShapeText(entry.shape), entry.type));
  }
  return entry;
}

// The tensors cover the data without holes or overlaps, as the format demands.
Status CheckCoverage(const std::vector<Entry>& entries, uint64_t data_size) {
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) {
      return Fail(ErrorCode::kIo,
                  fmt::format("tensor '{}' starts at byte {}, expected {}", entry.name, entry.begin, at));
    }
    at = entry.end;
  }
  if (at != data_size) {
    return Fail(ErrorCode::kIo, fmt::format("{} bytes of data, but the tensors cover {}", data_size, at));
  }
  return {};
}

// `start` is the beginning of a file of `size` bytes.
Result<uint64_t> HeaderLength(std::string_view start, uint64_t size) {
  if (start.size() < kLengthBytes) {
    return Fail(ErrorCode::kIo, fmt::format("{} bytes are too few for a header length", start.size()));
  }
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(start[i]);
  if (length > kMaxHeaderBytes || length > size - kLengthBytes) {
    return Fail(ErrorCode::kIo, fmt::format("the header claims {} bytes, the file has {}", length, size));
  }
  return length;
}

Status ParseMetadata(const SortedJson& json, std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) return Fail(ErrorCode::kIo, "__metadata__ is not an object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return Fail(ErrorCode::kIo, fmt::format("__metadata__ '{}' is not a string", key));
    metadata[key] = value.get<std::string>();
  }
  return {};
}

}  // namespace

const Tensor* SafetensorsFile::Find(std::string_view name) const {
  for (const NamedTensor& named : tensors) {
    if (named.name == name) return &named.tensor;
  }
  return nullptr;
}

Status WriteSafetensors(const std::filesystem::path& path, const std::vector<TensorRef>& tensors,
                        const std::map<std::string, std::string>& metadata, Durability durability) {
  const std::string header = HeaderOf(tensors, metadata);
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(uint64_t{header.size()} >> (8 * i));
  std::vector<FilePart> parts = {{length.data(), length.size()}, {header.data(), header.size()}};
  for (const TensorRef& tensor : tensors) parts.push_back({tensor.data, BytesOf(tensor)});
  return WriteFileAtomically(path, parts, durability);
}

Result<std::map<std::string, std::string>> ReadSafetensorsMetadata(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) { return FailToRead(path, why); };
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const auto size = stream ? static_cast<int64_t>(stream.tellg()) : -1;
  if (size < 0) return Fail(ErrorCode::kIo, fmt::format("{}: cannot be read", path.string()));
  std::string start(kLengthBytes, '\0');
  stream.seekg(0);
  if (!stream.read(start.data(), kLengthBytes)) return fail("too short for a header length");
  const Result<uint64_t> length = HeaderLength(start, static_cast<uint64_t>(size));
  if (!length) return fail(length.error().message);
  std::string text(*length, '\0');
  if (!stream.read(text.data(), static_cast<std::streamsize>(text.size()))) return fail("cannot be read");
  const Result<SortedJson> header = ParseHeader(text);
  if (!header) return fail(header.error().message);
  std::map<std::string, std::string> metadata;
  if (!header->contains("__metadata__")) return metadata;
  if (Status status = ParseMetadata((*header)["__metadata__"], metadata); !status) return fail(status.error().message);
  return metadata;
}

Result<SafetensorsFile> ParseSafetensors(std::string_view bytes) {
  const Result<uint64_t> length = HeaderLength(bytes, bytes.size());
  if (!length) return tl::unexpected(length.error());
  const char* text = bytes.data() + kLengthBytes;
  const Result<SortedJson> header = ParseHeader({text, *length});
  if (!header) return tl::unexpected(header.error());

  SafetensorsFile file;
  const char* data = text + *length;
  const uint64_t data_size = bytes.size() - kLengthBytes - *length;
  std::vector<Entry> entries;
  for (const auto& [name, json] : header->items()) {
    if (name == "__metadata__") {
      if (Status status = ParseMetadata(json, file.metadata); !status) return tl::unexpected(status.error());
      continue;
    }
    Result<Entry> entry = ParseEntry(name, json, data_size);
    if (!entry) return tl::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  if (Status status = CheckCoverage(entries, data_size); !status) return tl::unexpected(status.error());
  for (Entry& entry : entries) {
    if (!entry.dtype) {
      file.unsupported.emplace(std::move(entry.name), std::move(entry.type));
      continue;
    }
    Tensor tensor(*entry.dtype, entry.shape);
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), data + entry.begin, tensor.bytes());
    file.tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return file;
}

Result<SafetensorsFile> ReadSafetensors(const std::filesystem::path& path) {
  const Result<std::string> bytes = ReadWholeFile(path);
  if (!bytes) return tl::unexpected(bytes.error());
  Result<SafetensorsFile> file = ParseSafetensors(*bytes);
  if (!file) return FailToRead(path, file.error().message);
  return file;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of onnx.proto.
#include "harness/tools/import/onnx_model.h"

#include <fmt/format.h>

#include <cstring>

#include "harness/tools/import/extents.h"
#include "harness/tools/import/wire.h"

namespace assay {
namespace {

constexpr const char* kDamaged = "a damaged file, or not one of ONNX";

std::optional<DType> OnnxType(int64_t code) {
  switch (code) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
    case 9:  // bool
      return DType::kI8;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 14:
      return DType::kC64;
    case 15:
      return DType::kC128;
    case 16:
      return DType::kBF16;
    case 17:
      return DType::kE4M3;
    case 19:
      return DType::kE5M2;
    default:
      return std::nullopt;
  }
}

// Elements as they stand in the fields of a TensorProto, each of them as little-endian bytes of its type.
struct OnnxElements {
  std::string raw;
  bool is_raw = false;
  std::vector<int64_t> integers;
};

// Numbers that one field has as integers, whatever their type: 8 and 16 bit floats by their bits.
void AppendIntegers(const std::vector<int64_t>& integers, int size, std::string& raw) {
  for (const int64_t value : integers) raw.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(size));
}

Status SetData(OnnxTensor& tensor, OnnxElements& elements) {
  if (!tensor.dtype) return {};
  for (const int64_t extent : tensor.shape) {
    if (extent < 0 || extent > kLargestExtent) return UsageError(kDamaged);
    if (extent == 0) return {};
  }
  const auto count = ElementsOf(tensor.shape);
  if (!count) return tl::unexpected(count.error());
  if (!elements.integers.empty() && !elements.is_raw)
    AppendIntegers(elements.integers, SizeOf(*tensor.dtype), elements.raw);
  if (elements.raw.size() != static_cast<uint64_t>(*count) * static_cast<uint64_t>(SizeOf(*tensor.dtype))) {
    return UsageError("a tensor whose data are damaged, or in another file");
  }
  tensor.data = Tensor(*tensor.dtype, tensor.shape);
  std::memcpy(tensor.data.data(), elements.raw.data(), elements.raw.size());
  return {};
}

}  // namespace

Result<OnnxTensor> ParseOnnxTensor(std::string_view bytes) {
  OnnxTensor tensor;
  OnnxElements elements;
  bool has_type = false;
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        reader.Integers([&](int64_t extent) { tensor.shape.push_back(extent); });
        break;
      case 2:
        tensor.dtype = OnnxType(reader.integer());
        tensor.is_bool = reader.integer() == 9;
        has_type = reader.integer() != 0;
        break;
      case 4:   // float_data, packed or one by one
      case 10:  // double_data
        if (!elements.is_raw) elements.raw += reader.bytes();
        break;
      case 5:   // int32_data
      case 7:   // int64_data
      case 11:  // uint64_data
        reader.Integers([&](int64_t value) { elements.integers.push_back(value); });
        break;
      case 8:
        tensor.name = reader.bytes();
        break;
      case 9:
        elements.raw = reader.bytes();
        elements.is_raw = true;
        break;
      default:
        break;
    }
  }
  if (reader.damaged() || !has_type || tensor.shape.size() > 16) return UsageError(kDamaged);
  if (auto set = SetData(tensor, elements); !set) return tl::unexpected(set.error());
  return tensor;
}

namespace {

bool ParseAttribute(std::string_view bytes, OnnxAttribute& attribute) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) attribute.name = reader.bytes();
    if (reader.field() == 2) attribute.real = reader.real();
    if (reader.field() == 3) attribute.integer = reader.integer();
    if (reader.field() == 4) attribute.text = reader.bytes();
    if (reader.field() == 8) reader.Integers([&](int64_t value) { attribute.integers.push_back(value); });
  }
  return !reader.damaged();
}

bool ParseNode(std::string_view bytes, OnnxNode& node) {
  WireReader reader(bytes);
  bool fine = true;
  while (reader.Next()) {
    if (reader.field() == 1) node.inputs.emplace_back(reader.bytes());
    if (reader.field() == 2) node.outputs.emplace_back(reader.bytes());
    if (reader.field() == 4) node.op = reader.bytes();
    if (reader.field() == 7) node.domain = reader.bytes();
    if (reader.field() == 5) fine = ParseAttribute(reader.bytes(), node.attributes.emplace_back()) && fine;
  }
  return fine && !reader.damaged();
}

// Reads the name in a ValueInfoProto.
std::string NameOf(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) return std::string(reader.bytes());
  }
  return "";
}

Status ParseGraph(std::string_view bytes, OnnxModel& model) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && !ParseNode(reader.bytes(), model.nodes.emplace_back())) return UsageError(kDamaged);
    if (reader.field() == 5) {
      auto tensor = ParseOnnxTensor(reader.bytes());
      if (!tensor) return tl::unexpected(tensor.error());
      model.initializers.push_back(*std::move(tensor));
    }
    if (reader.field() == 11) model.inputs.push_back(NameOf(reader.bytes()));
    if (reader.field() == 12) model.outputs.push_back(NameOf(reader.bytes()));
  }
  if (reader.damaged()) return UsageError(kDamaged);
  return {};
}

// Reads the version in an OperatorSetIdProto for the domain ""; 0 for any other domain.
int64_t OpsetOf(std::string_view bytes) {
  int64_t version = 0;
  bool is_own = true;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) is_own = reader.bytes().empty() || reader.bytes() == "ai.onnx";
    if (reader.field() == 2) version = reader.integer();
  }
  return is_own && !reader.damaged() ? version : 0;
}

}  // namespace

Result<OnnxModel> ParseOnnxModel(std::string_view bytes) {
  OnnxModel model;
  WireReader reader(bytes);
  bool has_graph = false;
  while (reader.Next()) {
    if (reader.field() == 8) model.opset = std::max(model.opset, OpsetOf(reader.bytes()));
    if (reader.field() != 7) continue;
    has_graph = true;
    if (auto graph = ParseGraph(reader.bytes(), model); !graph) return tl::unexpected(graph.error());
  }
  if (reader.damaged() || !has_graph) return UsageError(kDamaged);
  return model;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import/onnx_bytes.h"

namespace assay {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

template <class T>
std::string Raw(const std::vector<T>& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T)};
}

std::string TensorOf(int64_t type, const std::vector<int64_t>& shape, const std::string& raw) {
  std::string bytes;
  for (const int64_t extent : shape) bytes += Field(1, extent);
  return bytes + Field(2, type) + Field(8, std::string_view("its own name")) + Field(9, raw);
}

}  // namespace

std::string Field(int number, int64_t value) {
  return Varint(static_cast<uint64_t>(number) << 3) + Varint(static_cast<uint64_t>(value));
}

std::string Field(int number, std::string_view bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

std::string Field(int number, float value) {
  return Varint(static_cast<uint64_t>(number) << 3 | 5) + Raw(std::vector{value});
}

std::string IntAttribute(std::string_view name, int64_t value) {
  return Field(1, name) + Field(3, value);
}

std::string RealAttribute(std::string_view name, float value) {
  return Field(1, name) + Field(2, value);
}

std::string IntsAttribute(std::string_view name, const std::vector<int64_t>& values) {
  std::string packed;
  for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
  return Field(1, name) + Field(8, packed);
}

std::string RealTensor(const std::vector<int64_t>& shape, const std::vector<float>& data) {
  return TensorOf(1, shape, Raw(data));
}

std::string IntTensor(const std::vector<int64_t>& shape, const std::vector<int64_t>& data) {
  return TensorOf(7, shape, Raw(data));
}

std::string ByteTensor(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return TensorOf(2, shape, std::string(static_cast<size_t>(elements), '\0'));
}

std::string OneNode(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<std::string>& attributes,
                    int64_t opset) {
  std::string node, graph;
  for (const std::string& name : inputs) node += Field(1, name);
  for (const std::string& name : outputs) node += Field(2, name);
  node += Field(4, op);
  for (const std::string& attribute : attributes) node += Field(5, attribute);
  graph = Field(1, node);
  for (const std::string& name : inputs) {
    if (!name.empty()) graph += Field(11, Field(1, name));
  }
  for (const std::string& name : outputs) graph += Field(12, Field(1, name));
  return Field(1, int64_t{10}) + Field(7, graph) + Field(8, Field(1, std::string_view()) + Field(2, opset));
}

}  // namespace assay

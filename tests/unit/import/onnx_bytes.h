// SPDX-License-Identifier: Apache-2.0
// Small files of ONNX, written field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::string Field(int number, int64_t value);           // a varint
std::string Field(int number, std::string_view bytes);  // a text or a message
std::string Field(int number, float value);

std::string IntAttribute(std::string_view name, int64_t value);
std::string RealAttribute(std::string_view name, float value);
std::string IntsAttribute(std::string_view name, const std::vector<int64_t>& values);

// A TensorProto of f32 with that data as raw bytes.
std::string RealTensor(const std::vector<int64_t>& shape, const std::vector<float>& data);
std::string IntTensor(const std::vector<int64_t>& shape, const std::vector<int64_t>& data);
std::string ByteTensor(const std::vector<int64_t>& shape);  // of u8, zeros

// A ModelProto of one node, whose graph has its inputs and outputs.
std::string OneNode(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<std::string>& attributes,
                    int64_t opset = 20);

}  // namespace assay

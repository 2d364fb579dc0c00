// SPDX-License-Identifier: Apache-2.0
// The parts of ONNX's ModelProto and TensorProto that an importer needs. Private to the importer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"

namespace assay {

struct OnnxTensor {
  std::string name;
  std::optional<DType> dtype;  // none: a type that is none here
  bool is_bool = false;        // as i8
  Shape shape;
  Tensor data;  // without elements where `dtype` is none, or an extent is 0
};

struct OnnxAttribute {
  std::string name, text;
  float real = 0;
  int64_t integer = 0;
  std::vector<int64_t> integers;
};

struct OnnxNode {
  std::string op, domain;
  std::vector<std::string> inputs, outputs;  // "": left out
  std::vector<OnnxAttribute> attributes;
};

struct OnnxModel {
  int64_t opset = 0;  // of the domain ""
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<std::string> inputs, outputs;  // of the graph
};

// Errors: the bytes are no such message.
Result<OnnxModel> ParseOnnxModel(std::string_view bytes);
Result<OnnxTensor> ParseOnnxTensor(std::string_view bytes);

}  // namespace assay

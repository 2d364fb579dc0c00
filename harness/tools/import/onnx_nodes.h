// SPDX-License-Identifier: Apache-2.0
// Maps ONNX nodes to cases of assay. Private to the importer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"
#include "harness/tools/import/onnx_model.h"

namespace assay {

// A node with the tensors of one data set. Null: left out, or not there.
struct OnnxCall {
  const OnnxNode& node;
  int64_t opset;
  std::vector<const OnnxTensor*> inputs, outputs;

  const OnnxTensor* Input(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  const OnnxAttribute* Find(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t usual) const;
  double Real(std::string_view name, double usual) const;
  std::string Text(std::string_view name, std::string_view usual) const;
  std::vector<int64_t> Ints(std::string_view name) const;
};

// One of the node's tensors as an operand.
struct OnnxOperand {
  std::string name;  // of the operand
  size_t position;   // among the node's inputs or outputs
  Shape shape;       // of the operand
};

struct OnnxMapped {
  CaseSpec spec;
  std::vector<OnnxOperand> inputs, outputs;
};

// Fails with a reason if assay has no operator for the node.
Status CheckOnnxOperator(const OnnxNode& node);

// Errors say why the case has no counterpart.
Result<OnnxMapped> MapOnnxNode(const OnnxCall& call);

}  // namespace assay

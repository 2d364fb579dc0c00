// SPDX-License-Identifier: Apache-2.0
// How an operator description travels from the host to the worker, and becomes the ABI's structs there. It carries
// what assay_op_desc has and nothing else: no case id, no seed, no fill.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "harness/exec/buffers.h"
#include "harness/exec/wire/protocol.h"
#include "ops/operator.h"

namespace assay {

// `layouts` are those of the inputs, then of the outputs.
Json EncodeProblem(const Problem& problem, std::span<const BufferLayout> layouts);

// Owns everything that its assay_op_desc points to.
class OpDescription {
 public:
  // Precondition: made by EncodeProblem (the host is trusted; a mistake throws nlohmann's exceptions).
  explicit OpDescription(const Json& json);
  OpDescription(const OpDescription&) = delete;  // get() points into this object
  OpDescription& operator=(const OpDescription&) = delete;
  const assay_op_desc& get() const { return desc_; }

 private:
  struct TensorStore {
    std::string name;
    std::vector<int64_t> shape, strides;
    assay_tensor_desc desc{};
  };
  struct AttrStore {
    std::string key, text;
    std::vector<int64_t> list;
    assay_attr attr{};
  };
  const assay_tensor_desc* AddTensor(const Json& json);
  const assay_attr* AddAttr(const Json& json);

  std::string op_;
  std::deque<TensorStore> tensors_;  // deques: elements never move
  std::deque<AttrStore> attrs_;
  std::vector<const assay_tensor_desc*> inputs_, outputs_;
  std::vector<const assay_attr*> attr_pointers_;
  assay_op_desc desc_{};
};

}  // namespace assay

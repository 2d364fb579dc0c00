// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/wire/wire.h"

#include <bit>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

Json EncodeTensor(const Operand& operand, const BufferLayout& layout) {
  const DTypeInfo& info = Info(operand.dtype);
  return {{"name", operand.name},  {"code", info.dlpack_code},  {"bits", info.dlpack_bits},
          {"shape", layout.shape}, {"strides", layout.strides}, {"alias", operand.alias}};
}

Json EncodeAttr(const ResolvedAttr& attr) {
  switch (attr.type) {
    case AttrType::kInt:
      return {{"key", attr.key}, {"type", ASSAY_ATTR_INT}, {"i", attr.i}};
    // Floats are sent as bits: JSON has no infinity (a softcap, a scale) and does not guarantee the last bit.
    case AttrType::kFloat:
      return {{"key", attr.key}, {"type", ASSAY_ATTR_FLOAT}, {"f", std::bit_cast<uint64_t>(attr.f)}};
    case AttrType::kName:
      return {{"key", attr.key}, {"type", ASSAY_ATTR_STRING}, {"s", attr.s}};
    case AttrType::kDims:
    case AttrType::kAxes:
      break;
  }
  return {{"key", attr.key}, {"type", ASSAY_ATTR_INT_LIST}, {"list", attr.list}};
}

}  // namespace

Json EncodeProblem(const Problem& problem, std::span<const BufferLayout> layouts) {
  Json inputs = Json::array(), outputs = Json::array(), attrs = Json::array();
  for (const Operand& input : problem.inputs) inputs.push_back(EncodeTensor(input, layouts[inputs.size()]));
  for (const Operand& output : problem.outputs) {
    outputs.push_back(EncodeTensor(output, layouts[inputs.size() + outputs.size()]));
  }
  for (const ResolvedAttr& attr : problem.attrs) attrs.push_back(EncodeAttr(attr));
  return {{"op", problem.spec.op},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"attrs", std::move(attrs)}};
}

OpDescription::OpDescription(const Json& json) : op_(json.at("op")) {
  for (const Json& tensor : json.at("inputs")) inputs_.push_back(AddTensor(tensor));
  for (const Json& tensor : json.at("outputs")) outputs_.push_back(AddTensor(tensor));
  for (const Json& attr : json.at("attrs")) attr_pointers_.push_back(AddAttr(attr));
  desc_ = {sizeof desc_,          op_.c_str(),           inputs_.size(),
           inputs_.data(),        outputs_.size(),       outputs_.data(),
           attr_pointers_.size(), attr_pointers_.data(), 0};
}

const assay_tensor_desc* OpDescription::AddTensor(const Json& json) {
  TensorStore& store = tensors_.emplace_back();
  store.name = json.at("name");
  store.shape = json.at("shape").get<std::vector<int64_t>>();
  store.strides = json.at("strides").get<std::vector<int64_t>>();
  // A scalar's empty vector has no data(); the ABI promises strides that are never NULL.
  store.shape.reserve(1);
  store.strides.reserve(1);
  store.desc = {sizeof store.desc,
                store.name.c_str(),
                json.at("code"),
                json.at("bits"),
                0,
                static_cast<int32_t>(store.shape.size()),
                store.shape.data(),
                store.strides.data(),
                json.at("alias"),
                0};
  return &store.desc;
}

const assay_attr* OpDescription::AddAttr(const Json& json) {
  AttrStore& store = attrs_.emplace_back();
  store.key = json.at("key");
  store.attr.struct_size = sizeof store.attr;
  store.attr.key = store.key.c_str();
  store.attr.type = json.at("type");
  store.attr.i = json.value("i", int64_t{0});
  store.attr.f = std::bit_cast<double>(json.value("f", uint64_t{0}));
  store.text = json.value("s", std::string());
  store.attr.s = store.text.c_str();
  store.list = json.value("list", std::vector<int64_t>());
  store.attr.ints = store.list.data();
  store.attr.count = store.list.size();
  return &store.attr;
}

}  // namespace assay

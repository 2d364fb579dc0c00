// SPDX-License-Identifier: Apache-2.0
#include "backends/common/op_desc.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "backends/common/status.h"

namespace plugin {
namespace {

// Far above any real operator; keeps a corrupted count from being followed.
constexpr uint64_t kMaxOperands = 64;
constexpr uint64_t kMaxAttrs = 256;
constexpr int32_t kMaxRank = 32;

Tensor CopyTensor(const assay_tensor_desc* raw, const std::string& op, const char* role, size_t index) {
  if (raw == nullptr || !ASSAY_HAS(raw, strides)) {
    throw Failure(
        "{}: the description of {} {} is NULL or too short; the harness must fill in every member of "
        "assay_tensor_desc",
        op, role, index);
  }
  Tensor tensor{
      raw->name == nullptr ? fmt::format("{}{}", role, index) : raw->name, {raw->type_code, raw->bits}, {}, {}};
  if (raw->lanes != 1)
    throw Unsupported("{}: operand '{}' has {} lanes; only 1 is offered", op, tensor.name, raw->lanes);
  if (raw->ndim < 0 || raw->ndim > kMaxRank || (raw->ndim > 0 && (raw->shape == nullptr || raw->strides == nullptr))) {
    throw Failure("{}: operand '{}' has rank {} without a valid shape and strides", op, tensor.name, raw->ndim);
  }
  tensor.shape.assign(raw->shape, raw->shape + raw->ndim);
  tensor.strides.assign(raw->strides, raw->strides + raw->ndim);
  if (std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t n) { return n < 0; })) {
    throw Failure("{}: operand '{}' has a negative extent in its shape {}", op, tensor.name, ShapeText(tensor.shape));
  }
  return tensor;
}

std::vector<Tensor> CopyTensors(const assay_tensor_desc* const* raw, uint64_t count, const std::string& op,
                                const char* role) {
  if (count > kMaxOperands || (count > 0 && raw == nullptr)) {
    throw Failure("{}: {} {}s announced; expected at most {} and an array of them", op, count, role, kMaxOperands);
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(CopyTensor(raw[i], op, role, i));
  return tensors;
}

}  // namespace

int64_t Tensor::Elements() const {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

Tensor::Extent Tensor::ByteExtent() const {
  if (Elements() == 0) return {};
  Extent extent{0, 1};
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? extent.first : extent.last) += reach;
  }
  return {extent.first * Bytes(dtype), extent.last * Bytes(dtype)};
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

OpDesc::OpDesc(const assay_op_desc* raw) {
  if (raw == nullptr || !ASSAY_HAS(raw, attrs) || raw->op == nullptr) {
    throw Failure(
        "the operator description is NULL, too short or without a name; the harness must fill in every "
        "member of assay_op_desc");
  }
  name_ = raw->op;
  inputs_ = CopyTensors(raw->inputs, raw->n_inputs, name_, "input");
  outputs_ = CopyTensors(raw->outputs, raw->n_outputs, name_, "output");
  if (raw->n_attrs > kMaxAttrs || (raw->n_attrs > 0 && raw->attrs == nullptr)) {
    throw Failure("{}: {} attributes announced; expected at most {} and an array of them", name_, raw->n_attrs,
                  kMaxAttrs);
  }
  for (size_t i = 0; i < raw->n_attrs; ++i) {
    const assay_attr* attr = raw->attrs[i];
    if (attr == nullptr || !ASSAY_HAS(attr, list_size) || attr->key == nullptr) {
      throw Failure("{}: attribute {} is NULL, too short or without a key", name_, i);
    }
    Value& value = attrs_[attr->key];
    if (attr->type == ASSAY_ATTR_INT) {
      value = attr->i;
    } else if (attr->type == ASSAY_ATTR_FLOAT) {
      value = attr->f;
    } else if (attr->type == ASSAY_ATTR_STRING && attr->s != nullptr) {
      value = std::string(attr->s);
    } else if (attr->type == ASSAY_ATTR_INT_LIST && (attr->list != nullptr || attr->list_size == 0)) {
      value = std::vector<int64_t>(attr->list, attr->list + attr->list_size);
    } else {
      throw Failure("{}: attribute '{}' has the unknown type {} or no value", name_, attr->key, attr->type);
    }
  }
}

const OpDesc::Value& OpDesc::Find(std::string_view key) const {
  const auto found = attrs_.find(key);
  if (found != attrs_.end()) return found->second;
  throw Failure("{}: attribute '{}' is missing; a description carries every attribute, defaults included", name_, key);
}

void OpDesc::FailType(std::string_view key, const char* wanted) const {
  throw Failure("{}: attribute '{}' is not {}; compare the operator's definition", name_, key, wanted);
}

int64_t OpDesc::AttrInt(std::string_view key) const {
  if (const auto* value = std::get_if<int64_t>(&Find(key))) return *value;
  FailType(key, "an integer");
}

double OpDesc::AttrFloat(std::string_view key) const {
  const Value& value = Find(key);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  FailType(key, "a number");
}

const std::string& OpDesc::AttrString(std::string_view key) const {
  if (const auto* value = std::get_if<std::string>(&Find(key))) return *value;
  FailType(key, "a string");
}

std::vector<int64_t> OpDesc::AttrList(std::string_view key) const {
  const Value& value = Find(key);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return *list;
  if (const auto* integer = std::get_if<int64_t>(&value)) return {*integer};
  FailType(key, "a list of integers");
}

std::string OpDesc::DTypesText() const {
  std::string text;
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const Tensor& tensor : *tensors) text += (text.empty() ? "" : "-") + Name(tensor.dtype);
  }
  return text;
}

}  // namespace plugin

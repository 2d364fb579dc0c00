// SPDX-License-Identifier: Apache-2.0
#include "backends/common/op_desc.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "backends/common/status.h"

namespace plugin {
namespace {

// Far above any real operator; keeps a corrupted count from being followed.
constexpr uint64_t kMaxOperands = 64;
constexpr uint64_t kMaxAttrs = 256;
constexpr int32_t kMaxRank = 32;

void CheckReserved(std::span<const uint16_t> reserved, const std::string& of) {
  if (std::ranges::any_of(reserved, [](uint16_t member) { return member != 0; })) {
    throw Unsupported("{} uses a member that this plugin does not know", of);
  }
}

Tensor CopyTensor(const assay_tensor_desc* raw, const std::string& op, const char* role, size_t index) {
  if (raw == nullptr || !ASSAY_HAS(raw, flags)) {
    throw Failure(
        "{}: the description of {} {} is NULL or too short; the harness must fill in every member of "
        "assay_tensor_desc",
        op, role, index);
  }
  Tensor tensor{raw->name == nullptr ? fmt::format("{}{}", role, index) : raw->name,
                {raw->type_code, raw->bits},
                {},
                {},
                raw->alias};
  const std::string operand = fmt::format("{}: operand '{}'", op, tensor.name);
  if (raw->flags != 0) throw Unsupported("{}: the flags {:#x} are not known", operand, raw->flags);
  CheckReserved({&raw->reserved, 1}, operand);
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

bool Tensor::IsDense() const {
  int64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0; expected *= shape[axis]) {
    if (shape[axis] > 1 && strides[axis] != expected) return false;
  }
  return true;
}

RowSteps OpDesc::StepsOf(const Tensor& operand) const {
  if (operand.Rank() == 2) return {operand.strides[0], operand.strides[1]};
  if (operand.Rank() == 0) return {};
  if (outputs_[0].Rank() == 2 && AttrString("per") == "row") return {operand.strides[0], 0};
  return {0, operand.strides[0]};
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
  if (raw == nullptr || !ASSAY_HAS(raw, flags) || raw->op == nullptr) {
    throw Failure(
        "the operator description is NULL, too short or without a name; the harness must fill in every "
        "member of assay_op_desc");
  }
  name_ = raw->op;
  if (raw->flags != 0) throw Unsupported("{}: the flags {:#x} are not known", name_, raw->flags);
  inputs_ = CopyTensors(raw->inputs, raw->n_inputs, name_, "input");
  outputs_ = CopyTensors(raw->outputs, raw->n_outputs, name_, "output");
  for (const Tensor& input : inputs_) {
    if (input.alias != 0) throw Unsupported("{}: input '{}' has an alias; outputs alone may", name_, input.name);
  }
  for (const Tensor& output : outputs_) {
    if (output.alias <= inputs_.size()) continue;
    throw Failure("{}: output '{}' lies in input {}; there are {}", name_, output.name, output.alias - 1,
                  inputs_.size());
  }
  if (raw->n_attrs > kMaxAttrs || (raw->n_attrs > 0 && raw->attrs == nullptr)) {
    throw Failure("{}: {} attributes announced; expected at most {} and an array of them", name_, raw->n_attrs,
                  kMaxAttrs);
  }
  for (size_t i = 0; i < raw->n_attrs; ++i) {
    const assay_attr* attr = raw->attrs[i];
    if (attr == nullptr || !ASSAY_HAS(attr, reserved) || attr->key == nullptr) {
      throw Failure("{}: attribute {} is NULL, too short or without a key", name_, i);
    }
    AddAttr(*attr);
  }
}

void OpDesc::AddAttr(const assay_attr& raw) {
  if ((raw.flags & ~ASSAY_ATTR_OPTIONAL) != 0) {
    throw Unsupported("{}: the flags {:#x} of attribute '{}' are not known", name_, raw.flags, raw.key);
  }
  CheckReserved(raw.reserved, fmt::format("{}: attribute '{}'", name_, raw.key));
  const bool is_optional = (raw.flags & ASSAY_ATTR_OPTIONAL) != 0;
  std::optional<Value> value = ReadValue(raw);
  if (!value && is_optional) return;  // a newer host's
  if (!value) throw Unsupported("{}: attribute '{}' has the unknown type {}", name_, raw.key, raw.type);
  attrs_[raw.key] = {*std::move(value), is_optional};
}

// Nothing: its type is not known.
std::optional<OpDesc::Value> OpDesc::ReadValue(const assay_attr& raw) const {
  const auto need = [&](bool there, const char* what) {
    if (!there) throw Failure("{}: attribute '{}' has no {}", name_, raw.key, what);
  };
  switch (raw.type) {
    case ASSAY_ATTR_INT:
      return raw.i;
    case ASSAY_ATTR_FLOAT:
      return raw.f;
    case ASSAY_ATTR_STRING:
      need(raw.s != nullptr, "text");
      return std::string(raw.s);
    case ASSAY_ATTR_INT_LIST:
      need(raw.ints != nullptr || raw.count == 0, "list of integers");
      return std::vector<int64_t>(raw.ints, raw.ints + raw.count);
    case ASSAY_ATTR_BOOL:
      need(raw.i == 0 || raw.i == 1, "value 0 or 1");
      return raw.i == 1;
    case ASSAY_ATTR_TYPE:
      return DType{raw.type_code, raw.bits};
    case ASSAY_ATTR_FLOAT_LIST:
      need(raw.floats != nullptr || raw.count == 0, "list of numbers");
      return std::vector<double>(raw.floats, raw.floats + raw.count);
    default:
      return std::nullopt;
  }
}

const OpDesc::Value& OpDesc::Find(std::string_view key) const {
  const auto found = attrs_.find(key);
  if (found == attrs_.end()) {
    throw Failure("{}: attribute '{}' is missing; a description carries every attribute, defaults included", name_,
                  key);
  }
  // Only where it changes: a plan that reads its description while it computes may do so on several threads.
  if (!found->second.is_known) found->second.is_known = true;
  return found->second.value;
}

void OpDesc::MayIgnore(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const auto found = attrs_.find(key); found != attrs_.end()) found->second.is_known = true;
  }
}

void OpDesc::RefuseUnknownAttrs() const {
  for (const auto& [key, attr] : attrs_) {
    if (!attr.is_known && !attr.is_optional) throw Unsupported("{}: attribute '{}' is not known", name_, key);
  }
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

bool OpDesc::AttrBool(std::string_view key) const {
  if (const auto* value = std::get_if<bool>(&Find(key))) return *value;
  FailType(key, "a truth value");
}

DType OpDesc::AttrType(std::string_view key) const {
  if (const auto* value = std::get_if<DType>(&Find(key))) return *value;
  FailType(key, "a type");
}

std::vector<double> OpDesc::AttrFloats(std::string_view key) const {
  if (const auto* value = std::get_if<std::vector<double>>(&Find(key))) return *value;
  FailType(key, "a list of numbers");
}

std::string OpDesc::DTypesText() const {
  std::string text;
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const Tensor& tensor : *tensors) text += (text.empty() ? "" : "-") + Name(tensor.dtype);
  }
  return text;
}

}  // namespace plugin

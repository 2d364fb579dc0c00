// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_check/plugin_check_operands.h"

#include <algorithm>
#include <optional>

#include "harness/core/data/type_name.h"

namespace assay::plugin_check {
namespace {

constexpr uint64_t kEdgeBytes = 256;  // before and after each operand

// From the first byte to the end of the last element; strides are not negative here.
uint64_t SpanBytes(const assay_tensor_desc& tensor) {
  uint64_t last = 0;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return 0;
    last += static_cast<uint64_t>((tensor.shape[axis] - 1) * tensor.strides[axis]);
  }
  return (last + 1) * tensor.bits / 8;
}

// Multiples of 1/4 from -2 to 2 (integers: whole ones), exact in every type.
std::vector<unsigned char> SmallNumbers(DType dtype, uint64_t bytes) {
  const auto elements = bytes / static_cast<uint64_t>(SizeOf(dtype));
  std::vector<double> values(elements * (IsComplex(dtype) ? 2 : 1));
  for (size_t i = 0; i < values.size(); ++i) {
    const double quarters = static_cast<double>(i * 7 % 17) - 8;
    values[i] = IsInt(dtype) ? static_cast<double>(i % 2) : quarters / 4;
  }
  std::vector<unsigned char> storage(bytes);
  FromF64(dtype, values, storage.data());
  return storage;
}

}  // namespace

DescriptionCopy::DescriptionCopy(const assay_op_desc& from, Caller caller)
    : caller_(caller), op_(from, Announced(sizeof from)) {
  for (uint64_t i = 0; i < from.n_inputs; ++i) inputs_.push_back(Copy(*from.inputs[i]));
  for (uint64_t i = 0; i < from.n_outputs; ++i) outputs_.push_back(Copy(*from.outputs[i]));
  for (uint64_t i = 0; i < from.n_attrs; ++i) attr_pointers_.push_back(Copy(*from.attrs[i]));
  PointToCopies();
}

const assay_tensor_desc* DescriptionCopy::Copy(const assay_tensor_desc& from) {
  return tensors_.emplace_back(from, Announced(sizeof from)).get();
}

const assay_attr* DescriptionCopy::Copy(const assay_attr& from) {
  return attrs_.emplace_back(from, Announced(sizeof from)).get();
}

void DescriptionCopy::PointToCopies() {
  op().inputs = inputs_.data();
  op().outputs = outputs_.data();
  op().attrs = attr_pointers_.data();
  op().n_attrs = attr_pointers_.size();
}

void DescriptionCopy::AddOutput() {
  assay_tensor_desc output = *outputs_.back();
  output.name = "assay_unknown_output";
  output.alias = 0;
  outputs_.push_back(Copy(output));
  op().n_outputs = outputs_.size();
  PointToCopies();
}

void DescriptionCopy::AddAttr(const char* key, int64_t value, uint32_t flags) {
  assay_attr attr{};
  attr.flags = flags;
  attr.key = key;
  attr.type = ASSAY_ATTR_INT;
  attr.i = value;
  attr.s = "";
  attr_pointers_.push_back(Copy(attr));
  PointToCopies();
}

assay_attr* DescriptionCopy::FirstAttr() {
  return attrs_.empty() ? nullptr : attrs_.front().get();
}

Operands::~Operands() {
  for (const assay_tensor_arg& arg : storage_) {
    if (arg.buffer != nullptr) plugin_->api->buffer_free(plugin_->device, arg.buffer);
  }
}

Finding Operands::Add(const assay_tensor_desc& tensor) {
  const uint64_t bytes = (SpanBytes(tensor) + 2 * kEdgeBytes + 15) / 16 * 16;
  assay_tensor_arg& arg = storage_.emplace_back(assay_tensor_arg{sizeof arg, nullptr, kEdgeBytes});
  sizes_.push_back(bytes);
  pointers_.push_back(&arg);
  ErrorText error;
  const assay_status status = plugin_->api->buffer_alloc(plugin_->device, bytes, &arg.buffer, error.out());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("buffer_alloc", status, error));
  if (arg.buffer == nullptr) return Bad("buffer_alloc of {} bytes returned ASSAY_OK and a NULL buffer", bytes);
  return Fill(tensor, sizes_.size() - 1);
}

Finding Operands::Fill(const assay_tensor_desc& tensor, size_t operand) const {
  const std::optional<DType> dtype = FindDLPackType(tensor.type_code, tensor.bits);
  const std::vector<unsigned char> data = SmallNumbers(dtype.value_or(DType::kI8), sizes_[operand]);
  ErrorText error;
  const assay_status status = plugin_->api->buffer_upload(plugin_->device, pointers_[operand]->buffer, 0, data.data(),
                                                          data.size(), error.out());
  return status == ASSAY_OK ? Good("") : Bad("{}", DescribeStatus("buffer_upload", status, error));
}

Finding Operands::IsUnwritten(size_t output, const assay_tensor_desc& tensor, bool* unwritten) const {
  const size_t operand = args_.n_inputs + output;
  const std::vector<unsigned char> before =
      SmallNumbers(FindDLPackType(tensor.type_code, tensor.bits).value_or(DType::kI8), sizes_[operand]);
  std::vector<unsigned char> after(sizes_[operand], kUntouched);
  ErrorText error;
  const assay_status status = plugin_->api->buffer_download(plugin_->device, pointers_[operand]->buffer, 0,
                                                            after.data(), after.size(), error.out());
  *unwritten = after == before;
  return status == ASSAY_OK ? Good("") : Bad("{}", DescribeStatus("buffer_download", status, error));
}

Finding Operands::Renew(const assay_op_desc& op) const {
  for (uint64_t i = 0; i < op.n_outputs; ++i) {
    const uint32_t alias = op.outputs[i]->alias;
    if (alias == 0) continue;
    if (Finding filled = Fill(*op.inputs[alias - 1], alias - 1); filled.kind != Finding::Kind::kOk) return filled;
  }
  return Good("");
}

Finding Operands::Make(const assay_op_desc& op) {
  for (uint64_t i = 0; i < op.n_inputs; ++i) {
    if (Finding added = Add(*op.inputs[i]); added.kind != Finding::Kind::kOk) return added;
  }
  for (uint64_t i = 0; i < op.n_outputs; ++i) {
    if (const uint32_t alias = op.outputs[i]->alias; alias > 0) {
      pointers_.push_back(pointers_[alias - 1]);
      sizes_.push_back(sizes_[alias - 1]);
    } else if (Finding added = Add(*op.outputs[i]); added.kind != Finding::Kind::kOk) {
      return added;
    }
  }
  args_ = {sizeof args_, op.n_inputs, pointers_.data(), op.n_outputs, pointers_.data() + op.n_inputs, 0};
  return Good("");
}

Finding Operands::Download(std::vector<unsigned char>& bytes) const {
  bytes.clear();
  for (size_t i = args_.n_inputs; i < pointers_.size(); ++i) {
    const size_t before = bytes.size();
    bytes.resize(before + sizes_[i], kUntouched);
    ErrorText error;
    const assay_status status = plugin_->api->buffer_download(plugin_->device, pointers_[i]->buffer, 0,
                                                              bytes.data() + before, sizes_[i], error.out());
    if (status != ASSAY_OK) return Bad("{}", DescribeStatus("buffer_download", status, error));
  }
  return Good("");
}

Finding Operands::ChangeFirstHalf(const assay_tensor_desc& tensor, size_t input, unsigned char flips) const {
  const uint64_t span = SpanBytes(tensor), element = tensor.bits / 8;
  std::vector<unsigned char> bytes(std::max(element, span / 2));
  ErrorText error;
  assay_buffer* buffer = pointers_[input]->buffer;
  const uint64_t at = pointers_[input]->byte_offset;
  assay_status status =
      plugin_->api->buffer_download(plugin_->device, buffer, at, bytes.data(), bytes.size(), error.out());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("buffer_download", status, error));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(byte ^ flips);
  status = plugin_->api->buffer_upload(plugin_->device, buffer, at, bytes.data(), bytes.size(), error.out());
  return status == ASSAY_OK ? Good("") : Bad("{}", DescribeStatus("buffer_upload", status, error));
}

Finding TestPlan::Create(const assay_op_desc& op, const char* implementation) {
  ErrorText error;
  const assay_status status = plugin_->api->plan_create(plugin_->device, &op, implementation, &plan_, error.out());
  if (status != ASSAY_OK) {
    plan_ = nullptr;
    return Bad("{} {}: {}; query offers it", op.op, implementation, DescribeStatus("plan_create", status, error));
  }
  if (plan_ == nullptr) return Bad("{} {}: plan_create returned ASSAY_OK and a NULL plan", op.op, implementation);
  return Good("");
}

Finding TestPlan::Execute(const Operands& operands) const {
  ErrorText error;
  const assay_status status = plugin_->api->execute(plan_, &operands.args(), error.out());
  return status == ASSAY_OK ? Good("") : Bad("{}", DescribeStatus("execute", status, error));
}

}  // namespace assay::plugin_check

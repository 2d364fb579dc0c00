// SPDX-License-Identifier: Apache-2.0
#include "backends/common/args.h"

#include <unordered_map>
#include <utility>

#include "backends/common/status.h"

namespace plugin {
namespace {

std::vector<Arg> CheckedOperands(const OpDesc& op, const char* role, const std::vector<Tensor>& tensors, uint64_t count,
                                 const assay_tensor_arg* const* raw) {
  if (count != tensors.size() || (raw == nullptr && count > 0)) {
    throw Failure("{}: {} {}s were given, the description has {}", op.name(), raw == nullptr ? 0 : count, role,
                  tensors.size());
  }
  std::vector<Arg> args;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const assay_tensor_arg* arg = raw[i];
    if (arg == nullptr || !ASSAY_HAS(arg, byte_offset) || arg->buffer == nullptr) {
      throw Failure("{}: operand '{}' is NULL, too short or without a buffer", op.name(), tensor.name);
    }
    const Tensor::Extent extent = tensor.ByteExtent();
    const uint64_t before = static_cast<uint64_t>(-extent.first);
    const uint64_t after = static_cast<uint64_t>(extent.last);
    const uint64_t bytes = arg->buffer->bytes;
    if (arg->byte_offset > bytes || before > arg->byte_offset || after > bytes - arg->byte_offset) {
      throw Failure(
          "{}: operand '{}' at byte {} reaches from {} to {} of a buffer of {} bytes; allocate more or move it",
          op.name(), tensor.name, arg->byte_offset, extent.first, extent.last, bytes);
    }
    args.push_back({arg->buffer->buffer.get(), arg->byte_offset});
  }
  return args;
}

}  // namespace

ImplementationList::ImplementationList(std::vector<Implementation> found) : texts_(std::move(found)) {
  raw_.reserve(texts_.size());
  for (const Implementation& text : texts_) {
    raw_.push_back({sizeof(assay_implementation), text.name.c_str(), text.contract.c_str()});
    pointers_.push_back(&raw_.back());
  }
  struct_size = sizeof(assay_implementations);
  count = pointers_.size();
  items = pointers_.data();
}

Args CheckedArgs(const OpDesc& op, const assay_args* raw) {
  if (raw == nullptr || !ASSAY_HAS(raw, flags)) throw Failure("{}: the arguments are NULL or too short", op.name());
  if (raw->flags != 0) throw Unsupported("{}: arguments with flags {:#x} are not known", op.name(), raw->flags);
  Args args{CheckedOperands(op, "input", op.inputs(), raw->n_inputs, raw->inputs),
            CheckedOperands(op, "output", op.outputs(), raw->n_outputs, raw->outputs)};
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const uint32_t alias = op.outputs()[i].alias;
    if (alias == 0) continue;
    const Arg& input = args.inputs[alias - 1];
    if (args.outputs[i].buffer == input.buffer && args.outputs[i].byte_offset == input.byte_offset) continue;
    throw Failure("{}: output '{}' was described to lie in input '{}', but has memory of its own", op.name(),
                  op.outputs()[i].name, op.inputs()[alias - 1].name);
  }
  return args;
}

CheckedBatch::CheckedBatch(const OpDesc& op, const assay_batch* raw) {
  if (raw == nullptr || !ASSAY_HAS(raw, seconds)) throw Failure("{}: the batch is NULL or too short", op.name());
  if (raw->count > 0 && (raw->args == nullptr || raw->seconds == nullptr)) {
    throw Failure("{}: a batch of {} executions without arguments or without room for durations", op.name(),
                  raw->count);
  }
  if (raw->reserved != 0 || (raw->cache != ASSAY_CACHE_WARM && raw->cache != ASSAY_CACHE_COLD)) {
    throw Unsupported("{}: a batch with cache={} and reserved={} is not known", op.name(), raw->cache, raw->reserved);
  }
  std::unordered_map<const assay_args*, const Args*> known;
  for (uint64_t i = 0; i < raw->count; ++i) {
    const Args*& one = known[raw->args[i]];
    if (one == nullptr) one = &args.emplace_back(CheckedArgs(op, raw->args[i]));
    batch.args.push_back(one);
  }
  batch.cold = raw->cache == ASSAY_CACHE_COLD;
  batch.seconds = {raw->seconds, raw->count};
}

void CheckRange(const assay_buffer& buffer, uint64_t offset, uint64_t size, const char* call) {
  if (offset <= buffer.bytes && size <= buffer.bytes - offset) return;
  throw Failure("{}: bytes {} to {}+{} lie outside a buffer of {} bytes", call, offset, offset, size, buffer.bytes);
}

}  // namespace plugin

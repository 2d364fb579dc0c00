// SPDX-License-Identifier: Apache-2.0
#include "backends/common/args.h"

#include "backends/common/status.h"

namespace plugin {
namespace {

std::vector<Arg> CheckedOperands(const OpDesc& op, const std::vector<Tensor>& tensors,
                                 const assay_tensor_arg* const* raw) {
  if (raw == nullptr && !tensors.empty()) throw Failure("{}: the array of operands is NULL", op.name());
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

Args CheckedArgs(const OpDesc& op, const assay_args* raw) {
  if (raw == nullptr || !ASSAY_HAS(raw, outputs)) throw Failure("{}: the arguments are NULL or too short", op.name());
  return {CheckedOperands(op, op.inputs(), raw->inputs), CheckedOperands(op, op.outputs(), raw->outputs)};
}

Timing CheckedTiming(const OpDesc& op, const assay_timing* raw) {
  if (raw == nullptr || !ASSAY_HAS(raw, seconds) || raw->n_sets == 0 || raw->sets == nullptr ||
      (raw->repetitions > 0 && raw->seconds == nullptr)) {
    throw Failure("{}: the timing request is NULL, too short, without sets or without room for durations", op.name());
  }
  Timing timing;
  for (uint64_t i = 0; i < raw->n_sets; ++i) timing.sets.push_back(CheckedArgs(op, raw->sets[i]));
  timing.cold = raw->cache == ASSAY_CACHE_COLD;
  timing.seconds = {raw->seconds, raw->repetitions};
  return timing;
}

void CheckRange(const assay_buffer& buffer, uint64_t offset, uint64_t size, const char* call) {
  if (offset <= buffer.bytes && size <= buffer.bytes - offset) return;
  throw Failure("{}: bytes {} to {}+{} lie outside a buffer of {} bytes", call, offset, offset, size, buffer.bytes);
}

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
// The handles behind the ABI's opaque pointers, and the checked way from the ABI's arguments to Args and Batch.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "backends/common/backend.h"

struct assay_buffer {
  std::unique_ptr<plugin::Buffer> buffer;
  uint64_t bytes = 0;
};

struct assay_plan {
  plugin::OpDesc op;
  std::unique_ptr<plugin::Plan> plan;
  mutable std::optional<plugin::PlanInfo> info;  // once it was asked for
};

struct assay_device {
  std::unique_ptr<plugin::Device> device;
};

namespace plugin {

// Result of query(): the list together with all that it points to.
class ImplementationList : public assay_implementations {
 public:
  explicit ImplementationList(std::vector<Implementation> found);
  ImplementationList(const ImplementationList&) = delete;  // its pointers lead into itself
  ImplementationList& operator=(const ImplementationList&) = delete;

 private:
  std::vector<Implementation> texts_;
  std::vector<assay_implementation> raw_;
  std::vector<const assay_implementation*> pointers_;
};

// Throws Failure naming the operand that is missing or would reach outside its buffer.
Args CheckedArgs(const OpDesc& op, const assay_args* raw);

// A batch with the arguments that it points to.
struct CheckedBatch {
  // Throws Failure where arguments or room for durations are missing.
  CheckedBatch(const OpDesc& op, const assay_batch* raw);
  CheckedBatch(const CheckedBatch&) = delete;  // `batch` points into `args`
  CheckedBatch& operator=(const CheckedBatch&) = delete;

  std::deque<Args> args;
  Batch batch;
};

// Throws Failure unless [offset, offset + size) lies inside the buffer.
void CheckRange(const assay_buffer& buffer, uint64_t offset, uint64_t size, const char* call);

}  // namespace plugin

// SPDX-License-Identifier: Apache-2.0
// The handles behind the ABI's opaque pointers, and the checked way from the ABI's arguments to Args and Timing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "backends/common/backend.h"

struct assay_buffer {
  std::unique_ptr<plugin::Buffer> buffer;
  uint64_t bytes = 0;
};

struct assay_plan {
  plugin::OpDesc op;
  std::unique_ptr<plugin::Plan> plan;
};

// An implementation as the C side sees it; lives until device_close, like its strings.
struct InternedImplementation {
  plugin::Implementation text;
  assay_implementation raw{};
};

struct assay_device {
  std::unique_ptr<plugin::Device> device;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<InternedImplementation>> implementations;
};

namespace plugin {

// Throws Failure naming the operand that is missing or would reach outside its buffer.
Args CheckedArgs(const OpDesc& op, const assay_args* raw);

// Throws Failure when there are no repetitions' slots or no sets.
Timing CheckedTiming(const OpDesc& op, const assay_timing* raw);

// Throws Failure unless [offset, offset + size) lies inside the buffer.
void CheckRange(const assay_buffer& buffer, uint64_t offset, uint64_t size, const char* call);

}  // namespace plugin

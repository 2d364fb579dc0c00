// SPDX-License-Identifier: Apache-2.0
// An implementation as data: the kernels it dispatches one after the other, with their operands and parameters. A new
// kernel is one shader and one function that returns a Recipe.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"
#include "backends/vulkan/pipelines.h"

namespace vulkan {

// The operand or work buffer that a storage binding refers to.
struct Slot {
  enum class Kind { kInput, kOutput, kWork } kind = Kind::kInput;
  int index = 0;
};
inline Slot In(int index) {
  return {Slot::Kind::kInput, index};
}
inline Slot Out(int index = 0) {
  return {Slot::Kind::kOutput, index};
}
inline Slot Work(int index) {
  return {Slot::Kind::kWork, index};
}

struct Step {
  KernelSpec kernel;
  std::vector<std::byte> params;  // binding 0, in std140 layout
  std::vector<Slot> slots;        // bindings 1, 2, ...
  uint64_t groups = 1;            // workgroups, in one dimension
  uint64_t turns = 0;             // at most, of all loops of an invocation: see Turns()
};

// Turns of a loop over `count` whose body takes `body` turns in loops of its own. One more turn finds that the loop is
// over.
constexpr uint64_t Turns(uint64_t count, uint64_t body = 0) {
  return count * (body + 1) + 1;
}

// A buffer of the plan's own: room for intermediate results, or a table.
struct WorkBuffer {
  uint64_t bytes = 0;
  std::vector<std::byte> table;  // its contents, when it is a table
};

struct Recipe {
  std::vector<Step> steps;
  std::vector<WorkBuffer> work;
};

template <class T>
std::vector<std::byte> BytesOf(const T& params) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::byte> bytes(sizeof params);
  std::memcpy(bytes.data(), &params, sizeof params);
  return bytes;
}

constexpr uint64_t kMostHalvings = 10;  // of the lanes of a workgroup

inline uint64_t CeilDiv(int64_t n, int64_t unit) {
  return static_cast<uint64_t>((n + unit - 1) / unit);
}

// Must match the TYPE_ constants in shaders/types.glsl.
uint32_t TypeCode(plugin::DType dtype);
// The module variant that computes `op`.
Variant VariantFor(const plugin::OpDesc& op);
// Constants 0 to kStorageBindings: the workgroup's size and the operands' types, in the order of the bindings.
std::vector<uint32_t> Constants(uint32_t group_size, std::initializer_list<plugin::DType> types,
                                std::initializer_list<uint32_t> more = {});

}  // namespace vulkan

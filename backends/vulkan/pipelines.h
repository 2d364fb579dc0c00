// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of one device. All share one layout: binding 0 holds the parameters of a step, bindings 1 to
// kStorageBindings its operands.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/vulkan/context.h"
#include "backends/vulkan/shaders.h"

namespace vulkan {

struct KernelSpec {
  std::string shader;
  Variant variant = Variant::kF32;
  std::vector<uint32_t> constants;  // of ids 0, 1, ...: id 0 is the size of the workgroup
  bool full_subgroups = false;      // every lane of a subgroup exists, and their number is Facts::subgroup_size
  friend auto operator<=>(const KernelSpec&, const KernelSpec&) = default;
};

// Pushed before each dispatch.
struct PushConstants {
  uint32_t base[kStorageBindings] = {};  // of each operand, in elements from the start of its binding
  uint32_t groups = 0;                   // workgroups that have work; the grid may be larger
};

class Pipelines {
 public:
  explicit Pipelines(Context& context);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;  // owns the pipelines
  Pipelines& operator=(const Pipelines&) = delete;

  // In the order of `specs`. What is asked for the first time is compiled, several at once on the host's cores. Throws
  // Failure naming the shader when the driver refuses one.
  std::vector<VkPipeline> Get(const std::vector<KernelSpec>& specs);
  // Whether pipelines were compiled since the last call.
  bool TakeFresh() { return std::exchange(fresh_, false); }
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }

 private:
  void Compile(const std::vector<KernelSpec>& specs);
  VkPipeline Create(const KernelSpec& spec) const;
  void Store();
  void Destroy();

  Context& context_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::map<KernelSpec, VkPipeline> pipelines_;
  bool fresh_ = false, unstored_ = false;
  std::chrono::steady_clock::time_point stored_at_{};
};

}  // namespace vulkan

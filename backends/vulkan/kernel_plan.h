// SPDX-License-Identifier: Apache-2.0
// A recipe that is ready to run: pipelines, parameters, workspace and descriptor sets.
#pragma once

#include <memory>
#include <vector>

#include "backends/vulkan/memory.h"
#include "backends/vulkan/recipe.h"

namespace vulkan {

class KernelPlan : public plugin::Plan {
 public:
  KernelPlan(Context& context, Pipelines& pipelines, const plugin::OpDesc& op, Recipe recipe);
  ~KernelPlan() override;
  KernelPlan(const KernelPlan&) = delete;  // owns a descriptor pool
  KernelPlan& operator=(const KernelPlan&) = delete;

  void Execute(const plugin::Args& args) override;
  // By the device's clock where it has one.
  void ExecuteBatch(plugin::Batch& batch) override;
  plugin::PlanInfo Info() const override;

 private:
  struct Prepared {
    VkPipeline pipeline;
    VkDescriptorSet set;
    uint64_t params_offset;
  };
  struct Binding {
    VkDescriptorBufferInfo range;
    uint32_t base;
  };

  void MakeWork();
  void MakeParams();
  void MakeSets();
  // Dispatches every step once without work: some drivers compile no earlier than that, and it is preparation.
  void WarmUp();
  void WriteSet(size_t step, const std::vector<VkDescriptorBufferInfo>& operands) const;
  // Writes the descriptor sets; returns what each step pushes.
  std::vector<PushConstants> Bind(const plugin::Args& args);
  Binding BindingOf(const plugin::Arg& arg, const plugin::Tensor& tensor) const;
  Binding BindingOf(const Slot& slot, const plugin::Args& args) const;
  void Record(VkCommandBuffer commands, const std::vector<PushConstants>& pushes) const;
  void Flush();

  Context& context_;
  Pipelines& pipelines_;
  const std::vector<plugin::Tensor> inputs_, outputs_;
  const Recipe recipe_;
  std::vector<std::unique_ptr<DeviceBuffer>> work_;
  std::unique_ptr<DeviceBuffer> params_, flusher_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<Prepared> prepared_;
};

}  // namespace vulkan

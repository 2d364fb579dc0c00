// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/kernel_plan.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "backends/common/host.h"

namespace vulkan {
namespace {

uint64_t RoundUp(uint64_t n, uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// A grid of at least `groups` workgroups within the device's limits per dimension.
std::array<uint32_t, 2> GridOf(uint64_t groups, const VkPhysicalDeviceLimits& limits) {
  const uint64_t rows = (groups + limits.maxComputeWorkGroupCount[0] - 1) / limits.maxComputeWorkGroupCount[0];
  if (rows > limits.maxComputeWorkGroupCount[1] || groups > UINT32_MAX) {
    throw plugin::Failure("{} workgroups are more than the device dispatches at once", groups);
  }
  return {static_cast<uint32_t>((groups + rows - 1) / std::max<uint64_t>(rows, 1)), static_cast<uint32_t>(rows)};
}

}  // namespace

KernelPlan::KernelPlan(Context& context, Pipelines& pipelines, const plugin::OpDesc& op, Recipe recipe)
    : context_(context),
      pipelines_(pipelines),
      inputs_(op.inputs()),
      outputs_(op.outputs()),
      recipe_(std::move(recipe)) {
  try {
    MakeWork();
    MakeParams();
    MakeSets();
    if (pipelines_.TakeFresh()) WarmUp();
  } catch (...) {
    context_.vk().vkDestroyDescriptorPool(context_.device(), pool_, nullptr);
    throw;
  }
}

KernelPlan::~KernelPlan() {
  context_.vk().vkDestroyDescriptorPool(context_.device(), pool_, nullptr);
}

void KernelPlan::MakeWork() {
  Transfer transfer(context_);
  for (const WorkBuffer& work : recipe_.work) {
    const uint64_t bytes = std::max<uint64_t>(work.bytes, work.table.size());
    work_.push_back(std::make_unique<DeviceBuffer>(context_, bytes, Placement::kDevice));
    transfer.Upload(*work_.back(), 0, work.table);
  }
}

void KernelPlan::MakeParams() {
  const uint64_t unit = std::max<uint64_t>(context_.facts().limits.minUniformBufferOffsetAlignment, 16);
  std::vector<KernelSpec> kernels;
  for (const Step& step : recipe_.steps) {
    GridOf(step.groups, context_.facts().limits);  // refuses what is too large
    kernels.push_back(step.kernel);
  }
  const std::vector<VkPipeline> pipelines = pipelines_.Get(kernels);
  uint64_t bytes = 0;
  for (const Step& step : recipe_.steps) {
    prepared_.push_back({pipelines[prepared_.size()], VK_NULL_HANDLE, bytes});
    bytes += RoundUp(std::max<uint64_t>(step.params.size(), 1), unit);
  }
  params_ = std::make_unique<DeviceBuffer>(context_, bytes, Placement::kMapped);
  for (size_t i = 0; i < prepared_.size(); ++i) {
    std::ranges::copy(recipe_.steps[i].params, params_->mapped() + prepared_[i].params_offset);
  }
}

void KernelPlan::MakeSets() {
  const auto steps = static_cast<uint32_t>(prepared_.size());
  const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, steps},
                                        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, steps * kStorageBindings}};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = steps;
  info.poolSizeCount = 2;
  info.pPoolSizes = sizes;
  Check(context_.vk().vkCreateDescriptorPool(context_.device(), &info, nullptr, &pool_), "creating descriptors");
  const VkDescriptorSetLayout layout = pipelines_.set_layout();
  for (Prepared& prepared : prepared_) {
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool_;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    Check(context_.vk().vkAllocateDescriptorSets(context_.device(), &allocate, &prepared.set), "creating descriptors");
  }
}

// From the last place that a binding may start at, with the rest as an offset in elements.
KernelPlan::Binding KernelPlan::BindingOf(const plugin::Arg& arg, const plugin::Tensor& tensor) const {
  const auto& buffer = static_cast<const DeviceBuffer&>(*arg.buffer);
  const plugin::Tensor::Extent extent = tensor.ByteExtent();
  const uint64_t unit = std::max<uint64_t>(context_.facts().limits.minStorageBufferOffsetAlignment, 4);
  const uint64_t first = arg.byte_offset + static_cast<uint64_t>(extent.first);
  const uint64_t start = first / unit * unit;
  const uint64_t end = std::min(RoundUp(arg.byte_offset + static_cast<uint64_t>(extent.last), 4), buffer.bytes());
  const auto element = static_cast<uint64_t>(plugin::Bytes(tensor.dtype));
  if ((arg.byte_offset - start) % element != 0) {
    throw plugin::Failure("operand '{}' at byte {} is not aligned to its elements of {} bytes; move it", tensor.name,
                          arg.byte_offset, element);
  }
  return {{buffer.handle(), start, std::max<uint64_t>(end - start, 4)},
          static_cast<uint32_t>((arg.byte_offset - start) / element)};
}

KernelPlan::Binding KernelPlan::BindingOf(const Slot& slot, const plugin::Args& args) const {
  const auto at = static_cast<size_t>(slot.index);
  if (slot.kind == Slot::Kind::kInput) return BindingOf(args.inputs[at], inputs_[at]);
  if (slot.kind == Slot::Kind::kOutput) return BindingOf(args.outputs[at], outputs_[at]);
  return {{work_[at]->handle(), 0, work_[at]->bytes()}, 0};
}

void KernelPlan::WriteSet(size_t step, const std::vector<VkDescriptorBufferInfo>& operands) const {
  const VkDescriptorBufferInfo params{params_->handle(), prepared_[step].params_offset,
                                      std::max<uint64_t>(recipe_.steps[step].params.size(), 16)};
  std::vector<VkWriteDescriptorSet> writes;
  for (uint32_t binding = 0; binding <= operands.size(); ++binding) {
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = prepared_[step].set;
    write.dstBinding = binding;
    write.descriptorCount = 1;
    write.descriptorType = binding == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = binding == 0 ? &params : &operands[binding - 1];
    writes.push_back(write);
  }
  context_.vk().vkUpdateDescriptorSets(context_.device(), static_cast<uint32_t>(writes.size()), writes.data(), 0,
                                       nullptr);
}

void KernelPlan::WarmUp() {
  const VkDescriptorBufferInfo anything{params_->handle(), 0, params_->bytes()};
  for (size_t i = 0; i < prepared_.size(); ++i) {
    WriteSet(i, std::vector<VkDescriptorBufferInfo>(recipe_.steps[i].slots.size(), anything));
  }
  const std::vector<PushConstants> nothing(prepared_.size());
  context_.Run([&](VkCommandBuffer commands) { Record(commands, nothing); });
}

std::vector<PushConstants> KernelPlan::Bind(const plugin::Args& args) {
  std::vector<PushConstants> pushes;
  for (size_t i = 0; i < prepared_.size(); ++i) {
    const Step& step = recipe_.steps[i];
    PushConstants push;
    std::vector<VkDescriptorBufferInfo> operands;
    for (const Slot& slot : step.slots) {
      const Binding binding = BindingOf(slot, args);
      push.base[operands.size()] = binding.base;
      operands.push_back(binding.range);
    }
    push.groups = static_cast<uint32_t>(step.groups);
    pushes.push_back(push);
    WriteSet(i, operands);
  }
  return pushes;
}

void KernelPlan::Record(VkCommandBuffer commands, const std::vector<PushConstants>& pushes) const {
  const DeviceFunctions& vk = context_.vk();
  for (size_t i = 0; i < prepared_.size(); ++i) {
    if (i > 0) {
      context_.Barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    }
    const auto [x, y] = GridOf(std::max(pushes[i].groups, 1u), context_.facts().limits);
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, prepared_[i].pipeline);
    vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines_.layout(), 0, 1, &prepared_[i].set,
                               0, nullptr);
    vk.vkCmdPushConstants(commands, pipelines_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants),
                          &pushes[i]);
    vk.vkCmdDispatch(commands, x, y, 1);
  }
}

void KernelPlan::Execute(const plugin::Args& args) {
  const std::vector<PushConstants> pushes = Bind(args);
  context_.Run([&](VkCommandBuffer commands) { Record(commands, pushes); });
}

// Vulkan does not tell the size of caches: more than the largest in use, or a share of a small memory.
void KernelPlan::Flush() {
  if (flusher_ == nullptr) {
    const uint64_t bytes = std::max(uint64_t{256} << 20, 2 * plugin::LastLevelCacheBytes());
    flusher_ = std::make_unique<DeviceBuffer>(context_, std::min(bytes, context_.facts().memory_bytes / 4),
                                              Placement::kDevice);
  }
  context_.Run([&](VkCommandBuffer commands) {
    context_.vk().vkCmdFillBuffer(commands, flusher_->handle(), 0, VK_WHOLE_SIZE, 1);
  });
}

plugin::PlanInfo KernelPlan::Info() const {
  plugin::PlanInfo info;
  for (const auto& work : work_) info.workspace_bytes += work->bytes();
  for (const Step& step : recipe_.steps) info.kernel += (info.kernel.empty() ? "" : ",") + step.kernel.shader;
  return info;
}

void KernelPlan::ExecuteBatch(plugin::Batch& batch) {
  using Clock = std::chrono::steady_clock;
  batch.clock_is_device = !batch.args.empty();
  for (size_t i = 0; i < batch.args.size(); ++i) {
    const std::vector<PushConstants> pushes = Bind(*batch.args[i]);
    if (batch.cold) Flush();
    const auto begin = Clock::now();
    const auto device_s = context_.RunTimed([&](VkCommandBuffer commands) { Record(commands, pushes); });
    const double host_s = std::chrono::duration<double>(Clock::now() - begin).count();
    batch.seconds[i] = device_s.value_or(host_s);
    batch.clock_is_device = batch.clock_is_device && device_s.has_value();
  }
  batch.cache_was_flushed = batch.cold && !batch.args.empty();
}

}  // namespace vulkan

// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/pipelines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <set>
#include <thread>

#include "backends/vulkan/float_modes.h"
#include "backends/vulkan/pipeline_store.h"

namespace vulkan {

Pipelines::Pipelines(Context& context) : context_(context) {
  try {
    std::array<VkDescriptorSetLayoutBinding, kStorageBindings + 1> bindings{};
    for (uint32_t i = 0; i < bindings.size(); ++i) {
      const auto type = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      bindings[i] = {i, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    }
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = static_cast<uint32_t>(bindings.size());
    set.pBindings = bindings.data();
    Check(context.vk().vkCreateDescriptorSetLayout(context.device(), &set, nullptr, &set_layout_), "creating a layout");
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(PushConstants)};
    VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &push;
    Check(context.vk().vkCreatePipelineLayout(context.device(), &layout, nullptr, &layout_), "creating a layout");

    const std::vector<std::byte> stored = LoadPipelineData(context.facts());
    VkPipelineCacheCreateInfo cache{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    cache.initialDataSize = stored.size();
    cache.pInitialData = stored.data();
    Check(context.vk().vkCreatePipelineCache(context.device(), &cache, nullptr, &cache_), "creating a pipeline cache");
  } catch (...) {
    Destroy();
    throw;
  }
}

Pipelines::~Pipelines() {
  try {
    if (unstored_) Store();
  } catch (const std::exception&) {  // no memory for the copy: the next run compiles again
  }
  Destroy();
}

void Pipelines::Destroy() {
  const DeviceFunctions& vk = context_.vk();
  for (const auto& [spec, pipeline] : pipelines_) vk.vkDestroyPipeline(context_.device(), pipeline, nullptr);
  vk.vkDestroyPipelineCache(context_.device(), cache_, nullptr);
  vk.vkDestroyPipelineLayout(context_.device(), layout_, nullptr);
  vk.vkDestroyDescriptorSetLayout(context_.device(), set_layout_, nullptr);
}

std::vector<VkPipeline> Pipelines::Get(const std::vector<KernelSpec>& specs) {
  std::set<KernelSpec> missing;
  for (const KernelSpec& spec : specs) {
    if (pipelines_.count(spec) == 0) missing.insert(spec);
  }
  if (!missing.empty()) Compile({missing.begin(), missing.end()});
  std::vector<VkPipeline> pipelines;
  for (const KernelSpec& spec : specs) pipelines.push_back(pipelines_.at(spec));
  return pipelines;
}

void Pipelines::Compile(const std::vector<KernelSpec>& specs) {
  std::vector<VkPipeline> made(specs.size(), VK_NULL_HANDLE);
  std::vector<std::exception_ptr> problems(specs.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < specs.size(); i = next++) {
      try {
        made[i] = Create(specs[i]);
      } catch (...) {
        problems[i] = std::current_exception();
      }
    }
  };
  const size_t others = std::min<size_t>(specs.size(), std::max(1u, std::thread::hardware_concurrency())) - 1;
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < others; ++i) threads.emplace_back(work);
    work();
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (made[i] != VK_NULL_HANDLE) pipelines_.emplace(specs[i], made[i]);
  }
  fresh_ = unstored_ = true;
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
  // Now and then, not at the end alone: a worker may be ended at any time.
  constexpr std::chrono::seconds kPause{2};
  if (std::chrono::steady_clock::now() - stored_at_ >= kPause) Store();
}

void Pipelines::Store() {
  StorePipelineData(context_, cache_);
  unstored_ = false;
  stored_at_ = std::chrono::steady_clock::now();
}

VkPipeline Pipelines::Create(const KernelSpec& spec) const {
  const DeviceFunctions& vk = context_.vk();
  const bool wide = spec.variant == Variant::kF64;
  const std::vector<uint32_t> code =
      WithFloatModes(ShaderCode(spec.shader, spec.variant), context_.facts().Controls(wide), wide ? 64 : 32);
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = code.size() * sizeof(uint32_t);
  module_info.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = vk.vkCreateShaderModule(context_.device(), &module_info, nullptr, &module);
  if (result != VK_SUCCESS) throw ErrorOf(result, fmt::format("loading the shader {}", spec.shader));

  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t id = 0; id < spec.constants.size(); ++id) entries.push_back({id, 4 * id, 4});
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       spec.constants.size() * sizeof(uint32_t), spec.constants.data()};
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
  size.requiredSubgroupSize = context_.facts().subgroup_size;
  if (spec.full_subgroups) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    if (context_.facts().subgroup_size_control) info.stage.pNext = &size;
  }
  info.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  result = vk.vkCreateComputePipelines(context_.device(), cache_, 1, &info, nullptr, &pipeline);
  vk.vkDestroyShaderModule(context_.device(), module, nullptr);
  if (result != VK_SUCCESS) {
    throw ErrorOf(result, fmt::format("compiling the shader {} for {} (another version of the driver {} may do it)",
                                      spec.shader, context_.facts().name, context_.facts().driver));
  }
  return pipeline;
}

}  // namespace vulkan

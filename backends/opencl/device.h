// SPDX-License-Identifier: Apache-2.0
// An opened OpenCL device: one context, one in-order queue with profiling, its compiled programs and its buffers.
#pragma once

#include <memory>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/table.h"
#include "backends/opencl/handle.h"
#include "backends/opencl/program.h"
#include "backends/opencl/traits.h"

namespace opencl {

class DeviceBuffer : public plugin::Buffer {
 public:
  // Throws out of memory above the device's memory and above CL_DEVICE_MAX_MEM_ALLOC_SIZE. Zero bytes become one, since
  // OpenCL has no empty buffer.
  DeviceBuffer(cl_context context, const Traits& traits, uint64_t bytes);
  cl_mem get() const { return memory_.get(); }

 private:
  Handle<cl_mem> memory_;
};

// A transform that VkFFT has compiled, see vkfft.h.
class FftTransform;
using KeptTransforms = std::vector<std::shared_ptr<FftTransform>>;

class Device : public plugin::Device {
 public:
  explicit Device(const Traits& traits);

  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override;
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override;
  std::vector<plugin::Capability> Capabilities() override;
  bool TakesAliases(const plugin::OpDesc& op) override;
  std::unique_ptr<plugin::Buffer> Alloc(uint64_t bytes) override;
  void Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) override;
  void Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) override;

  const Traits& traits() const { return traits_; }
  cl_context context() const { return context_.get(); }
  cl_command_queue queue() const { return queue_.get(); }
  ProgramCache& programs() { return programs_; }
  KeptTransforms& kept_transforms() { return kept_transforms_; }
  // Overwrites twice the device's cache. False when the device reports none.
  bool FlushCache();

 private:
  const Traits traits_;
  Handle<cl_context> context_;
  Handle<cl_command_queue> queue_;
  ProgramCache programs_;
  KeptTransforms kept_transforms_;
  plugin::TriedPlans tried_;
  std::unique_ptr<DeviceBuffer> flush_;  // allocated at the first use
};

}  // namespace opencl

// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device.h"

#include "backends/common/status.h"

namespace opencl {
namespace {

Handle<cl_context> MakeContext(const Traits& traits) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(traits.platform), 0};
  cl_int status = CL_SUCCESS;
  Handle<cl_context> context(clCreateContext(properties, 1, &traits.id, nullptr, nullptr, &status));
  Check(status, "clCreateContext");
  return context;
}

Handle<cl_command_queue> MakeQueue(cl_context context, cl_device_id id) {
  cl_int status = CL_SUCCESS;
  Handle<cl_command_queue> queue(clCreateCommandQueue(context, id, CL_QUEUE_PROFILING_ENABLE, &status));
  Check(status, "clCreateCommandQueue");
  return queue;
}

cl_mem Memory(const plugin::Buffer& buffer) {
  return static_cast<const DeviceBuffer&>(buffer).get();
}

}  // namespace

DeviceBuffer::DeviceBuffer(cl_context context, const Traits& traits, uint64_t bytes) {
  if (bytes > traits.memory_bytes) {
    throw plugin::Error(ASSAY_OUT_OF_MEMORY, fmt::format("a buffer of {} bytes exceeds the memory of {}, {} bytes",
                                                         bytes, traits.name, traits.memory_bytes));
  }
  if (bytes > traits.max_alloc_bytes) {
    throw plugin::Error(ASSAY_OUT_OF_MEMORY,
                        fmt::format("a buffer of {} bytes exceeds CL_DEVICE_MAX_MEM_ALLOC_SIZE of {}, {} bytes", bytes,
                                    traits.name, traits.max_alloc_bytes));
  }
  cl_int status = CL_SUCCESS;
  memory_ = Handle<cl_mem>(clCreateBuffer(context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 1, nullptr, &status));
  Check(status, "clCreateBuffer");
}

Device::Device(const Traits& traits)
    : traits_(traits),
      context_(MakeContext(traits_)),
      queue_(MakeQueue(context_.get(), traits_.id)),
      programs_(context_.get(), traits_) {}

std::unique_ptr<plugin::Buffer> Device::Alloc(uint64_t bytes) {
  return std::make_unique<DeviceBuffer>(context(), traits_, bytes);
}

void Device::Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  Check(clEnqueueWriteBuffer(queue(), Memory(buffer), CL_TRUE, offset, bytes.size(), bytes.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void Device::Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  Check(clEnqueueReadBuffer(queue(), Memory(buffer), CL_TRUE, offset, bytes.size(), bytes.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

bool Device::FlushCache() {
  if (traits_.cache_bytes == 0) return false;
  const uint64_t bytes = std::min(2 * traits_.cache_bytes, traits_.max_alloc_bytes) / sizeof(cl_uint) * sizeof(cl_uint);
  if (flush_ == nullptr) flush_ = std::make_unique<DeviceBuffer>(context(), traits_, bytes);
  const cl_uint pattern = 0;
  Check(clEnqueueFillBuffer(queue(), flush_->get(), &pattern, sizeof pattern, 0, bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  Check(clFinish(queue()), "clFinish");
  return true;
}

}  // namespace opencl

// SPDX-License-Identifier: Apache-2.0
// A library that writes beside a workspace of the OpenCL plugin: this program's own functions stand before those of
// OpenCL when the plugin is loaded, remember the allocation around a workspace and change a byte of it after a kernel.
#include <CL/cl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/unit/backends/fft_case.h"

namespace {

cl_mem whole = nullptr;               // the allocation that a workspace is a part of
cl_buffer_region workspace{};         // where in it
constexpr cl_uint kBaseAlign = 8192;  // in bytes: what the device is made to ask for, more than a zone of canaries
int64_t stray_at = 0;                 // from the workspace's end; negative: from its first byte; 0: nowhere

template <class Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void WriteBeside(cl_command_queue queue) {
  const size_t from = stray_at < 0 ? workspace.origin : workspace.origin + workspace.size - 1;
  const auto at = static_cast<size_t>(static_cast<int64_t>(from) + stray_at);
  const char byte = 0;
  clEnqueueWriteBuffer(queue, whole, CL_TRUE, at, 1, &byte, 0, nullptr, nullptr);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void* info,
                         cl_int* status) {
  whole = buffer;
  workspace = *static_cast<const cl_buffer_region*>(info);
  return Real<decltype(clCreateSubBuffer)>("clCreateSubBuffer")(buffer, flags, type, info, status);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void* value, size_t* size) {
  const cl_int status = Real<decltype(clGetDeviceInfo)>("clGetDeviceInfo")(device, what, bytes, value, size);
  if (what == CL_DEVICE_MEM_BASE_ADDR_ALIGN && value != nullptr) *static_cast<cl_uint*>(value) = 8 * kBaseAlign;
  return status;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* events,
                              cl_event* event) {
  static const auto real = Real<decltype(clEnqueueNDRangeKernel)>("clEnqueueNDRangeKernel");
  const cl_int status = real(queue, kernel, axes, offset, global, local, count, events, event);
  if (stray_at != 0) WriteBeside(queue);
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

namespace plugin_test {
namespace {

TEST(OpenClStrayWrite, IsNamed) {
  if (!HasDevice(ASSAY_OPENCL_PLUGIN)) GTEST_SKIP() << "no OpenCL device";
  Plugin& plugin = PluginAt(ASSAY_OPENCL_PLUGIN);
  const FftArgs fft{.kind = "r2c", .n = {16}};
  Op op = fft.Description();
  const auto found = plugin.Offered(op);
  ASSERT_FALSE(found.empty());
  const auto error = [&](int64_t at) {
    stray_at = at;
    return plugin.TryRun(op, found[0].name, RandomInputs(op));
  };
  EXPECT_EQ(error(0), "");
  EXPECT_NE(whole, nullptr) << "no workspace";
  EXPECT_EQ(workspace.origin % kBaseAlign, 0u);
  for (const int64_t at : {1, 4096, -1, -4096}) {
    const std::string text = error(at);
    EXPECT_NE(text.find("VkFFT "), std::string::npos) << text;
    EXPECT_NE(text.find("1 bytes changed"), std::string::npos) << text;
  }
  EXPECT_EQ(error(0), "");
}

}  // namespace
}  // namespace plugin_test

// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/handle.h"

#include "backends/common/status.h"

namespace opencl {
namespace {

constexpr std::pair<cl_int, const char*> kStatusNames[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
};

}  // namespace

const char* StatusName(cl_int status) {
  for (const auto& [code, name] : kStatusNames) {
    if (code == status) return name;
  }
  return "an OpenCL error";
}

void Check(cl_int status, const char* call, const char* object) {
  if (status == CL_SUCCESS) return;
  assay_status meaning = ASSAY_ERROR;
  const char* advice = "see the driver's log";
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY ||
      status == CL_INVALID_BUFFER_SIZE) {
    meaning = ASSAY_OUT_OF_MEMORY, advice = "free memory of the device or of the host, or take a smaller case";
  } else if (status == CL_DEVICE_NOT_AVAILABLE || status == CL_INVALID_COMMAND_QUEUE || status == CL_INVALID_CONTEXT) {
    meaning = ASSAY_DEVICE_LOST, advice = "the device is lost: see the driver's log, and whether clinfo still lists it";
  }
  throw plugin::Error(meaning, fmt::format("{}{}{} failed with {} ({}); {}", call, *object != 0 ? " of " : "", object,
                                           StatusName(status), status, advice));
}

}  // namespace opencl

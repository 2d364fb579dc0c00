// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/opencl/kernel_plan.h"

namespace opencl {
namespace {

using plugin::kCanaryBytes;

uint64_t PartBytes(const plugin::Loan& loan) {
  return std::max<uint64_t>(loan.bytes, 1);  // OpenCL has no empty buffer
}

// A part begins at a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN. OpenCL sets it a minimum (128 bytes, a long16) and no
// maximum, so that it may be larger than a zone.
uint64_t Origin(const Traits& traits) {
  const uint64_t align = traits.base_align_bytes;
  return (kCanaryBytes + align - 1) / align * align;
}

}  // namespace

LentBuffer::LentBuffer(Device& device, plugin::Loan loan)
    : device_(device),
      loan_(std::move(loan)),
      origin_(Origin(device.traits())),
      whole_(device.context(), device.traits(), origin_ + PartBytes(loan_) + kCanaryBytes) {
  const cl_buffer_region region{origin_, PartBytes(loan_)};
  cl_int status = CL_SUCCESS;
  part_ = Handle<cl_mem>(
      clCreateSubBuffer(whole_.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
  opencl::Check(status, "clCreateSubBuffer");
  device_.Upload(whole_, origin_ - kCanaryBytes, plugin::Canary());
  device_.Upload(whole_, origin_ + PartBytes(loan_), plugin::Canary());
}

void LentBuffer::Check() {
  std::vector<std::byte> before(kCanaryBytes), behind(kCanaryBytes);
  device_.Download(whole_, origin_ - kCanaryBytes, before);
  device_.Download(whole_, origin_ + PartBytes(loan_), behind);
  plugin::CheckCanaries(loan_, before, behind);
}

}  // namespace opencl

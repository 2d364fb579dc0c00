// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/lent_buffer.h"

#include <algorithm>

namespace opencl {
namespace {

using plugin::kCanaryBytes;

uint64_t PartBytes(const plugin::Loan& loan) {
  return std::max<uint64_t>(loan.bytes, 1);  // OpenCL has no empty buffer
}

}  // namespace

// A part begins where CL_DEVICE_MEM_BASE_ADDR_ALIGN says, at most a page (OpenCL 3.0, 4.2: 128 bytes for long16).
LentBuffer::LentBuffer(Device& device, plugin::Loan loan)
    : device_(device),
      loan_(std::move(loan)),
      whole_(device.context(), device.traits(), PartBytes(loan_) + 2 * kCanaryBytes) {
  const cl_buffer_region region{kCanaryBytes, PartBytes(loan_)};
  cl_int status = CL_SUCCESS;
  part_ = Handle<cl_mem>(
      clCreateSubBuffer(whole_.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
  opencl::Check(status, "clCreateSubBuffer");
  device_.Upload(whole_, 0, plugin::Canary());
  device_.Upload(whole_, kCanaryBytes + PartBytes(loan_), plugin::Canary());
}

void LentBuffer::Check() {
  std::vector<std::byte> before(kCanaryBytes), behind(kCanaryBytes);
  device_.Download(whole_, 0, before);
  device_.Download(whole_, kCanaryBytes + PartBytes(loan_), behind);
  plugin::CheckCanaries(loan_, before, behind);
}

}  // namespace opencl

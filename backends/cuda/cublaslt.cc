// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cublaslt.h"

#include "backends/common/status.h"

namespace cuda_backend {

CublasLt::CublasLt() : Library(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)) {}

const CublasLt& CublasLt::Get() {
  static const CublasLt loaded;
  return loaded;
}

void CublasLt::Check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) throw plugin::Unsupported("{}: not supported by cuBLASLt", call);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) ThrowOutOfMemory(call, "cuBLASLt");
  ThrowFailure(call, fmt::format("{} ({})", StatusString(status), static_cast<int>(status)));
}

}  // namespace cuda_backend

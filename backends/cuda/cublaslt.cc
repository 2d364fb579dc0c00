// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cublaslt.h"

#include "backends/common/status.h"
#include "backends/cuda/library.h"
#include "backends/gpu/runtime.h"

namespace cuda_backend {

const CublasLt& CublasLt::Get() {
  static const CublasLt loaded = [] {
    Library library(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR));
    CublasLt lt;
    library.Bind("cublasLtCreate", lt.Create);
    library.Bind("cublasLtDestroy", lt.Destroy);
    library.Bind("cublasLtGetStatusString", lt.StatusString);
    library.Bind("cublasLtMatmul", lt.Matmul);
    library.Bind("cublasLtMatmulAlgoGetHeuristic", lt.Heuristic);
    library.Bind("cublasLtMatmulDescCreate", lt.DescCreate);
    library.Bind("cublasLtMatmulDescDestroy", lt.DescDestroy);
    library.Bind("cublasLtMatmulDescSetAttribute", lt.DescSet);
    library.Bind("cublasLtMatrixLayoutCreate", lt.LayoutCreate);
    library.Bind("cublasLtMatrixLayoutDestroy", lt.LayoutDestroy);
    library.Bind("cublasLtMatrixLayoutSetAttribute", lt.LayoutSet);
    library.Bind("cublasLtMatmulPreferenceCreate", lt.PreferenceCreate);
    library.Bind("cublasLtMatmulPreferenceDestroy", lt.PreferenceDestroy);
    library.Bind("cublasLtMatmulPreferenceSetAttribute", lt.PreferenceSet);
    lt.why_not = library.why_not();
    return lt;
  }();
  return loaded;
}

void CublasLt::Check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) throw plugin::Unsupported("{}: not supported by cuBLASLt", call);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    throw plugin::Error(ASSAY_OUT_OF_MEMORY,
                        fmt::format("{}: cuBLASLt could not allocate; {}", call, gpu::AdviceFor(2)));
  }
  gpu::CheckLaunch(call);  // a lost device shows as a failure of the library
  throw plugin::Failure("{}: {} ({})", call, StatusString(status), static_cast<int>(status));
}

}  // namespace cuda_backend

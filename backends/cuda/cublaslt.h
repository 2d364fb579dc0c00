// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLASLt that the plugin uses, found at run time.
#pragma once

#include <cublasLt.h>

#include <string>

namespace cuda_backend {

struct CublasLt {
  decltype(cublasLtCreate)* Create = nullptr;
  decltype(cublasLtDestroy)* Destroy = nullptr;
  decltype(cublasLtGetStatusString)* StatusString = nullptr;
  decltype(cublasLtMatmul)* Matmul = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* Heuristic = nullptr;
  decltype(cublasLtMatmulDescCreate)* DescCreate = nullptr;
  decltype(cublasLtMatmulDescDestroy)* DescDestroy = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* DescSet = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* LayoutCreate = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* LayoutDestroy = nullptr;
  decltype(cublasLtMatrixLayoutSetAttribute)* LayoutSet = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* PreferenceCreate = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* PreferenceDestroy = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* PreferenceSet = nullptr;
  std::string why_not;  // "" when all were found

  static const CublasLt& Get();
  // Throws plugin::Error unless success: Unsupported where the library does not offer it.
  void Check(cublasStatus_t status, const char* call) const;
};

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLASLt that the plugin uses, found at run time.
#pragma once

#include <cublasLt.h>

#include "backends/cuda/library.h"

namespace cuda_backend {

struct CublasLt : Library {
  decltype(cublasLtCreate)* Create = Find("cublasLtCreate");
  decltype(cublasLtDestroy)* Destroy = Find("cublasLtDestroy");
  decltype(cublasLtGetStatusString)* StatusString = Find("cublasLtGetStatusString");
  decltype(cublasLtMatmul)* Matmul = Find("cublasLtMatmul");
  decltype(cublasLtMatmulAlgoGetHeuristic)* Heuristic = Find("cublasLtMatmulAlgoGetHeuristic");
  decltype(cublasLtMatmulDescCreate)* DescCreate = Find("cublasLtMatmulDescCreate");
  decltype(cublasLtMatmulDescDestroy)* DescDestroy = Find("cublasLtMatmulDescDestroy");
  decltype(cublasLtMatmulDescSetAttribute)* DescSet = Find("cublasLtMatmulDescSetAttribute");
  decltype(cublasLtMatrixLayoutCreate)* LayoutCreate = Find("cublasLtMatrixLayoutCreate");
  decltype(cublasLtMatrixLayoutDestroy)* LayoutDestroy = Find("cublasLtMatrixLayoutDestroy");
  decltype(cublasLtMatrixLayoutSetAttribute)* LayoutSet = Find("cublasLtMatrixLayoutSetAttribute");
  decltype(cublasLtMatmulPreferenceCreate)* PreferenceCreate = Find("cublasLtMatmulPreferenceCreate");
  decltype(cublasLtMatmulPreferenceDestroy)* PreferenceDestroy = Find("cublasLtMatmulPreferenceDestroy");
  decltype(cublasLtMatmulPreferenceSetAttribute)* PreferenceSet = Find("cublasLtMatmulPreferenceSetAttribute");

  CublasLt();
  static const CublasLt& Get();
  // Throws plugin::Error unless success: Unsupported where the library does not offer it.
  void Check(cublasStatus_t status, const char* call) const;
};

}  // namespace cuda_backend

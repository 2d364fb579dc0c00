// SPDX-License-Identifier: Apache-2.0
// The functions of cuDNN that the plugin uses, found at run time: convolution as the library names its algorithms, and
// the graph API.
#pragma once

#include <cudnn.h>

#include <string>

#include "backends/common/dtype.h"

namespace cuda_backend {

struct Cudnn {
  decltype(cudnnCreate)* Create = nullptr;
  decltype(cudnnDestroy)* Destroy = nullptr;
  decltype(cudnnSetStream)* SetStream = nullptr;
  decltype(cudnnGetErrorString)* ErrorString = nullptr;
  decltype(cudnnCreateTensorDescriptor)* TensorCreate = nullptr;
  decltype(cudnnDestroyTensorDescriptor)* TensorDestroy = nullptr;
  decltype(cudnnSetTensorNdDescriptor)* TensorSet = nullptr;
  decltype(cudnnCreateFilterDescriptor)* FilterCreate = nullptr;
  decltype(cudnnDestroyFilterDescriptor)* FilterDestroy = nullptr;
  decltype(cudnnSetFilterNdDescriptor)* FilterSet = nullptr;
  decltype(cudnnCreateConvolutionDescriptor)* ConvCreate = nullptr;
  decltype(cudnnDestroyConvolutionDescriptor)* ConvDestroy = nullptr;
  decltype(cudnnSetConvolutionNdDescriptor)* ConvSet = nullptr;
  decltype(cudnnSetConvolutionGroupCount)* ConvSetGroups = nullptr;
  decltype(cudnnSetConvolutionMathType)* ConvSetMath = nullptr;
  decltype(cudnnGetConvolutionForwardWorkspaceSize)* ConvWorkspace = nullptr;
  decltype(cudnnConvolutionForward)* ConvForward = nullptr;
  decltype(cudnnBackendCreateDescriptor)* BackendCreate = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* BackendDestroy = nullptr;
  decltype(cudnnBackendSetAttribute)* BackendSet = nullptr;
  decltype(cudnnBackendGetAttribute)* BackendGet = nullptr;
  decltype(cudnnBackendFinalize)* BackendFinalize = nullptr;
  decltype(cudnnBackendExecute)* BackendExecute = nullptr;
  std::string why_not;  // "" when all were found

  static const Cudnn& Get();
  // Throws plugin::Error unless success: Unsupported where the library does not offer it.
  static void Check(cudnnStatus_t status, const char* call);
};

// An owned handle on a stream.
class CudnnHandle {
 public:
  explicit CudnnHandle(void* stream);
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  ~CudnnHandle();
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

// Of f64, f32, f16 and bf16.
cudnnDataType_t CudnnType(plugin::DType dtype);

}  // namespace cuda_backend

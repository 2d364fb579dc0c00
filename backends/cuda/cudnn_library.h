// SPDX-License-Identifier: Apache-2.0
// The functions of cuDNN that the plugin uses, found at run time: convolution as the library names its algorithms, and
// the graph API.
#pragma once

#include <cudnn.h>

#include "backends/common/dtype.h"
#include "backends/cuda/library.h"

namespace cuda_backend {

struct Cudnn : Library {
  decltype(cudnnCreate)* Create = Find("cudnnCreate");
  decltype(cudnnDestroy)* Destroy = Find("cudnnDestroy");
  decltype(cudnnSetStream)* SetStream = Find("cudnnSetStream");
  decltype(cudnnGetErrorString)* ErrorString = Find("cudnnGetErrorString");
  decltype(cudnnCreateTensorDescriptor)* TensorCreate = Find("cudnnCreateTensorDescriptor");
  decltype(cudnnDestroyTensorDescriptor)* TensorDestroy = Find("cudnnDestroyTensorDescriptor");
  decltype(cudnnSetTensorNdDescriptor)* TensorSet = Find("cudnnSetTensorNdDescriptor");
  decltype(cudnnCreateFilterDescriptor)* FilterCreate = Find("cudnnCreateFilterDescriptor");
  decltype(cudnnDestroyFilterDescriptor)* FilterDestroy = Find("cudnnDestroyFilterDescriptor");
  decltype(cudnnSetFilterNdDescriptor)* FilterSet = Find("cudnnSetFilterNdDescriptor");
  decltype(cudnnCreateConvolutionDescriptor)* ConvCreate = Find("cudnnCreateConvolutionDescriptor");
  decltype(cudnnDestroyConvolutionDescriptor)* ConvDestroy = Find("cudnnDestroyConvolutionDescriptor");
  decltype(cudnnSetConvolutionNdDescriptor)* ConvSet = Find("cudnnSetConvolutionNdDescriptor");
  decltype(cudnnSetConvolutionGroupCount)* ConvSetGroups = Find("cudnnSetConvolutionGroupCount");
  decltype(cudnnSetConvolutionMathType)* ConvSetMath = Find("cudnnSetConvolutionMathType");
  decltype(cudnnGetConvolutionForwardWorkspaceSize)* ConvWorkspace = Find("cudnnGetConvolutionForwardWorkspaceSize");
  decltype(cudnnConvolutionForward)* ConvForward = Find("cudnnConvolutionForward");
  decltype(cudnnConvolutionBiasActivationForward)* ConvBiasForward = Find("cudnnConvolutionBiasActivationForward");
  decltype(cudnnCreateActivationDescriptor)* ActivationCreate = Find("cudnnCreateActivationDescriptor");
  decltype(cudnnDestroyActivationDescriptor)* ActivationDestroy = Find("cudnnDestroyActivationDescriptor");
  decltype(cudnnSetActivationDescriptor)* ActivationSet = Find("cudnnSetActivationDescriptor");
  decltype(cudnnAddTensor)* AddTensor = Find("cudnnAddTensor");
  decltype(cudnnBackendCreateDescriptor)* BackendCreate = Find("cudnnBackendCreateDescriptor");
  decltype(cudnnBackendDestroyDescriptor)* BackendDestroy = Find("cudnnBackendDestroyDescriptor");
  decltype(cudnnBackendSetAttribute)* BackendSet = Find("cudnnBackendSetAttribute");
  decltype(cudnnBackendGetAttribute)* BackendGet = Find("cudnnBackendGetAttribute");
  decltype(cudnnBackendFinalize)* BackendFinalize = Find("cudnnBackendFinalize");
  decltype(cudnnBackendExecute)* BackendExecute = Find("cudnnBackendExecute");

  Cudnn();
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

// A handle of the current device, which has this index, for queries that compute nothing. Never destroyed: at the end
// of a process the driver may be gone before it.
cudnnHandle_t AskingHandle(int device);

// Takes f64, f32, f16 and bf16.
cudnnDataType_t CudnnType(plugin::DType dtype);

}  // namespace cuda_backend

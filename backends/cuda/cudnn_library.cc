// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cudnn_library.h"

#include "backends/common/status.h"
#include "backends/cuda/library.h"
#include "backends/gpu/runtime.h"

namespace cuda_backend {

const Cudnn& Cudnn::Get() {
  static const Cudnn loaded = [] {
    Library library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR));
    Cudnn c;
    library.Bind("cudnnCreate", c.Create);
    library.Bind("cudnnDestroy", c.Destroy);
    library.Bind("cudnnSetStream", c.SetStream);
    library.Bind("cudnnGetErrorString", c.ErrorString);
    library.Bind("cudnnCreateTensorDescriptor", c.TensorCreate);
    library.Bind("cudnnDestroyTensorDescriptor", c.TensorDestroy);
    library.Bind("cudnnSetTensorNdDescriptor", c.TensorSet);
    library.Bind("cudnnCreateFilterDescriptor", c.FilterCreate);
    library.Bind("cudnnDestroyFilterDescriptor", c.FilterDestroy);
    library.Bind("cudnnSetFilterNdDescriptor", c.FilterSet);
    library.Bind("cudnnCreateConvolutionDescriptor", c.ConvCreate);
    library.Bind("cudnnDestroyConvolutionDescriptor", c.ConvDestroy);
    library.Bind("cudnnSetConvolutionNdDescriptor", c.ConvSet);
    library.Bind("cudnnSetConvolutionGroupCount", c.ConvSetGroups);
    library.Bind("cudnnSetConvolutionMathType", c.ConvSetMath);
    library.Bind("cudnnGetConvolutionForwardWorkspaceSize", c.ConvWorkspace);
    library.Bind("cudnnConvolutionForward", c.ConvForward);
    library.Bind("cudnnBackendCreateDescriptor", c.BackendCreate);
    library.Bind("cudnnBackendDestroyDescriptor", c.BackendDestroy);
    library.Bind("cudnnBackendSetAttribute", c.BackendSet);
    library.Bind("cudnnBackendGetAttribute", c.BackendGet);
    library.Bind("cudnnBackendFinalize", c.BackendFinalize);
    library.Bind("cudnnBackendExecute", c.BackendExecute);
    c.why_not = library.why_not();
    return c;
  }();
  return loaded;
}

void Cudnn::Check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const char* text = Get().ErrorString(status);
  // Statuses come in groups of a thousand; those from NOT_SUPPORTED on say what is not offered.
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) throw plugin::Unsupported("{}: {}", call, text);
  gpu::CheckLaunch(call);  // a lost device shows as a failure of the library
  throw plugin::Failure("{}: {} ({})", call, text, static_cast<int>(status));
}

CudnnHandle::CudnnHandle(void* stream) {
  Cudnn::Check(Cudnn::Get().Create(&handle_), "cudnnCreate");
  const cudnnStatus_t status = Cudnn::Get().SetStream(handle_, static_cast<cudaStream_t>(stream));
  if (status == CUDNN_STATUS_SUCCESS) return;
  (void)Cudnn::Get().Destroy(handle_);
  Cudnn::Check(status, "cudnnSetStream");
}

CudnnHandle::~CudnnHandle() {
  (void)Cudnn::Get().Destroy(handle_);
}

cudnnDataType_t CudnnType(plugin::DType dtype) {
  if (dtype == plugin::kF64) return CUDNN_DATA_DOUBLE;
  if (dtype == plugin::kF32) return CUDNN_DATA_FLOAT;
  return dtype == plugin::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cudnn_library.h"

#include <map>
#include <mutex>

#include "backends/common/status.h"

namespace cuda_backend {

Cudnn::Cudnn() : Library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR)) {}

const Cudnn& Cudnn::Get() {
  static const Cudnn loaded;
  return loaded;
}

void Cudnn::Check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const char* text = Get().ErrorString(status);
  // Statuses come in groups of a thousand; those from NOT_SUPPORTED on say what is not offered.
  if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) throw plugin::Unsupported("{}: {}", call, text);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    ThrowOutOfMemory(call, "cuDNN");
  }
  ThrowFailure(call, fmt::format("{} ({})", text, static_cast<int>(status)));
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

cudnnHandle_t AskingHandle(int device) {
  static std::mutex mutex;
  static auto* handles = new std::map<int, CudnnHandle>;
  const std::scoped_lock lock(mutex);
  return handles->try_emplace(device, nullptr).first->second.get();
}

cudnnDataType_t CudnnType(plugin::DType dtype) {
  if (dtype == plugin::kF64) return CUDNN_DATA_DOUBLE;
  if (dtype == plugin::kF32) return CUDNN_DATA_FLOAT;
  return dtype == plugin::kF16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include "backends/cuda/cub_kernels.h"
#include "backends/gpu/kernels/dispatch.h"

namespace cuda_backend {
namespace {

// An element in the accumulator's type, squared for l2.
template <class T>
struct Widened {
  bool squared;
  __device__ gpu::Acc<T> operator()(T x) const {
    const gpu::Acc<T> value = gpu::ToAcc(x);
    return squared ? value * value : value;
  }
};

struct RowStart {
  int64_t count;
  __host__ __device__ int64_t operator()(int64_t row) const { return row * count; }
};

template <class T>
cudaError_t Reduce(const CubReduction& r, void* temporary, size_t& bytes, cudaStream_t stream) {
  const Widened<T> widened{r.fold == gpu::Fold::kL2};
  const auto x = thrust::make_transform_iterator(static_cast<const T*>(r.x), widened);
  auto* sums = static_cast<gpu::Acc<T>*>(r.sums);
  const auto count = static_cast<int>(r.count);
  if (r.outputs == 1) return cub::DeviceReduce::Sum(temporary, bytes, x, sums, count, stream);
  const auto begin = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), RowStart{r.count});
  return cub::DeviceSegmentedReduce::Sum(temporary, bytes, x, sums, r.outputs, begin, begin + 1, stream);
}

}  // namespace

size_t CubTemporaryBytes(const CubReduction& r) {
  size_t bytes = 0;
  gpu::ForFloat(r.type, [&](auto type) { (void)Reduce<decltype(type)>(r, nullptr, bytes, nullptr); });
  return bytes > 0 ? bytes : 1;
}

std::string LaunchCub(const CubReduction& r, void* stream) {
  cudaError_t status = cudaSuccess;
  size_t bytes = r.temporary_bytes;
  gpu::ForFloat(r.type, [&](auto type) {
    status = Reduce<decltype(type)>(r, r.temporary, bytes, static_cast<cudaStream_t>(stream));
  });
  return status == cudaSuccess ? "" : cudaGetErrorString(status);
}

}  // namespace cuda_backend

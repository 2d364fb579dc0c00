// SPDX-License-Identifier: Apache-2.0
// What cuDNN's convolutions are called with, seen by functions that stand in its place.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "backends/common/status.h"
#include "backends/cuda/cudnn_library.h"
#include "backends/cuda/rows.h"
#include "tests/unit/backends/conv_case.h"
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

namespace {

// The last call that convolves.
struct Call {
  const char* name = "";
  float addend_factor = -1;
  const std::byte *addend = nullptr, *y = nullptr;
  size_t nonzero = 0;  // bytes of the addend that are not zero
} last;
size_t addend_bytes = 0;

int token = 0;
template <class Handle>
cudnnStatus_t Create(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&token);
  return CUDNN_STATUS_SUCCESS;
}
template <class... Arguments>
cudnnStatus_t Ignore(Arguments...) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t Workspace(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
                        cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t Forward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t, const void*, cudnnFilterDescriptor_t,
                      const void*, cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t, void*, size_t, const void*,
                      cudnnTensorDescriptor_t, void* y) {
  last = {.name = "plain", .y = static_cast<std::byte*>(y)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t BiasForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t, const void*, cudnnFilterDescriptor_t,
                          const void*, cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t, void*, size_t,
                          const void* factor, cudnnTensorDescriptor_t, const void* z, cudnnTensorDescriptor_t,
                          const void*, cudnnActivationDescriptor_t, cudnnTensorDescriptor_t, void* y) {
  last = {.name = "fused", .addend = static_cast<const std::byte*>(z), .y = static_cast<std::byte*>(y)};
  std::memcpy(&last.addend_factor, factor, sizeof(float));
  for (size_t i = 0; i < addend_bytes; ++i) last.nonzero += last.addend[i] != std::byte{0};
  return CUDNN_STATUS_SUCCESS;
}

// Of those that have several types, the one that is `Function`.
template <class Function>
void* As(Function* function) {
  return reinterpret_cast<void*>(function);
}
const std::map<std::string, void*> kFunctions = {
    {"cudnnCreate", As<decltype(cudnnCreate)>(Create)},
    {"cudnnDestroy", As<decltype(cudnnDestroy)>(Ignore)},
    {"cudnnSetStream", As<decltype(cudnnSetStream)>(Ignore)},
    {"cudnnCreateTensorDescriptor", As<decltype(cudnnCreateTensorDescriptor)>(Create)},
    {"cudnnDestroyTensorDescriptor", As<decltype(cudnnDestroyTensorDescriptor)>(Ignore)},
    {"cudnnSetTensorNdDescriptor", As<decltype(cudnnSetTensorNdDescriptor)>(Ignore)},
    {"cudnnCreateFilterDescriptor", As<decltype(cudnnCreateFilterDescriptor)>(Create)},
    {"cudnnDestroyFilterDescriptor", As<decltype(cudnnDestroyFilterDescriptor)>(Ignore)},
    {"cudnnSetFilterNdDescriptor", As<decltype(cudnnSetFilterNdDescriptor)>(Ignore)},
    {"cudnnCreateConvolutionDescriptor", As<decltype(cudnnCreateConvolutionDescriptor)>(Create)},
    {"cudnnDestroyConvolutionDescriptor", As<decltype(cudnnDestroyConvolutionDescriptor)>(Ignore)},
    {"cudnnSetConvolutionNdDescriptor", As<decltype(cudnnSetConvolutionNdDescriptor)>(Ignore)},
    {"cudnnSetConvolutionGroupCount", As<decltype(cudnnSetConvolutionGroupCount)>(Ignore)},
    {"cudnnSetConvolutionMathType", As<decltype(cudnnSetConvolutionMathType)>(Ignore)},
    {"cudnnGetConvolutionForwardWorkspaceSize", As<decltype(cudnnGetConvolutionForwardWorkspaceSize)>(Workspace)},
    {"cudnnConvolutionForward", As<decltype(cudnnConvolutionForward)>(Forward)},
    {"cudnnConvolutionBiasActivationForward", As<decltype(cudnnConvolutionBiasActivationForward)>(BiasForward)},
    {"cudnnCreateActivationDescriptor", As<decltype(cudnnCreateActivationDescriptor)>(Create)},
    {"cudnnDestroyActivationDescriptor", As<decltype(cudnnDestroyActivationDescriptor)>(Ignore)},
    {"cudnnSetActivationDescriptor", As<decltype(cudnnSetActivationDescriptor)>(Ignore)},
    {"cudnnAddTensor", As<decltype(cudnnAddTensor)>(Ignore)},
};

}  // namespace

namespace cuda_backend {

Library::Library(const std::string& soname) : soname_(soname) {}
Library::Symbol Library::Find(const char* name) {
  const auto found = kFunctions.find(name);
  return Symbol(found == kFunctions.end() ? nullptr : found->second);
}
void ThrowOutOfMemory(const char* call, const char*) {
  throw plugin::Failure("{}", call);
}
void ThrowFailure(const char* call, const std::string& why) {
  throw plugin::Failure("{}: {}", call, why);
}

namespace {

using plugin_test::ConvCase;

// Runs one implementation once; y lies in memory that nobody has written.
void RunOnce(plugin_test::Op op, const std::string& implementation) {
  fake_runtime::Reset();
  last = {};
  const std::vector<int64_t> offsets = op.outputs[0].Offsets();
  addend_bytes = sizeof(float) * static_cast<size_t>(*std::max_element(offsets.begin(), offsets.end()) + 1);
  gpu::Traits traits;
  traits.memory_bytes = uint64_t{1} << 30;
  const plugin::OpDesc description(op.raw());
  gpu::Device device(traits, CudnnConvRows());
  std::vector<std::unique_ptr<plugin::Buffer>> buffers;
  plugin::Args args;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    args.inputs.push_back({buffers.emplace_back(device.Alloc(4096)).get(), 0});
  }
  args.outputs.push_back({buffers.emplace_back(device.Alloc(4096)).get(), 0});
  device.CreatePlan(description, implementation)->Execute(args);
}

TEST(CudnnConv, AFusedBiasIsGivenZerosAsItsAddendAndNotTheOutput) {
  for (const bool strided : {false, true}) {
    plugin_test::Op op = ConvCase{.n = 2, .c = 3, .o = 4, .i = {6, 5}, .bias = true}.Description();
    if (strided) op.outputs[0] = plugin_test::Strided("y", plugin_test::kF32, op.outputs[0].shape);
    RunOnce(std::move(op), "cudnn-precomputed");
    EXPECT_STREQ(last.name, "fused");
    EXPECT_EQ(last.addend_factor, 0);
    EXPECT_NE(last.addend, last.y);
    EXPECT_EQ(last.nonzero, 0u);
    EXPECT_EQ(fake_runtime::Now().filled, addend_bytes) << "as far as y reaches";
  }
}

TEST(CudnnConv, WithoutABiasOrAnAlgorithmThatFusesItThereIsNoAddend) {
  for (const char* implementation : {"cudnn-precomputed", "cudnn-gemm"}) {
    const bool fuses = std::string(implementation) == "cudnn-precomputed";
    RunOnce(ConvCase{.c = 3, .o = 4, .bias = !fuses}.Description(), implementation);
    EXPECT_STREQ(last.name, "plain") << implementation;
    EXPECT_EQ(fake_runtime::Now().filled, 0u) << implementation;
  }
}

}  // namespace
}  // namespace cuda_backend

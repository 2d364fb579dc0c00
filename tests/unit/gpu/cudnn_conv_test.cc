// SPDX-License-Identifier: Apache-2.0
// Arguments of the calls to cuDNN's convolutions, seen by fake functions in its place.
#include <gtest/gtest.h>

#include <algorithm>
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

// How often the library was asked for a workspace, and what it answers.
int questions = 0;
cudnnStatus_t answer = CUDNN_STATUS_SUCCESS;

int token = 0, alive = 0;  // alive: descriptors and handles
template <class Handle>
cudnnStatus_t Create(Handle* handle) {
  ++alive;
  *handle = reinterpret_cast<Handle>(&token);
  return CUDNN_STATUS_SUCCESS;
}
template <class Handle>
cudnnStatus_t Destroy(Handle) {
  --alive;
  return CUDNN_STATUS_SUCCESS;
}
const char* ErrorString(cudnnStatus_t) {
  return "an error";
}
template <class... Arguments>
cudnnStatus_t Ignore(Arguments...) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t Workspace(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
                        cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t, size_t* bytes) {
  ++questions;
  *bytes = 0;
  return answer;
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

// Selects the overload of type `Function`.
template <class Function>
void* As(Function* function) {
  return reinterpret_cast<void*>(function);
}
const std::map<std::string, void*> kFunctions = {
    {"cudnnCreate", As<decltype(cudnnCreate)>(Create)},
    {"cudnnDestroy", As<decltype(cudnnDestroy)>(Destroy)},
    {"cudnnGetErrorString", As<decltype(cudnnGetErrorString)>(ErrorString)},
    {"cudnnSetStream", As<decltype(cudnnSetStream)>(Ignore)},
    {"cudnnCreateTensorDescriptor", As<decltype(cudnnCreateTensorDescriptor)>(Create)},
    {"cudnnDestroyTensorDescriptor", As<decltype(cudnnDestroyTensorDescriptor)>(Destroy)},
    {"cudnnSetTensorNdDescriptor", As<decltype(cudnnSetTensorNdDescriptor)>(Ignore)},
    {"cudnnCreateFilterDescriptor", As<decltype(cudnnCreateFilterDescriptor)>(Create)},
    {"cudnnDestroyFilterDescriptor", As<decltype(cudnnDestroyFilterDescriptor)>(Destroy)},
    {"cudnnSetFilterNdDescriptor", As<decltype(cudnnSetFilterNdDescriptor)>(Ignore)},
    {"cudnnCreateConvolutionDescriptor", As<decltype(cudnnCreateConvolutionDescriptor)>(Create)},
    {"cudnnDestroyConvolutionDescriptor", As<decltype(cudnnDestroyConvolutionDescriptor)>(Destroy)},
    {"cudnnSetConvolutionNdDescriptor", As<decltype(cudnnSetConvolutionNdDescriptor)>(Ignore)},
    {"cudnnSetConvolutionGroupCount", As<decltype(cudnnSetConvolutionGroupCount)>(Ignore)},
    {"cudnnSetConvolutionMathType", As<decltype(cudnnSetConvolutionMathType)>(Ignore)},
    {"cudnnGetConvolutionForwardWorkspaceSize", As<decltype(cudnnGetConvolutionForwardWorkspaceSize)>(Workspace)},
    {"cudnnConvolutionForward", As<decltype(cudnnConvolutionForward)>(Forward)},
    {"cudnnConvolutionBiasActivationForward", As<decltype(cudnnConvolutionBiasActivationForward)>(BiasForward)},
    {"cudnnCreateActivationDescriptor", As<decltype(cudnnCreateActivationDescriptor)>(Create)},
    {"cudnnDestroyActivationDescriptor", As<decltype(cudnnDestroyActivationDescriptor)>(Destroy)},
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

using plugin_test::ConvArgs;

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
    plugin_test::Op op = ConvArgs{.n = 2, .c = 3, .o = 4, .i = {6, 5}, .bias = true}.Description();
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
    RunOnce(ConvArgs{.c = 3, .o = 4, .bias = !fuses}.Description(), implementation);
    EXPECT_STREQ(last.name, "plain") << implementation;
    EXPECT_EQ(fake_runtime::Now().filled, 0u) << implementation;
  }
}

// "name: contract" of what the rows offer for it.
std::vector<std::string> Offered(const ConvArgs& c) {
  std::vector<std::string> offered;
  gpu::Traits traits;
  traits.unit_accumulator = "acc=tc<25,16>";
  plugin_test::Op op = c.Description();
  try {
    for (const auto& one : plugin::QueryTable<gpu::Device>(CudnnConvRows(), plugin::OpDesc(op.raw()), traits)) {
      offered.push_back(one.name + ": " + one.contract);
    }
  } catch (const plugin::Error& error) {
    EXPECT_EQ(error.status(), ASSAY_UNSUPPORTED);
    EXPECT_NE(std::string(error.what()).find("cudnnGetConvolutionForwardWorkspaceSize"), std::string::npos)
        << error.what();
  }
  return offered;
}

TEST(CudnnConv, OffersWhatTheLibraryHasAndAsksItOnce) {
  fake_runtime::Reset();
  const ConvArgs c{.n = 3, .c = 5, .o = 7};
  questions = 0, answer = CUDNN_STATUS_NOT_SUPPORTED;
  EXPECT_TRUE(Offered(c).empty());
  EXPECT_EQ(questions, 7) << "once for each algorithm";
  EXPECT_EQ(alive, 1) << "the handle that asks";
  answer = CUDNN_STATUS_SUCCESS;
  EXPECT_TRUE(Offered(c).empty()) << "what it said stands";
  EXPECT_EQ(questions, 7);
  EXPECT_EQ(Offered({.n = 4, .c = 5, .o = 7}).size(), 7u);
}

TEST(CudnnConv, ABiasIsAddedBeforeTheOnlyRoundingOrNotOffered) {
  fake_runtime::Reset();
  answer = CUDNN_STATUS_SUCCESS;
  ConvArgs c{.n = 2, .c = 4, .o = 8, .pad = {1, 1}, .bias = true};
  EXPECT_EQ(Offered(c).size(), 7u) << "in f32 it is one more sum";
  for (const plugin_test::Type& type : {plugin_test::kF16, plugin_test::kBF16}) {
    c.in = c.out = type;
    EXPECT_EQ(Offered(c), std::vector<std::string>{"cudnn-precomputed: in=exact;acc=tc<25,16>"});
  }
  c.bias = false;
  const std::vector<std::string> plain = Offered(c);
  EXPECT_NE(std::ranges::find(plain, "cudnn-gemm: in=exact;acc=tc<25,16>"), plain.end());
}

}  // namespace
}  // namespace cuda_backend

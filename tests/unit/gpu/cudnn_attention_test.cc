// SPDX-License-Identifier: Apache-2.0
// Whether cuDNN has kernels for the graphs of attention. It answers for a GPU that is only described, and compiles for
// it, as long as it finds a driver library: the toolkit's stub is enough.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>

#include "backends/common/status.h"
#include "backends/cuda/cudnn_attention_graph.h"

namespace cuda_backend {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;

struct Gpu {
  int version, multiprocessors, shared_bytes;
};
constexpr Gpu kA100{800, 108, 166912}, kH100{900, 132, 232448};

// The device as CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION describes it.
Descriptor Described(const Gpu& gpu) {
  const std::string text = fmt::format(
      R"({{"cudaDeviceId":0,"deviceVer":{},"driverVer":13000,"deviceName":"a GPU","totalGlobalMem":85899345920,)"
      R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,)"
      R"("multiProcessorCount":{},"smClockRateKHz":1410000,"memClockRateKHz":1593000,"l2CacheSize":41943040,)"
      R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":1024,)"
      R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
      R"("maxThreadsPerSM":2048,"isTccDriver":0,"supportCoopLaunch":1}})",
      gpu.version, gpu.multiprocessors, gpu.shared_bytes);
  Descriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::ssize(text), text.data());
  device.Finalize();
  return device;
}

AttentionSpec Spec(const std::function<void(AttentionSpec&)>& edit) {
  AttentionSpec a;
  a.batch = 2, a.heads = 4, a.kv_heads = 2, a.l = 100, a.s = 100, a.d = a.dv = 64, a.scale = 0.125;
  a.dtype = plugin::kF16;
  edit(a);
  const auto dense = [](int64_t h, int64_t l, int64_t d) { return AttentionSpec::Strides{h * l * d, l * d, d, 1}; };
  a.q = dense(a.heads, a.l, a.d), a.k = dense(a.kv_heads, a.s, a.d), a.v = dense(a.kv_heads, a.s, a.dv);
  a.o = dense(a.heads, a.l, a.dv);
  if (a.mask_kind != MaskKind::kNone) a.mask = {0, 0, a.s, 1};
  return a;
}

void AddMask(AttentionSpec& a) {
  a.mask_kind = MaskKind::kAdd, a.mask_dtype = a.dtype;
}

const std::pair<const char*, std::function<void(AttentionSpec&)>> kOffered[] = {
    {"plain", [](AttentionSpec&) {}},
    {"one query", [](AttentionSpec& a) { a.l = 1, a.s = 1000; }},
    {"bf16 d=40 dv=64", [](AttentionSpec& a) { a.dtype = plugin::kBF16, a.d = 40; }},
    {"causal", [](AttentionSpec& a) { a.causal = true; }},
    {"causal, aligned to the last key", [](AttentionSpec& a) { a.causal = true, a.l = 63; }},
    {"causal, aligned to the first key", [](AttentionSpec& a) { a.causal = a.top_left = true, a.s = 40; }},
    {"window", [](AttentionSpec& a) { a.window = 16, a.l = 63; }},
    {"causal window", [](AttentionSpec& a) { a.causal = true, a.window = 16, a.l = 63; }},
    {"mask", AddMask},
    {"mask and causal", [](AttentionSpec& a) { AddMask(a), a.causal = true; }},
    {"softcap and causal", [](AttentionSpec& a) { a.softcap = 30, a.causal = true; }},
};

TEST(CudnnAttention, HasKernelsForWhatIsOffered) {
  if (dlopen(ASSAY_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL) == nullptr) GTEST_SKIP() << "the toolkit has no stub of libcuda";
  if (const std::string& reason = Cudnn::Get().why_not(); !reason.empty()) GTEST_SKIP() << reason;
  for (const Gpu& gpu : {kA100, kH100}) {
    const Descriptor device = Described(gpu);
    for (const auto& [name, edit] : kOffered) {
      const AttentionSpec a = Spec(edit);
      EXPECT_EQ(FusedAttentionWhyNot(a), "") << name;
      EXPECT_FALSE(AttentionGraph(a).Engines({.described = &device}).empty()) << name << " on sm_" << gpu.version / 10;
    }
  }
}

TEST(CudnnAttention, RefusesWhatIsNotOfferedAndSaysWhy) {
  const auto why_not = [](const std::function<void(AttentionSpec&)>& edit) { return FusedAttentionWhyNot(Spec(edit)); };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has(why_not([](auto& a) { a.dtype = plugin::kF32; }), "f16 and bf16"));
  EXPECT_TRUE(has(why_not([](auto& a) { a.d = 20; }), "multiples of 8"));
  EXPECT_TRUE(has(why_not([](auto& a) { AddMask(a), a.mask_kind = MaskKind::kBool; }), "truth values"));
  EXPECT_TRUE(has(why_not([](auto& a) { AddMask(a), a.causal = true, a.l = 63; }), "aligned to the last key"));
  EXPECT_TRUE(has(why_not([](auto& a) { a.causal = true, a.s = 40; }), "no more queries than keys"));
  EXPECT_TRUE(has(why_not([](auto& a) { a.top_left = true, a.window = 8, a.s = 40; }), "no more queries than keys"));
  AttentionSpec strided = Spec([](auto&) {});
  strided.k[3] = 2;
  EXPECT_TRUE(has(FusedAttentionWhyNot(strided), "contiguous rows"));
  AttentionSpec padded = Spec([](auto&) {});
  padded.q = {4 * 100 * 67, 100 * 67, 67, 1};
  EXPECT_TRUE(has(FusedAttentionWhyNot(padded), "multiples of 16 bytes"));
  padded.q = {4 * 100 * 72, 100 * 72, 72, 1};
  EXPECT_EQ(FusedAttentionWhyNot(padded), "");
}

}  // namespace
}  // namespace cuda_backend

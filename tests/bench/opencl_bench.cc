// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend's f32 matmul of 512^3 against OpenBLAS on the same machine, both on all cores, interleaved. Where
// the first OpenCL device is no processor the ratio compares two devices and is printed without a target.
#include <cblas.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "tests/bench/peak.h"
#include "tests/bench/targets.h"

namespace assay::bench {
namespace {

constexpr int64_t kSize = 512;
constexpr int kRounds = 15;
constexpr double kTarget = 0.25;  // of OpenBLAS

// y = a b, prepared once; Run() is one execution by the host's clock, as cblas_sgemm is.
class OpenClMatmul {
 public:
  explicit OpenClMatmul(const char* implementation) {
    void* library = dlopen(ASSAY_OPENCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    api_ = reinterpret_cast<assay_backend_entry>(dlsym(library, ASSAY_BACKEND_ENTRY))(nullptr);
    Check(api_->device_open(0, &device_, &text_));
    for (int i = 0; i < 3; ++i) {
      const char* names[] = {"a", "b", "y"};
      tensors_[i] = {sizeof tensors_[i], names[i], ASSAY_TYPE_FLOAT, 32, 1, 2, shape_, strides_, nullptr, 0, 0};
      Check(api_->buffer_alloc(device_, sizeof(float) * kSize * kSize, &buffers_[i], &text_));
      const std::vector<float> ones(kSize * kSize, 1.0f);
      Check(api_->buffer_upload(device_, buffers_[i], 0, ones.data(), ones.size() * sizeof(float), &text_));
      operands_[i] = {sizeof operands_[i], buffers_[i], 0, nullptr, nullptr};
    }
    for (const char* key : {"m", "n", "k"}) Add(key, ASSAY_ATTR_INT).i = kSize;
    Add("batch", ASSAY_ATTR_INT).i = 1;
    for (const char* key : {"transa", "transb", "bias"}) Add(key, ASSAY_ATTR_INT).i = 0;
    Add("alpha", ASSAY_ATTR_FLOAT).f = 1;
    Add("beta", ASSAY_ATTR_FLOAT).f = 0;
    Add("epilogue", ASSAY_ATTR_STRING).s = "fused";
    std::vector<const assay_attr*> attrs;
    for (const assay_attr& attr : attrs_) attrs.push_back(&attr);
    const assay_tensor_desc *in[] = {&tensors_[0], &tensors_[1]}, *out[] = {&tensors_[2]};
    const assay_op_desc op{sizeof op, "matmul", 2, in, 1, out, attrs.size(), attrs.data(), 0};
    Check(api_->plan_create(device_, &op, implementation, &plan_, &text_));
  }

  void Run() {
    const assay_tensor_arg *in[] = {&operands_[0], &operands_[1]}, *out[] = {&operands_[2]};
    const assay_args args{sizeof args, 2, in, 1, out, 0};
    Check(api_->execute(plan_, &args, &text_));
  }

  std::string Properties() {
    assay_device_info info{};
    info.struct_size = sizeof info;
    Check(api_->device_info(0, &info, &text_));
    return info.properties;
  }

 private:
  assay_attr& Add(const char* key, int32_t type) {
    assay_attr& attr = attrs_.emplace_back();
    attr.struct_size = sizeof attr, attr.key = key, attr.type = type;
    return attr;
  }
  void Check(assay_status status) const {
    if (status != ASSAY_OK) throw std::runtime_error(error_);
  }

  const assay_backend_api* api_ = nullptr;
  char error_[512] = "";
  assay_text text_{sizeof text_, error_, sizeof error_};
  assay_device* device_ = nullptr;
  assay_plan* plan_ = nullptr;
  const int64_t shape_[2] = {kSize, kSize}, strides_[2] = {kSize, 1};
  assay_tensor_desc tensors_[3];
  assay_tensor_arg operands_[3];
  assay_buffer* buffers_[3] = {};
  std::vector<assay_attr> attrs_;
};

void Sgemm() {
  static const std::vector<float> a(kSize * kSize, 1.0f), b(kSize * kSize, 1.0f);
  static std::vector<float> y(kSize * kSize);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, a.data(), kSize, b.data(), kSize, 0,
              y.data(), kSize);
}

void BM_OpenClMatmul(benchmark::State& state) {
  OpenClMatmul matmul("tiled");
  for ([[maybe_unused]] auto _ : state) matmul.Run();
}
BENCHMARK(BM_OpenClMatmul)->UseRealTime();

void BM_Sgemm(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) Sgemm();
}
BENCHMARK(BM_Sgemm)->UseRealTime();

void CheckTargets(Targets& targets) {
  OpenClMatmul matmul("tiled");
  const auto run = [&] { matmul.Run(); };
  if (matmul.Properties().find("Portable Computing Language") == std::string::npos) {
    std::printf("opencl_matmul_f32_512 %.2f of OpenBLAS, on a device of its own: no target\n",
                RelativeSpeed(run, Sgemm, kRounds));
    return;
  }
  CheckSpeed(targets, "opencl_matmul_f32_512", kTarget, run, Sgemm, &PeakKernels::f32, 2.0 * kSize * kSize * kSize,
             kRounds);
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  return assay::bench::RunWithTargets(argc, argv, assay::bench::CheckTargets);
}

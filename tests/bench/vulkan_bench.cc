// SPDX-License-Identifier: Apache-2.0
// The vulkan plugin, in this process: its portable matmul beside cblas_sgemm, flash attention beside the materialised
// one, on the first device that the loader lists.
#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <random>

#include "backends/abi/assay_backend.h"
#include "tests/bench/peak.h"
#include "tests/bench/targets.h"

namespace {

using assay::PeakKernels;
using assay::bench::CheckSpeed;
using assay::bench::RelativeSpeed;
using assay::bench::Targets;

std::string g_problem;

class VulkanDevice {
 public:
  VulkanDevice() {
    void* library = dlopen(ASSAY_VULKAN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      Fail(dlerror());
      return;
    }
    api_ = reinterpret_cast<assay_backend_entry>(dlsym(library, ASSAY_BACKEND_ENTRY))(nullptr);
    uint32_t count = 0;
    if (api_->device_count(&count, &error_) != ASSAY_OK || api_->device_open(0, &device_, &error_) != ASSAY_OK) {
      Fail(text_);
    }
  }
  bool ok() const { return g_problem.empty(); }
  void Check(assay_status status) {
    if (status != ASSAY_OK) Fail(text_);
  }
  void Fail(const std::string& text) { g_problem = text; }

  const assay_backend_api* api_ = nullptr;
  assay_device* device_ = nullptr;
  char text_[1024] = "";
  assay_text error_{sizeof(assay_text), text_, sizeof text_};
};

// One operator in dense f32 on random data, prepared.
class Prepared {
 public:
  struct Shape {
    const char* name;
    std::vector<int64_t> shape;
  };

  Prepared(VulkanDevice& device, const char* op, const std::vector<Shape>& operands, const char* implementation)
      : device_(device), name_(op) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (const Shape& operand : operands) {
      auto& shape = shapes_.emplace_back(operand.shape);
      auto& strides = shapes_.emplace_back(shape.size(), 1);
      for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
      tensors_.push_back({sizeof(assay_tensor_desc), operand.name, ASSAY_TYPE_FLOAT, 32, 1,
                          static_cast<int32_t>(shape.size()), shape.data(), strides.data(), nullptr, 0, 0});
      std::vector<float> values(static_cast<size_t>(strides[0] * shape[0]));
      for (float& x : values) x = normal(random);
      assay_buffer* buffer = nullptr;
      device.Check(device.api_->buffer_alloc(device.device_, values.size() * 4, &buffer, &device.error_));
      if (!device.ok()) return;
      device.Check(
          device.api_->buffer_upload(device.device_, buffer, 0, values.data(), values.size() * 4, &device.error_));
      args_.push_back({sizeof(assay_tensor_arg), buffer, 0, nullptr, nullptr});
    }
    implementation_ = implementation;
  }
  Prepared& Int(const char* key, int64_t value) { return Add({sizeof(assay_attr), key, ASSAY_ATTR_INT, 0, value}); }
  Prepared& Float(const char* key, double value) {
    return Add({sizeof(assay_attr), key, ASSAY_ATTR_FLOAT, 0, 0, value});
  }
  Prepared& Text(const char* key, const char* value) {
    return Add({sizeof(assay_attr), key, ASSAY_ATTR_STRING, 0, 0, 0, value});
  }

  void Run() {
    if (plan_ == nullptr) Create();
    if (!device_.ok()) return;
    const assay_args args{
        sizeof(assay_args), args_.size() - 1, arg_pointers_.data(), 1, arg_pointers_.data() + args_.size() - 1, 0};
    device_.Check(device_.api_->execute(plan_, &args, &device_.error_));
  }

 private:
  Prepared& Add(assay_attr attr) { return attrs_.push_back(attr), *this; }

  void Create() {
    for (const auto& tensor : tensors_) tensor_pointers_.push_back(&tensor);
    for (const auto& attr : attrs_) attr_pointers_.push_back(&attr);
    for (const auto& arg : args_) arg_pointers_.push_back(&arg);
    const assay_op_desc op{sizeof(assay_op_desc),
                           name_,
                           tensors_.size() - 1,
                           tensor_pointers_.data(),
                           1,
                           &tensor_pointers_.back(),
                           attrs_.size(),
                           attr_pointers_.data(),
                           0};
    device_.Check(device_.api_->plan_create(device_.device_, &op, implementation_, &plan_, &device_.error_));
  }

  VulkanDevice& device_;
  const char *name_, *implementation_ = "";
  std::deque<std::vector<int64_t>> shapes_;
  std::deque<assay_tensor_desc> tensors_;
  std::deque<assay_attr> attrs_;
  std::deque<assay_tensor_arg> args_;
  std::vector<const assay_tensor_desc*> tensor_pointers_;
  std::vector<const assay_attr*> attr_pointers_;
  std::vector<const assay_tensor_arg*> arg_pointers_;
  assay_plan* plan_ = nullptr;
};

VulkanDevice& Device() {
  static VulkanDevice device;
  return device;
}

std::unique_ptr<Prepared> Matmul(int64_t n, const char* implementation) {
  auto op = std::make_unique<Prepared>(
      Device(), "matmul", std::vector<Prepared::Shape>{{"a", {n, n}}, {"b", {n, n}}, {"y", {n, n}}}, implementation);
  op->Int("m", n).Int("n", n).Int("k", n).Int("batch", 1).Int("transa", 0).Int("transb", 0).Int("bias", 0);
  op->Float("alpha", 1).Float("beta", 0).Text("epilogue", "fused");
  return op;
}

std::unique_ptr<Prepared> Attention(int64_t l, const char* implementation) {
  const std::vector<int64_t> shape{1, 1, l, 64};
  auto op = std::make_unique<Prepared>(
      Device(), "attention", std::vector<Prepared::Shape>{{"q", shape}, {"k", shape}, {"v", shape}, {"o", shape}},
      implementation);
  op->Int("b", 1).Int("h", 1).Int("hkv", 1).Int("l", l).Int("s", l).Int("d", 64).Int("dv", 64).Int("causal", 0);
  op->Int("window", 0).Int("mask_per_head", 0).Float("scale", 0.125).Float("softcap", 0);
  op->Text("align", "br").Text("mask", "none").Text("masked_rows", "zero");
  return op;
}

void Measure(benchmark::State& state, Prepared& op, double flops) {
  op.Run();  // prepares
  for (auto _ : state) op.Run();
  if (!g_problem.empty()) state.SkipWithError(g_problem.c_str());
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void BM_Matmul(benchmark::State& state, const char* implementation) {
  const int64_t n = state.range(0);
  Measure(state, *Matmul(n, implementation), 2.0 * static_cast<double>(n * n * n));
}
void BM_Attention(benchmark::State& state, const char* implementation) {
  const int64_t l = state.range(0);
  Measure(state, *Attention(l, implementation), 256.0 * static_cast<double>(l * l));
}
BENCHMARK_CAPTURE(BM_Matmul, tile, "tile")->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Matmul, subgroup_tile, "subgroup-tile")->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Attention, materialised, "materialised")->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Attention, flash, "flash")->Arg(2048)->UseRealTime()->Unit(benchmark::kMillisecond);

void CheckTargets(Targets& targets) {
  constexpr int kN = 512;
  const std::vector<float> a(kN * kN, 1.0f), b(kN * kN, 0.5f);
  std::vector<float> y(kN * kN);
  const auto matmul = Matmul(kN, "subgroup-tile");
  CheckSpeed(
      targets, "vulkan_matmul_f32_512_over_sgemm", 1.0 / 40, [&] { matmul->Run(); },
      [&] {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kN, kN, kN, 1, a.data(), kN, b.data(), kN, 0, y.data(),
                    kN);
      },
      &PeakKernels::f32, 2.0 * kN * kN * kN, 9);
  const auto flash = Attention(2048, "flash"), materialised = Attention(2048, "materialised");
  targets.AtLeast("vulkan_flash_over_materialised_2048", 1.0,
                  RelativeSpeed([&] { flash->Run(); }, [&] { materialised->Run(); }, 5));
  if (!Device().ok()) std::printf("vulkan: %s\n", g_problem.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  setenv("ASSAY_VULKAN_ALL", "1", 1);  // the slow ones of a device that is a CPU, too
  if (!Device().ok()) {
    std::printf("vulkan: nothing to measure: %s\n", g_problem.c_str());
    return 0;
  }
  const int code = assay::bench::RunWithTargets(argc, argv, CheckTargets);
  return g_problem.empty() ? code : 1;
}

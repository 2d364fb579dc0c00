// SPDX-License-Identifier: Apache-2.0
// fft by cuFFT: dense operands, up to three axes.
#include <cufft.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/common/fft_spec.h"
#include "backends/common/status.h"
#include "backends/cuda/library.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace cuda_backend {
namespace {

using plugin::FftKind;
using plugin::FftSpec;

constexpr int64_t kLargestCufftRadix = 127;  // cuFFT documentation: longer primes go through Bluestein's algorithm
constexpr uintptr_t kCufftAlignment = 16;

struct Cufft : Library {
  decltype(cufftCreate)* Create = Find("cufftCreate");
  decltype(cufftDestroy)* Destroy = Find("cufftDestroy");
  decltype(cufftMakePlanMany64)* MakePlan = Find("cufftMakePlanMany64");
  decltype(cufftSetStream)* SetStream = Find("cufftSetStream");
  decltype(cufftExecC2C)* C2C = Find("cufftExecC2C");
  decltype(cufftExecR2C)* R2C = Find("cufftExecR2C");
  decltype(cufftExecC2R)* C2R = Find("cufftExecC2R");
  decltype(cufftExecZ2Z)* Z2Z = Find("cufftExecZ2Z");
  decltype(cufftExecD2Z)* D2Z = Find("cufftExecD2Z");
  decltype(cufftExecZ2D)* Z2D = Find("cufftExecZ2D");

  Cufft() : Library(fmt::format("libcufft.so.{}", CUFFT_VER_MAJOR)) {}
  static const Cufft& Get() {
    static const Cufft loaded;
    return loaded;
  }

  static void Check(cufftResult result, const char* call) {
    if (result == CUFFT_SUCCESS) return;
    if (result == CUFFT_ALLOC_FAILED) ThrowOutOfMemory(call, "cuFFT");
    if (result == CUFFT_NOT_SUPPORTED || result == CUFFT_INVALID_SIZE) {
      throw plugin::Unsupported("{}: cuFFT does not take this size (result {})", call, static_cast<int>(result));
    }
    ThrowFailure(call, fmt::format("cuFFT result {}", static_cast<int>(result)));
  }
};

cufftType TypeOf(const FftSpec& s) {
  if (s.kind == FftKind::kC2C) return s.wide ? CUFFT_Z2Z : CUFFT_C2C;
  if (s.kind == FftKind::kR2C) return s.wide ? CUFFT_D2Z : CUFFT_R2C;
  return s.wide ? CUFFT_Z2D : CUFFT_C2R;
}

// An owned plan on one stream.
class CufftPlan {
 public:
  CufftPlan(const FftSpec& s, void* stream) : type_(TypeOf(s)), direction_(s.inverse ? CUFFT_INVERSE : CUFFT_FORWARD) {
    const Cufft& cufft = Cufft::Get();
    Cufft::Check(cufft.Create(&handle_), "cufftCreate");
    std::vector<long long> n(s.n.begin(), s.n.end());
    size_t workspace = 0;
    const cufftResult made = cufft.MakePlan(handle_, static_cast<int>(n.size()), n.data(), nullptr, 1, 0, nullptr, 1, 0,
                                            type_, s.batch, &workspace);
    const cufftResult set = made == CUFFT_SUCCESS ? cufft.SetStream(handle_, static_cast<cudaStream_t>(stream)) : made;
    if (set == CUFFT_SUCCESS) return;
    (void)cufft.Destroy(handle_);
    Cufft::Check(made, "cufftMakePlanMany64");
    Cufft::Check(set, "cufftSetStream");
  }
  CufftPlan(const CufftPlan&) = delete;
  CufftPlan& operator=(const CufftPlan&) = delete;
  ~CufftPlan() { (void)Cufft::Get().Destroy(handle_); }

  void Run(void* from, void* to) const { Cufft::Check(Execute(from, to), "cufftExec"); }

 private:
  cufftResult Execute(void* from, void* to) const {
    const Cufft& f = Cufft::Get();
    switch (type_) {
      case CUFFT_C2C:
        return f.C2C(handle_, static_cast<cufftComplex*>(from), static_cast<cufftComplex*>(to), direction_);
      case CUFFT_Z2Z:
        return f.Z2Z(handle_, static_cast<cufftDoubleComplex*>(from), static_cast<cufftDoubleComplex*>(to), direction_);
      case CUFFT_R2C:
        return f.R2C(handle_, static_cast<cufftReal*>(from), static_cast<cufftComplex*>(to));
      case CUFFT_D2Z:
        return f.D2Z(handle_, static_cast<cufftDoubleReal*>(from), static_cast<cufftDoubleComplex*>(to));
      case CUFFT_C2R:
        return f.C2R(handle_, static_cast<cufftComplex*>(from), static_cast<cufftReal*>(to));
      default:
        return f.Z2D(handle_, static_cast<cufftDoubleComplex*>(from), static_cast<cufftDoubleReal*>(to));
    }
  }

  cufftHandle handle_ = 0;
  cufftType type_;
  int direction_;
};

int64_t BytesOf(const plugin::Tensor& tensor) {
  return tensor.Elements() * plugin::Bytes(tensor.dtype);
}

bool IsAligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kCufftAlignment == 0;
}

// A complex-to-real transform overwrites its input, and operands may lie anywhere: copies where that matters.
std::unique_ptr<plugin::Plan> CreateCufft(gpu::Device& device, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  const auto x_bytes = static_cast<uint64_t>(BytesOf(x)), y_bytes = static_cast<uint64_t>(BytesOf(y));
  std::byte *x_copy = plan->Workspace(x_bytes, "cuFFT"), *y_copy = plan->Workspace(y_bytes, "cuFFT");
  const auto transform = std::make_shared<CufftPlan>(s, device.queue().get());
  const bool complex_out = s.kind != FftKind::kC2R;
  const int64_t numbers = y.Elements() * (complex_out ? 2 : 1);
  plan->SetAlgorithm("cuFFT");
  plan->Add("", [s, transform, numbers, x_bytes, y_bytes, x_copy, y_copy, &device](const gpu::Bound& at) {
    void *from = at.Input(0), *to = at.Output();
    if (s.kind == FftKind::kC2R || !IsAligned(from)) {
      device.queue().Copy(x_copy, from, x_bytes);
      from = x_copy;
    }
    void* result = IsAligned(to) ? to : y_copy;
    transform->Run(from, result);
    if (s.scaled) gpu::LaunchScale(s.wide, result, numbers, s.scale, at.stream());
    if (result != to) device.queue().Copy(to, result, y_bytes);
  });
  return plan;
}

std::string CufftWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  if (std::string reason = plugin::FftTypesWhyNot(op, s); !reason.empty()) return reason;
  if (s.n.size() > 3) return fmt::format("{} axes; cuFFT transforms up to 3", s.n.size());
  if (!op.inputs()[0].IsDense() || !op.outputs()[0].IsDense()) return "cufft is offered for dense operands";
  if (s.kind == FftKind::kR2C && s.inverse) return "cuFFT's real-to-complex transform is a forward one";
  if (s.kind == FftKind::kC2R && !s.inverse) return "cuFFT's complex-to-real transform is an inverse one";
  return Cufft::Get().why_not();
}

// NVIDIA states no accuracy of the twiddles: 4 ulp leaves room for those computed on the device.
std::string CufftContract(const gpu::Traits&, const plugin::OpDesc& op) {
  const FftSpec s = plugin::ParseFft(op);
  const bool bluestein =
      std::ranges::any_of(s.n, [](int64_t n) { return plugin::LargestPrimeFactor(n) > kLargestCufftRadix; });
  return fmt::format("{};math=4;alg={}", s.wide ? "f64" : "f32", bluestein ? "bluestein" : "fft");
}

constexpr gpu::Row kCufftRows[] = {
    {{"fft", plugin::kFftTypes, "cufft", plugin::kDense}, CufftContract, CufftWhyNot, CreateCufft, true},
};

}  // namespace

std::span<const gpu::Row> CufftRows() {
  return kCufftRows;
}

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
// conv by cuDNN, each algorithm that it names on its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/common/conv_spec.h"
#include "backends/common/status.h"
#include "backends/cuda/cudnn_library.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/kernel_plan.h"

namespace cuda_backend {
namespace {

using plugin::ConvSpec;

std::vector<int> Narrowed(const auto& values, size_t skip) {
  std::vector<int> narrow;
  for (size_t i = skip; i < values.size(); ++i) narrow.push_back(static_cast<int>(values[i]));
  return narrow;
}

// cuDNN has no convolution in one dimension: two spatial axes at least, the first of extent 1.
size_t SkippedAxes(const ConvSpec& s) {
  return s.rank == 3 ? 0 : 1;
}

std::vector<int> Joined(int64_t outer, int64_t inner, const std::vector<int>& rest) {
  std::vector<int> all{static_cast<int>(outer), static_cast<int>(inner)};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

using Algorithm = cudnnConvolutionFwdAlgo_t;
constexpr Algorithm kImplicitGemm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                    kPrecomputed = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                    kGemm = CUDNN_CONVOLUTION_FWD_ALGO_GEMM, kFft = CUDNN_CONVOLUTION_FWD_ALGO_FFT,
                    kFftTiling = CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, kWinograd = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
                    kWinogradNonfused = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;

// cuDNN's descriptors of a convolution. They are destroyed even if creating one of them fails.
struct ConvDescriptors {
  ConvDescriptors() = default;
  ConvDescriptors(const ConvDescriptors&) = delete;
  ConvDescriptors& operator=(const ConvDescriptors&) = delete;
  ~ConvDescriptors() {
    const Cudnn& cudnn = Cudnn::Get();
    if (activation != nullptr) (void)cudnn.ActivationDestroy(activation);
    if (bias != nullptr) (void)cudnn.TensorDestroy(bias);
    if (conv != nullptr) (void)cudnn.ConvDestroy(conv);
    if (w != nullptr) (void)cudnn.FilterDestroy(w);
    if (y != nullptr) (void)cudnn.TensorDestroy(y);
    if (x != nullptr) (void)cudnn.TensorDestroy(x);
  }

  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t conv = nullptr;
  cudnnActivationDescriptor_t activation = nullptr;
};

class CudnnConv {
 public:
  // Throws Unsupported where cuDNN has no kernel of the algorithm for it.
  CudnnConv(const ConvSpec& s, Algorithm algorithm, cudnnHandle_t handle)
      : s_(s), algorithm_(algorithm), handle_(handle) {
    Cudnn::Check(cudnn_.TensorCreate(&of_.x), "cudnnCreateTensorDescriptor");
    Cudnn::Check(cudnn_.TensorCreate(&of_.y), "cudnnCreateTensorDescriptor");
    Cudnn::Check(cudnn_.FilterCreate(&of_.w), "cudnnCreateFilterDescriptor");
    Cudnn::Check(cudnn_.ConvCreate(&of_.conv), "cudnnCreateConvolutionDescriptor");
    SetTensor(of_.x, s.x, s.n, s.c, s.in), SetTensor(of_.y, s.y, s.n, s.o, s.out);
    const size_t skip = SkippedAxes(s);
    const std::vector<int> filter = Joined(s.o, s.GroupInputs(), Narrowed(s.kernel, skip));
    Cudnn::Check(cudnn_.FilterSet(of_.w, CudnnType(s.w.dtype), CUDNN_TENSOR_NCHW, static_cast<int>(filter.size()),
                                  filter.data()),
                 "cudnnSetFilterNdDescriptor");
    const std::vector<int> pad = Narrowed(s.pad, skip), stride = Narrowed(s.stride, skip),
                           dilation = Narrowed(s.dilation, skip);
    Cudnn::Check(cudnn_.ConvSet(of_.conv, static_cast<int>(pad.size()), pad.data(), stride.data(), dilation.data(),
                                CUDNN_CROSS_CORRELATION, s.IsF64() ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
                 "cudnnSetConvolutionNdDescriptor");
    Cudnn::Check(cudnn_.ConvSetGroups(of_.conv, static_cast<int>(s.groups)), "cudnnSetConvolutionGroupCount");
    // f32 without tensor cores: with them its operands would be cut to TF32.
    const bool narrow = s.x.dtype == plugin::kF16 || s.x.dtype == plugin::kBF16;
    Cudnn::Check(cudnn_.ConvSetMath(of_.conv, narrow ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH),
                 "cudnnSetConvolutionMathType");
    if (s.has_bias) SetBias();
    Cudnn::Check(cudnn_.ConvWorkspace(handle_, of_.x, of_.w, of_.conv, of_.y, algorithm_, &workspace_bytes_),
                 "cudnnGetConvolutionForwardWorkspaceSize");
  }

  size_t WorkspaceBytes() const { return workspace_bytes_; }

  // Bytes of the addend, laid out as y, that the call with a fused bias takes; 0 if that call is not made.
  uint64_t AddendBytes() const {
    if (of_.activation == nullptr) return 0;
    int64_t last = (s_.n - 1) * s_.y.outer_stride + (s_.o - 1) * s_.y.inner_stride;
    for (size_t axis = 0; axis < 3; ++axis) last += (s_.out[axis] - 1) * s_.y.strides[axis];
    return static_cast<uint64_t>((last + 1) * plugin::Bytes(s_.y.dtype));
  }

  // `zeros`: AddendBytes() of them.
  void Run(const gpu::Bound& at, std::byte* workspace, const std::byte* zeros) const {
    const double wide_factors[] = {1, 0};
    const float factors[] = {1, 0};
    const bool wide = s_.IsF64();
    const void* one = wide ? static_cast<const void*>(&wide_factors[0]) : &factors[0];
    const void* zero = wide ? static_cast<const void*>(&wide_factors[1]) : &factors[1];
    if (of_.activation != nullptr) {
      Cudnn::Check(cudnn_.ConvBiasForward(handle_, one, of_.x, at.Input(0), of_.w, at.Input(1), of_.conv, algorithm_,
                                          workspace, workspace_bytes_, zero, of_.y, zeros, of_.bias, at.Input(2),
                                          of_.activation, of_.y, at.Output()),
                   "cudnnConvolutionBiasActivationForward");
      return;
    }
    Cudnn::Check(cudnn_.ConvForward(handle_, one, of_.x, at.Input(0), of_.w, at.Input(1), of_.conv, algorithm_,
                                    workspace, workspace_bytes_, zero, of_.y, at.Output()),
                 "cudnnConvolutionForward");
    if (of_.bias == nullptr) return;
    Cudnn::Check(cudnn_.AddTensor(handle_, one, of_.bias, at.Input(2), one, of_.y, at.Output()), "cudnnAddTensor");
  }

 private:
  // The one algorithm that cuDNN fuses a bias with (without an activation) adds it before it rounds, the others after.
  void SetBias() {
    Cudnn::Check(cudnn_.TensorCreate(&of_.bias), "cudnnCreateTensorDescriptor");
    std::vector<int> dims(s_.rank == 3 ? 5 : 4, 1), strides(dims);
    dims[1] = strides[0] = static_cast<int>(s_.o);
    Cudnn::Check(cudnn_.TensorSet(of_.bias, CudnnType(s_.bias_dtype), static_cast<int>(dims.size()), dims.data(),
                                  strides.data()),
                 "cudnnSetTensorNdDescriptor");
    if (algorithm_ != kPrecomputed) return;
    Cudnn::Check(cudnn_.ActivationCreate(&of_.activation), "cudnnCreateActivationDescriptor");
    Cudnn::Check(cudnn_.ActivationSet(of_.activation, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0),
                 "cudnnSetActivationDescriptor");
  }

  void SetTensor(cudnnTensorDescriptor_t tensor, const plugin::ConvOperand& operand, int64_t outer, int64_t inner,
                 const plugin::Extents& extents) const {
    const size_t skip = SkippedAxes(s_);
    const std::vector<int> dims = Joined(outer, inner, Narrowed(extents, skip));
    std::vector<int> strides = Joined(operand.outer_stride, operand.inner_stride, Narrowed(operand.strides, skip));
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      if (dims[axis] == 1)
        strides[axis] = axis + 1 < strides.size() ? dims[axis + 1] * std::max(strides[axis + 1], 1) : 1;
    }
    Cudnn::Check(
        cudnn_.TensorSet(tensor, CudnnType(operand.dtype), static_cast<int>(dims.size()), dims.data(), strides.data()),
        "cudnnSetTensorNdDescriptor");
  }

  const ConvSpec s_;
  const Algorithm algorithm_;
  const Cudnn& cudnn_ = Cudnn::Get();
  const cudnnHandle_t handle_;
  ConvDescriptors of_;
  size_t workspace_bytes_ = 0;
};

// The name in NVIDIA's header.
constexpr std::string_view NameOf(Algorithm algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
      return "CUDNN_CONVOLUTION_FWD_ALGO_GEMM";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
      return "CUDNN_CONVOLUTION_FWD_ALGO_FFT";
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
      return "CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
      return "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD";
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      return "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED";
    default:
      return "";
  }
}

template <Algorithm kAlgorithm>
std::unique_ptr<plugin::Plan> CreateCudnnConv(gpu::Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  const auto handle = std::make_shared<CudnnHandle>(device.queue().get());
  const auto conv = std::make_shared<CudnnConv>(plugin::ParseConv(op), kAlgorithm, handle->get());
  std::byte* workspace = plan->Workspace(conv->WorkspaceBytes(), "cuDNN");
  // Its header says act(alpha1 conv + alpha2 z + bias), and not that a z with the factor 0 is left unread: an output in
  // the place of z, which nobody has written yet, could make 0 * NaN.
  std::byte* zeros = nullptr;
  if (const uint64_t bytes = conv->AddendBytes(); bytes > 0) {
    zeros = plan->Workspace(bytes, "cuDNN");
    device.queue().Fill(zeros, 0, bytes);
  }
  plan->SetAlgorithm(std::string(NameOf(kAlgorithm)));
  plan->Add("", [handle, conv, workspace, zeros](const gpu::Bound& at) { conv->Run(at, workspace, zeros); });
  return plan;
}

bool HasDenseFilter(const ConvSpec& s) {
  return s.HasDenseTerms() && (s.o == 1 || s.w.outer_stride == s.Terms());
}

bool FitsInt(const ConvSpec& s) {
  const auto fits = [](int64_t x) { return x >= 0 && x <= std::numeric_limits<int>::max(); };
  for (const plugin::ConvOperand* operand : {&s.x, &s.y}) {
    if (!fits(operand->outer_stride) || !fits(operand->inner_stride)) return false;
    if (!std::ranges::all_of(operand->strides, fits)) return false;
  }
  return fits(s.n) && fits(s.c) && fits(s.o) && fits(s.Terms()) && fits(s.Positions());
}

// Everything that cuDNN is told of a convolution.
std::string TextOf(const ConvSpec& s) {
  std::string text = fmt::format("{} {} {} {} {} {}", s.rank, s.n, s.c, s.o, s.groups, s.has_bias);
  for (const plugin::Extents* extents :
       {&s.in, &s.kernel, &s.stride, &s.pad, &s.dilation, &s.out, &s.x.strides, &s.y.strides}) {
    text += fmt::format(";{}", fmt::join(*extents, " "));
  }
  for (const plugin::ConvOperand* operand : {&s.x, &s.y}) {
    text += fmt::format(";{} {} {}", Name(operand->dtype), operand->outer_stride, operand->inner_stride);
  }
  return text;
}

// Why cuDNN has no kernel of the algorithm for it; "" where it has. Asked once for each, as a case is queried often.
std::string AskCudnn(int device, const ConvSpec& s, Algorithm algorithm) {
  static std::mutex mutex;
  static std::map<std::tuple<int, int, std::string>, std::string> answers;
  const std::scoped_lock lock(mutex);
  const std::tuple question{device, static_cast<int>(algorithm), TextOf(s)};
  if (const auto known = answers.find(question); known != answers.end()) return known->second;
  std::string answer;
  try {
    const CudnnConv asked(s, algorithm, AskingHandle(device));
  } catch (const plugin::Error& error) {
    if (error.status() != ASSAY_UNSUPPORTED) throw;
    answer = error.what();
  }
  return answers[question] = answer;
}

// Checks the conditions of every algorithm first, then asks cuDNN itself.
std::string CudnnConvWhyNot(int device, const ConvSpec& s, Algorithm algorithm) {
  if (!plugin::IsFloat(s.x.dtype) || s.w.dtype != s.x.dtype || s.y.dtype != s.x.dtype) {
    return "cudnn is offered for x, w and y of one type: f64, f32, f16, bf16";
  }
  if (s.has_bias && (s.bias_dtype != s.y.dtype || (s.o > 1 && s.bias_stride != 1))) {
    return "cuDNN takes a contiguous bias in the type of y";
  }
  if (!HasDenseFilter(s)) return "cuDNN needs a dense w";
  if (!FitsInt(s)) return "cuDNN takes extents and strides that fit into an int";
  if (const std::string& reason = Cudnn::Get().why_not(); !reason.empty()) return reason;
  return AskCudnn(device, s, algorithm);
}

std::string PrecomputedWhyNot(const gpu::Traits& traits, const plugin::OpDesc& op) {
  return CudnnConvWhyNot(traits.index, plugin::ParseConv(op), kPrecomputed);
}

// For algorithms beside which a bias is added to the rounded y: in f32 and f64 that is one more sum.
template <Algorithm kAlgorithm>
std::string AddingWhyNot(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.has_bias && s.y.dtype != plugin::kF32 && s.y.dtype != plugin::kF64) {
    return "this algorithm of cuDNN rounds to 16 bits before a bias is added: use cudnn-precomputed";
  }
  return CudnnConvWhyNot(traits.index, s, kAlgorithm);
}

// For algorithms whose intermediate values would be rounded to 16 bits, which no contract here declares.
template <Algorithm kAlgorithm>
std::string F32OnlyWhyNot(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.x.dtype != plugin::kF32) return "offered in f32: in what type it keeps what it transforms is not documented";
  return CudnnConvWhyNot(traits.index, s, kAlgorithm);
}

template <Algorithm kAlgorithm>
std::string CudnnWinogradWhyNot(const gpu::Traits& traits, const plugin::OpDesc& op) {
  if (!plugin::ParseConv(op).IsWinograd()) return "offered for 3x3 kernels without strides and dilation";
  return F32OnlyWhyNot<kAlgorithm>(traits, op);
}

std::string CudnnDirectContract(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  if (s.IsF64()) return "f64";
  return s.x.dtype == plugin::kF32 ? "f32" : "in=exact;" + traits.unit_accumulator;
}

std::string CudnnFftContract(const gpu::Traits&, const plugin::OpDesc&) {
  return "f32;alg=fft";
}

// NVIDIA does not say how large its tiles are: 4 x 4 is the largest that has been seen.
std::string CudnnWinogradContract(const gpu::Traits&, const plugin::OpDesc&) {
  return "f32;alg=winograd<4,3>";
}

constexpr plugin::DType kF32Only[] = {plugin::kF32};

constexpr gpu::Row kCudnnConvRows[] = {
    {{"conv", plugin::kRealTypes, "cudnn-implicit-gemm"},
     CudnnDirectContract,
     AddingWhyNot<kImplicitGemm>,
     CreateCudnnConv<kImplicitGemm>},
    {{"conv", plugin::kRealTypes, "cudnn-precomputed"},
     CudnnDirectContract,
     PrecomputedWhyNot,
     CreateCudnnConv<kPrecomputed>},
    {{"conv", plugin::kRealTypes, "cudnn-gemm"}, CudnnDirectContract, AddingWhyNot<kGemm>, CreateCudnnConv<kGemm>},
    {{"conv", kF32Only, "cudnn-fft"}, CudnnFftContract, F32OnlyWhyNot<kFft>, CreateCudnnConv<kFft>},
    {{"conv", kF32Only, "cudnn-fft-tiling"}, CudnnFftContract, F32OnlyWhyNot<kFftTiling>, CreateCudnnConv<kFftTiling>},
    {{"conv", kF32Only, "cudnn-winograd"},
     CudnnWinogradContract,
     CudnnWinogradWhyNot<kWinograd>,
     CreateCudnnConv<kWinograd>},
    {{"conv", kF32Only, "cudnn-winograd-nonfused"},
     CudnnWinogradContract,
     CudnnWinogradWhyNot<kWinogradNonfused>,
     CreateCudnnConv<kWinogradNonfused>},
};

}  // namespace

std::span<const gpu::Row> CudnnConvRows() {
  return kCudnnConvRows;
}

}  // namespace cuda_backend

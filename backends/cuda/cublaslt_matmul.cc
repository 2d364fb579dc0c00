// SPDX-License-Identifier: Apache-2.0
// matmul by cuBLASLt. `cublaslt`: f64, strict f32, f16, bf16 and i8; `cublaslt-tf32`: f32 operands rounded to TF32;
// `cublaslt-fp8`: e4m3 and e5m2. Row-major operands are columns-first ones of the transposed product: y^T = b^T a^T.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "backends/common/float8.h"
#include "backends/common/matmul_spec.h"
#include "backends/common/status.h"
#include "backends/cuda/cublaslt.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/matrix_layout.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"

namespace cuda_backend {
namespace {

using plugin::DType;
using plugin::kE4M3;
using plugin::kE5M2;
using plugin::MatmulSpec;

constexpr uint64_t kWorkspace = uint64_t{32} << 20;  // what NVIDIA recommends for Hopper

enum class Arithmetic { kStrict, kTf32, kFp8 };

std::optional<cudaDataType_t> LtType(DType d) {
  if (d == plugin::kF64) return CUDA_R_64F;
  if (d == plugin::kF32) return CUDA_R_32F;
  if (d == plugin::kF16) return CUDA_R_16F;
  if (d == plugin::kBF16) return CUDA_R_16BF;
  if (d == plugin::kI8) return CUDA_R_8I;
  if (d == plugin::kI32) return CUDA_R_32I;
  if (d == kE4M3) return CUDA_R_8F_E4M3;
  if (d == kE5M2) return CUDA_R_8F_E5M2;
  return std::nullopt;
}

// Pedantic: neither TF32 nor emulation, whatever the environment asks for.
cublasComputeType_t ComputeType(const MatmulSpec& s, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::kTf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (s.IsInteger()) return CUBLAS_COMPUTE_32I;
  if (s.IsF64()) return CUBLAS_COMPUTE_64F_PEDANTIC;
  return s.a.dtype == plugin::kF32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

// alpha and beta in the type that a product is scaled in.
class Factors {
 public:
  explicit Factors(const MatmulSpec& s) : type_(s.IsF64() ? CUDA_R_64F : s.IsInteger() ? CUDA_R_32I : CUDA_R_32F) {
    Put(s.alpha, alpha_), Put(s.beta, beta_);
  }
  cudaDataType_t type() const { return type_; }
  const void* alpha() const { return &alpha_; }
  const void* beta() const { return &beta_; }

 private:
  union Factor {
    double f64;
    float f32;
    int32_t i32;
  };
  void Put(double value, Factor& factor) const {
    if (type_ == CUDA_R_64F) factor.f64 = value;
    if (type_ == CUDA_R_32F) factor.f32 = static_cast<float>(value);
    if (type_ == CUDA_R_32I) factor.i32 = static_cast<int32_t>(value);
  }

  const cudaDataType_t type_;
  Factor alpha_{}, beta_{};
};

// Partial sums in the output's type would be an intermediate rounding that no contract here declares.
uint32_t ReductionSchemes(const MatmulSpec& s) {
  const bool wide = s.y.dtype == plugin::kF32 || s.y.dtype == plugin::kF64;
  return wide ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

class LtProduct {
 public:
  LtProduct(const MatmulSpec& s, Arithmetic arithmetic, std::byte* workspace)
      : s_(s), factors_(s), workspace_(workspace), lt_(CublasLt::Get()) {
    lt_.Check(lt_.Create(&handle_), "cublasLtCreate");
    lt_.Check(lt_.DescCreate(&product_, ComputeType(s, arithmetic), factors_.type()), "cublasLtMatmulDescCreate");
    const ColumnMajor first = *AsColumnMajor(s.b, s.k, s.n), second = *AsColumnMajor(s.a, s.m, s.k);
    SetOperation(CUBLASLT_MATMUL_DESC_TRANSA, first.transposed);
    SetOperation(CUBLASLT_MATMUL_DESC_TRANSB, second.transposed);
    layouts_[0] = Layout(s.b, first), layouts_[1] = Layout(s.a, second);
    const plugin::Matrix& addend = s.c.input >= 0 ? s.c : s.y;
    layouts_[2] = Layout(addend, *AsColumnMajor(addend, s.m, s.n)),
    layouts_[3] = Layout(s.y, *AsColumnMajor(s.y, s.m, s.n));
    if (s.bias.input < 0) return;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType_t type = *LtType(s.bias.dtype);
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue), Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
  }
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;
  ~LtProduct() {
    for (const cublasLtMatrixLayout_t layout : layouts_) {
      if (layout != nullptr) (void)lt_.LayoutDestroy(layout);
    }
    if (product_ != nullptr) (void)lt_.DescDestroy(product_);
    if (handle_ != nullptr) (void)lt_.Destroy(handle_);
  }

  void Run(const gpu::Bound& at) {
    const void *a = at.Input(s_.a.input), *b = at.Input(s_.b.input);
    void* y = at.Output();
    const void* c = s_.c.input >= 0 ? at.Input(s_.c.input) : y;
    if (s_.bias.input >= 0) {
      const void* bias = at.Input(s_.bias.input);
      Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const cublasLtMatmulHeuristicResult_t& chosen =
        ChosenFor({AlignmentOf(b), AlignmentOf(a), AlignmentOf(c), AlignmentOf(y)});
    lt_.Check(
        lt_.Matmul(handle_, product_, factors_.alpha(), b, layouts_[0], a, layouts_[1], factors_.beta(), c, layouts_[2],
                   y, layouts_[3], &chosen.algo, workspace_, kWorkspace, static_cast<cudaStream_t>(at.stream())),
        "cublasLtMatmul");
  }

 private:
  using Alignments = std::array<uint32_t, 4>;

  template <class Value>
  void Set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    lt_.Check(lt_.DescSet(product_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  void SetOperation(cublasLtMatmulDescAttributes_t attribute, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    Set(attribute, operation);
  }

  cublasLtMatrixLayout_t Layout(const plugin::Matrix& matrix, const ColumnMajor& shape) {
    cublasLtMatrixLayout_t layout = nullptr;
    lt_.Check(lt_.LayoutCreate(&layout, *LtType(matrix.dtype), static_cast<uint64_t>(shape.rows),
                               static_cast<uint64_t>(shape.columns), shape.leading),
              "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<int32_t>(s_.batch);
    const int64_t stride = matrix.batch_stride;
    lt_.Check(lt_.LayoutSet(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "batch count");
    lt_.Check(lt_.LayoutSet(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
              "batch offset");
    return layout;
  }

  // The library's first choice among what takes operands of these alignments. It would otherwise count on 256 bytes.
  const cublasLtMatmulHeuristicResult_t& ChosenFor(const Alignments& alignments) {
    const auto known = chosen_.find(alignments);
    if (known != chosen_.end()) return known->second;
    cublasLtMatmulPreference_t preference = nullptr;
    lt_.Check(lt_.PreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      return lt_.PreferenceSet(preference, attribute, &value, sizeof value);
    };
    const uint32_t schemes = ReductionSchemes(s_);
    cublasStatus_t status = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    if (status == CUBLAS_STATUS_SUCCESS) status = set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    constexpr std::array kAttributes{
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < kAttributes.size() && status == CUBLAS_STATUS_SUCCESS; ++i) {
      status = set(kAttributes[i], alignments[i]);
    }
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = lt_.Heuristic(handle_, product_, layouts_[0], layouts_[1], layouts_[2], layouts_[3], preference, 1,
                             &result, &found);
    }
    (void)lt_.PreferenceDestroy(preference);
    lt_.Check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw plugin::Unsupported("cuBLASLt has no algorithm for these operands");
    return chosen_.emplace(alignments, result).first->second;
  }

  const MatmulSpec s_;
  const Factors factors_;
  std::byte* const workspace_;
  const CublasLt& lt_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 4> layouts_{};
  std::map<Alignments, cublasLtMatmulHeuristicResult_t> chosen_;
};

template <Arithmetic kArithmetic>
std::unique_ptr<plugin::Plan> CreateLt(gpu::Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  const auto product =
      std::make_shared<LtProduct>(plugin::ParseMatmul(op), kArithmetic, plan->Workspace(kWorkspace, "cuBLASLt"));
  plan->SetAlgorithm("cublasLtMatmul, the first choice of its heuristic");
  plan->Add("", [product](const gpu::Bound& at) { product->Run(at); });
  return plan;
}

// Checks the conditions that hold for every arithmetic.
std::string LtWhyNot(const MatmulSpec& s) {
  if (s.IsEmpty()) return "matmul with an extent below 1";
  if (s.batch > 65535) return "cuBLASLt takes up to 65535 products of a batch here";
  if (s.epilogue_rounded) return "cuBLASLt rounds after the epilogue only";
  if (!AsColumnMajor(s.a, s.m, s.k) || !AsColumnMajor(s.b, s.k, s.n))
    return "cuBLASLt needs a and b contiguous along an axis";
  const auto is_plain = [&](const plugin::Matrix& x) {
    const auto layout = AsColumnMajor(x, s.m, s.n);
    return layout && !layout->transposed;
  };
  if (!is_plain(s.y) || (s.c.input >= 0 && !is_plain(s.c))) return "cuBLASLt needs the rows of y and c contiguous";
  if (s.c.input >= 0 && s.c.dtype != s.y.dtype) return "cuBLASLt takes c in the type of y";
  if (s.bias.input >= 0 && (s.bias.column_stride != 1 || s.bias.dtype != s.y.dtype)) {
    return "cuBLASLt takes a contiguous bias in the type of y";
  }
  return CublasLt::Get().why_not();
}

// Both operands along k; k, n and the distances of rows and of matrices multiples of so many elements.
bool AreDenseAlongK(const MatmulSpec& s, int64_t multiple) {
  if (s.a.column_stride != 1 || s.b.row_stride != 1) return false;
  std::vector<int64_t> steps = {s.k, s.n};
  if (s.m > 1) steps.insert(steps.end(), {s.a.row_stride, s.y.row_stride});
  if (s.n > 1) steps.push_back(s.b.column_stride);
  if (s.batch > 1) steps.insert(steps.end(), {s.a.batch_stride, s.b.batch_stride, s.y.batch_stride});
  return std::ranges::all_of(steps, [&](int64_t step) { return step % multiple == 0; });
}

// cuBLAS 13, "cublasLtMatmul": i8 on integer tensor cores with operands in their usual order.
std::string IntegerWhyNot(const MatmulSpec& s) {
  if (std::string reason = plugin::IntegerMatmulWhyNot(s, std::numeric_limits<int16_t>::max()); !reason.empty()) {
    return reason;
  }
  if (s.bias.input >= 0) return "cuBLASLt adds no bias to a product in i32";
  if (!AreDenseAlongK(s, 4)) {
    return "cuBLASLt multiplies i8 with both operands contiguous along k, and k, n and rows multiples of 4";
  }
  return LtWhyNot(s);
}

std::string StrictWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.IsInteger()) return IntegerWhyNot(s);
  if (s.a.dtype != s.b.dtype || !plugin::IsFloat(s.a.dtype))
    return "cublaslt takes a and b of one type: f64, f32, f16, bf16, and i8 for i32";
  const bool narrow = s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16;
  if (s.y.dtype != s.a.dtype && !(narrow && s.y.dtype == plugin::kF32))
    return "cublaslt gives the operands' type, or f32";
  return LtWhyNot(s);
}

std::string Tf32WhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.a.dtype != plugin::kF32 || s.b.dtype != plugin::kF32 || s.y.dtype != plugin::kF32)
    return "TF32 is for f32 operands";
  return LtWhyNot(s);
}

std::string Fp8WhyNot(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const auto is_fp8 = [](DType d) { return d == kE4M3 || d == kE5M2; };
  if (!is_fp8(s.a.dtype) || !is_fp8(s.b.dtype)) return "cublaslt-fp8 is for f8e4m3fn and f8e5m2 operands";
  if (!traits.has_fp8) return fmt::format("{} has no fp8: sm_89 and later have", traits.name);
  if (s.a.dtype == kE5M2 && s.b.dtype == kE5M2) return "cuBLASLt takes no two operands in f8e5m2";
  if (s.y.dtype != plugin::kF32 && s.y.dtype != plugin::kF16 && s.y.dtype != plugin::kBF16) {
    return "cublaslt-fp8 gives f32, f16 or bf16 here";
  }
  // Both along k, the only layout that it has on every architecture.
  if (!AreDenseAlongK(s, 16)) {
    return "cuBLASLt multiplies fp8 with both operands contiguous along k, and k, n and rows multiples of 16";
  }
  return LtWhyNot(s);
}

std::string StrictContract(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.IsInteger()) return "acc=i32";
  if (s.IsF64()) return "f64";
  return s.a.dtype == plugin::kF32 ? "f32" : "in=exact;" + traits.unit_accumulator;
}

// The unit would cut f32 operands off. cuBLASLt's kernels round them to nearest first: on an H100 f32's largest numbers
// became infinite, and every result was that of such operands.
std::string Tf32Contract(const gpu::Traits& traits, const plugin::OpDesc&) {
  return "in=tf32rn;" + TensorCoreAccumulator(traits.major, 8);
}

// Ada and Hopper keep 13 bits of a sum of fp8 products; Ada takes an instruction in two halves.
std::string Fp8Contract(const gpu::Traits& traits, const plugin::OpDesc&) {
  if (traits.major >= 10) return "in=exact;acc=tc<25,32>";
  return traits.major == 9 ? "in=exact;acc=tc<13,32>" : "in=exact;acc=tc<13,16>";
}

constexpr plugin::DType kTf32Types[] = {plugin::kF32}, kFp8Types[] = {kE4M3, kE5M2};

constexpr gpu::Row kCublasLtRows[] = {
    {{"matmul", plugin::kRealTypesAndI8, "cublaslt"}, StrictContract, StrictWhyNot, CreateLt<Arithmetic::kStrict>},
    {{"matmul", kTf32Types, "cublaslt-tf32"}, Tf32Contract, Tf32WhyNot, CreateLt<Arithmetic::kTf32>},
    {{"matmul", kFp8Types, "cublaslt-fp8"}, Fp8Contract, Fp8WhyNot, CreateLt<Arithmetic::kFp8>},
};

}  // namespace

std::span<const gpu::Row> CublasLtRows() {
  return kCublasLtRows;
}

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
// attention by cuDNN's fused operation, through the graph API without its C++ front end. What lies between the two
// products (causality, masks) needs a subgraph, which this version of the API does not have: it is offered without.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backends/common/attention_spec.h"
#include "backends/common/status.h"
#include "backends/cuda/cudnn_library.h"
#include "backends/cuda/matrix_layout.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"

namespace cuda_backend {
namespace {

using plugin::AttentionSpec;

constexpr int64_t kOperandAlignment = 16;
constexpr int64_t kMostEngines = 8;

// An owned descriptor of the graph API.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    Cudnn::Check(Cudnn::Get().BackendCreate(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) (void)Cudnn::Get().BackendDestroy(descriptor_);
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void* values) {
    Cudnn::Check(Cudnn::Get().BackendSet(descriptor_, name, type, count, values), "cudnnBackendSetAttribute");
    return *this;
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    const cudnnBackendDescriptor_t value = other.get();
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
  }
  Descriptor& Finalize() {
    Cudnn::Check(Cudnn::Get().BackendFinalize(descriptor_), "cudnnBackendFinalize");
    return *this;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

Descriptor TensorOf(int64_t id, cudnnDataType_t type, const std::array<int64_t, 4>& shape,
                    const std::array<int64_t, 4>& strides, bool by_value) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, shape.data());
  tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kOperandAlignment);
  if (by_value) tensor.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  tensor.Finalize();
  return tensor;
}

class FusedAttention {
 public:
  FusedAttention(const AttentionSpec& a, void* stream)
      : scale_(static_cast<float>(a.scale)), handle_(stream), graph_(Graph(a)), plan_(FirstPlan()) {
    int64_t bytes = 0, count = 0;
    Cudnn::Check(Cudnn::Get().BackendGet(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         &count, &bytes),
                 "workspace size of an execution plan");
    workspace_bytes_ = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  }

  uint64_t WorkspaceBytes() const { return workspace_bytes_; }

  void Run(const gpu::Bound& at, std::byte* workspace) {
    const std::array<int64_t, 5> ids{kQ, kK, kV, kO, kScale};
    std::array<void*, 5> data{at.Input(0), at.Input(1), at.Input(2), at.Output(), &scale_};
    for (size_t i = 0; i < 4; ++i) {
      if (AlignmentOf(data[i]) < kOperandAlignment) {
        throw plugin::Unsupported("cuDNN's fused attention needs operands at multiples of {} bytes", kOperandAlignment);
      }
    }
    void* work = workspace;
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 5, ids.data());
    pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 5, data.data());
    pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &work);
    pack.Finalize();
    Cudnn::Check(Cudnn::Get().BackendExecute(handle_.get(), plan_.get(), pack.get()), "cudnnBackendExecute");
  }

 private:
  static constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4, kScale = 5;

  Descriptor Graph(const AttentionSpec& a) const {
    const cudnnDataType_t type = CudnnType(a.dtype);
    const Descriptor q = TensorOf(kQ, type, {a.batch, a.heads, a.l, a.d}, a.q, false);
    const Descriptor k = TensorOf(kK, type, {a.batch, a.kv_heads, a.s, a.d}, a.k, false);
    const Descriptor v = TensorOf(kV, type, {a.batch, a.kv_heads, a.s, a.dv}, a.v, false);
    const Descriptor o = TensorOf(kO, type, {a.batch, a.heads, a.l, a.dv}, a.o, false);
    const Descriptor scale = TensorOf(kScale, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, true);
    Descriptor operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, q).Set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, k);
    operation.Set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, v).Set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, o);
    operation.Set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, scale).Finalize();
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    const cudnnHandle_t handle = handle_.get();
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation).Finalize();
    return graph;
  }

  // The first configuration that cuDNN proposes and that can be made into a plan.
  Descriptor FirstPlan() const {
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode).Finalize();
    std::vector<Descriptor> configurations;
    std::array<cudnnBackendDescriptor_t, kMostEngines> raw{};
    for (cudnnBackendDescriptor_t& one : raw) {
      configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      one = configurations.back().get();
    }
    int64_t count = 0;
    Cudnn::Check(Cudnn::Get().BackendGet(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                         kMostEngines, &count, raw.data()),
                 "engine configurations of a graph");
    const cudnnHandle_t handle = handle_.get();
    for (int64_t i = 0; i < std::min(count, kMostEngines); ++i) {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
      plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[static_cast<size_t>(i)]);
      if (Cudnn::Get().BackendFinalize(plan.get()) == CUDNN_STATUS_SUCCESS) return plan;
    }
    throw plugin::Unsupported("none of the {} engines that cuDNN proposes takes these operands", count);
  }

  float scale_;
  CudnnHandle handle_;
  Descriptor graph_, plan_;
  uint64_t workspace_bytes_ = 0;
};

std::unique_ptr<plugin::Plan> CreateFused(gpu::Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  const auto fused = std::make_shared<FusedAttention>(plugin::ParseAttention(op), device.queue().get());
  std::byte* workspace = plan->Workspace(fused->WorkspaceBytes());
  plan->Add([fused, workspace](const gpu::Bound& at) { fused->Run(at, workspace); });
  return plan;
}

std::string FusedWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  if (a.dtype != plugin::kF16 && a.dtype != plugin::kBF16) return "cuDNN's fused attention is in f16 and bf16";
  if (a.causal || a.window > 0 || a.softcap > 0 || a.mask_kind != plugin::MaskKind::kNone) {
    return "cuDNN's fused attention is offered without causality, window, softcap and mask";
  }
  if (a.d % 8 != 0 || a.dv % 8 != 0) return "cuDNN's fused attention takes head dimensions that are multiples of 8";
  for (const AttentionSpec::Strides* strides : {&a.q, &a.k, &a.v, &a.o}) {
    if ((*strides)[3] != 1) return "cuDNN's fused attention needs contiguous rows";
  }
  return Cudnn::Get().why_not();
}

// How exact its exponential is NVIDIA does not say: the weakest that suites take.
std::string FusedContract(const gpu::Traits& traits, const plugin::OpDesc& op) {
  return fmt::format("in=exact;{};mid={};math=256", traits.unit_accumulator, Name(plugin::ParseAttention(op).dtype));
}

constexpr gpu::Row kFusedRows[] = {{"attention", "cudnn-fused", FusedContract, FusedWhyNot, CreateFused}};

}  // namespace

std::span<const gpu::Row> CudnnAttentionRows() {
  return kFusedRows;
}

}  // namespace cuda_backend

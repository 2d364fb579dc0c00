// SPDX-License-Identifier: Apache-2.0
// attention by cuDNN's fused kernels.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backends/common/status.h"
#include "backends/cuda/cudnn_attention_graph.h"
#include "backends/cuda/matrix_layout.h"
#include "backends/cuda/rows.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"

namespace cuda_backend {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;

class FusedAttention {
 public:
  FusedAttention(const AttentionSpec& a, void* stream)
      : inputs_(a.mask_kind == MaskKind::kNone ? 3 : 4),
        handle_(stream),
        graph_(AttentionGraph(a)),
        plan_(graph_.Compile({.handle = handle_.get()})) {
    int64_t bytes = 0, count = 0;
    Cudnn::Check(Cudnn::Get().BackendGet(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         &count, &bytes),
                 "workspace size of an execution plan");
    workspace_bytes_ = static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
  }

  uint64_t WorkspaceBytes() const { return workspace_bytes_; }

  void Run(const gpu::Bound& at, std::byte* workspace) {
    std::vector<void*> operands;
    for (int i = 0; i < inputs_; ++i) operands.push_back(at.Input(i));
    operands.push_back(at.Output());
    for (const void* operand : operands) {
      if (AlignmentOf(operand) < OperationGraph::kOperandAlignment) {
        throw plugin::Unsupported("cuDNN's fused attention needs operands at multiples of {} bytes",
                                  OperationGraph::kOperandAlignment);
      }
    }
    graph_.Execute(handle_.get(), plan_, operands, workspace);
  }

 private:
  const int inputs_;
  CudnnHandle handle_;
  OperationGraph graph_;
  Descriptor plan_;
  uint64_t workspace_bytes_ = 0;
};

std::unique_ptr<plugin::Plan> CreateFused(gpu::Device& device, const plugin::OpDesc& op) {
  auto plan = std::make_unique<gpu::KernelPlan>(device, op);
  const auto fused = std::make_shared<FusedAttention>(plugin::ParseAttention(op), device.queue().get());
  std::byte* workspace = plan->Workspace(fused->WorkspaceBytes(), "cuDNN");
  plan->SetAlgorithm("cudnnBackendExecute, the first engine that CUDNN_HEUR_MODE_A proposes and that takes it");
  plan->Add("", [fused, workspace](const gpu::Bound& at) { fused->Run(at, workspace); });
  return plan;
}

std::string FusedWhyNot(const gpu::Traits&, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  if (std::string reason = plugin::FloatAttentionWhyNot(a, op); !reason.empty()) return reason;
  if (std::string reason = FusedAttentionWhyNot(a); !reason.empty()) return reason;
  return Cudnn::Get().why_not();
}

// How exact its exponential is NVIDIA does not say: the weakest that suites take. For tanh it may use tanh.approx,
// which is good to 2^-10.987 of the result (PTX ISA). Nor does it say what it makes of a row whose keys an added mask
// takes away; causality and windows leave every query a key here. Results below the smallest normal number came out as
// zero on an H100.
std::string FusedContract(const gpu::Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  return fmt::format("in=exact;{};mid={};math={};ftz=all{}", traits.unit_accumulator, Name(a.dtype),
                     a.softcap > 0 ? "8192" : "256", a.mask_kind == MaskKind::kAdd ? ";masked=any" : "");
}

constexpr gpu::Row kFusedRows[] = {
    {{"attention", plugin::kHalfTypes, "cudnn-fused"}, FusedContract, FusedWhyNot, CreateFused, true},
};

}  // namespace

std::span<const gpu::Row> CudnnAttentionRows() {
  return kFusedRows;
}

}  // namespace cuda_backend

// SPDX-License-Identifier: Apache-2.0
// oneDNN on the host CPU. Every implementation that the library's own iteration offers is listed and run apart, so
// that its just-in-time kernels and its reference code are judged each on its own.
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/onednn/attention.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/problem.h"

namespace onednn {
namespace {

// Explains why oneDNN does not offer an operator of assay: it lacks it, or defines it differently.
std::string ExplainMissingOperator(const std::string& op) {
  const std::pair<std::string_view, std::string_view> reasons[] = {
      {"erf", "oneDNN has the error function inside gelu alone"},
      {"sin", "oneDNN has no sine"},
      {"cos", "oneDNN has no cosine"},
      {"pow", "oneDNN's power has one exponent for all elements"},
      {"silu_and_mul", "oneDNN's swish has one operand, and its product with the other half would be rounded apart"},
      {"rms_norm", "oneDNN's layer normalisation takes off the mean"},
      {"fused_add_rms_norm", "oneDNN's layer normalisation takes off the mean"},
      {"group_norm", "oneDNN has group normalisation from 3.3 on alone, and this plugin takes what 2.6 has too"},
      {"quantize", "oneDNN 2.6 multiplies where quantize divides by a scale, and this plugin makes no reciprocals"},
      {"dequantize", "oneDNN 2.6 fixes scales and zeros when a reorder is made, where dequantize has operands"},
      {"rope", "oneDNN has no rotation of pairs"},
      {"gather", "oneDNN has no primitive that reads places from an operand"},
      {"scatter_add", "oneDNN has no primitive that reads places from an operand"},
      {"cumsum", "oneDNN has no running sums"},
      {"selective_scan", "oneDNN's recurrences are those of RNN, LSTM and GRU cells"},
      {"sort", "oneDNN does not order elements"},
      {"top_k", "oneDNN does not order elements"},
      {"fft", "oneDNN has no Fourier transform"},
  };
  for (const auto& [name, reason] : reasons) {
    if (op == name) return fmt::format("no operator '{}' in this backend: {}", op, reason);
  }
  return fmt::format(
      "no operator '{}' in this backend; it has: attention, conv, exp, gelu, layer_norm, layer_norm_backward, log, "
      "matmul, reduce, rsqrt, softmax, softmax_backward, tanh",
      op);
}

std::vector<Problem> MakeProblems(const plugin::OpDesc& op, const dnnl::engine& engine) {
  const auto one = [](Problem problem) { return std::vector<Problem>{std::move(problem)}; };
  if (op.name() == "matmul") return one(MatmulProblem(op, engine));
  if (op.name() == "reduce") return one(ReduceProblem(op, engine));
  if (op.name() == "conv") return ConvProblems(op, engine);
  if (op.name() == "softmax") return one(SoftmaxProblem(op, engine));
  if (op.name() == "softmax_backward") return one(SoftmaxBackwardProblem(op, engine));
  if (op.name() == "layer_norm") return one(LayerNormProblem(op, engine));
  if (op.name() == "layer_norm_backward") return one(LayerNormBackwardProblem(op, engine));
  for (const char* function : {"exp", "gelu", "log", "rsqrt", "tanh"}) {
    if (op.name() == function) return one(ElementwiseProblem(op, engine));
  }
  throw plugin::Unsupported("{}", ExplainMissingOperator(op.name()));
}

std::string NameOf(const Problem& problem) {
  return CleanName(problem.descriptor.pd.impl_info_str()) + problem.suffix;
}

// An implementation of the reordered kind that needs no reorder is the plain one again; so are the reference loops.
bool IsOffered(const Problem& problem, const dnnl::engine& engine) {
  const bool reference = CleanName(problem.descriptor.pd.impl_info_str()).starts_with("ref");
  if (reference && !problem.suffix.empty()) return false;
  if (problem.keeps_promise && !problem.keeps_promise(NameOf(problem))) return false;
  if (WritesPastItsOutput(NameOf(problem), {dnnl_version()->major, dnnl_version()->minor})) return false;
  const Placement placement = PlacementOf(problem, engine);
  return placement == Placement::kReordered || (placement == Placement::kAsGiven && problem.suffix.empty());
}

// The library's reference loops run at some 0.1 G multiply-adds a second, a thousandth of its kernels: on large work
// they are offered only where there is nothing else, or when ASSAY_ONEDNN_REFERENCE=1 asks for them.
bool TooSlow(const std::string& implementation, const Problem& problem) {
  constexpr double kLimit = 1 << 22;
  const char* wanted = std::getenv("ASSAY_ONEDNN_REFERENCE");
  const bool always = wanted != nullptr && std::string_view(wanted) == "1";
  return !always && implementation.starts_with("ref") && problem.multiply_adds > kLimit;
}

class OneDnnDevice : public plugin::HostDevice {
 public:
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    if (op.name() == "attention") return QueryAttention(op, engine_);
    std::vector<plugin::Implementation> found, slow;
    std::set<std::string> names;
    for (Problem& problem : MakeProblems(op, engine_)) {
      do {
        const std::string name = NameOf(problem);
        if (!IsOffered(problem, engine_) || !names.insert(name).second) continue;
        (TooSlow(name, problem) ? slow : found).push_back({name, problem.contract(name)});
      } while (problem.descriptor.pd.next_impl());
    }
    if (found.empty()) found = std::move(slow);
    if (found.empty()) {
      throw plugin::Unsupported("{} {}: no implementation can take these strides", op.name(), op.DTypesText());
    }
    return found;
  }

  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    if (op.name() == "attention") return CreateAttention(op, engine_);
    for (Problem& problem : MakeProblems(op, engine_)) {
      do {
        if (NameOf(problem) == implementation && IsOffered(problem, engine_))
          return std::make_unique<PrimitivePlan>(problem, implementation, engine_);
      } while (problem.descriptor.pd.next_impl());
    }
    throw plugin::Failure("no implementation '{}' of {} {}; take a name from query()", implementation, op.name(),
                          op.DTypesText());
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

std::string Threads() {
  const char* omp = std::getenv("OMP_NUM_THREADS");
  return omp != nullptr && *omp != '\0' ? omp : std::to_string(std::thread::hardware_concurrency());
}

class OneDnnBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"onednn", "assay", "0.1.0", LibraryVersion()}; }

  std::vector<plugin::DeviceInfo> Devices() override {
    return {{"host", LibraryVersion(), ASSAY_DEVICE_CPU, 0, plugin::HostMemoryBytes(),
             fmt::format("isa={};runtime={};threads={};fpmath=strict", IsaName(), RuntimeName(), Threads()),
             plugin::kHostAlignment}};
  }

  std::unique_ptr<plugin::Device> Open(uint32_t) override {
    // Without the cache the iteration begins with the library's own first choice each time, and preparing a plan
    // measures a cold start.
    dnnl::set_primitive_cache_capacity(0);
    return std::make_unique<OneDnnDevice>();
  }
};

}  // namespace
}  // namespace onednn

ASSAY_PLUGIN(onednn::OneDnnBackend)

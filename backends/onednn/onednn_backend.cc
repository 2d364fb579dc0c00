// SPDX-License-Identifier: Apache-2.0
// oneDNN on the host CPU. Every implementation that the library's own iteration offers is listed and run apart, so
// that its just-in-time kernels and its reference code are judged each on its own.
#include <cstdlib>
#include <set>
#include <thread>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/onednn/attention.h"
#include "backends/onednn/library.h"
#include "backends/onednn/problem.h"

namespace onednn {
namespace {

Problem MakeProblem(const plugin::OpDesc& op, const dnnl::engine& engine) {
  if (op.name() == "matmul") return MatmulProblem(op, engine);
  if (op.name() == "reduce") return ReduceProblem(op, engine);
  if (op.name() == "softmax") return SoftmaxProblem(op, engine);
  throw plugin::Unsupported("no operator '{}' in this backend; it has: attention, matmul, reduce, softmax", op.name());
}

class OneDnnDevice : public plugin::HostDevice {
 public:
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    if (op.name() == "attention") return QueryAttention(op, engine_);
    Problem problem = MakeProblem(op, engine_);
    std::vector<plugin::Implementation> found;
    std::set<std::string> names;
    do {
      const std::string name = CleanName(problem.descriptor.pd.impl_info_str());
      if (names.insert(name).second) found.push_back({name, problem.contract(name)});
    } while (problem.descriptor.pd.next_impl());
    return found;
  }

  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    if (op.name() == "attention") return CreateAttention(op, engine_);
    Problem problem = MakeProblem(op, engine_);
    do {
      if (CleanName(problem.descriptor.pd.impl_info_str()) == implementation) {
        return std::make_unique<PrimitivePlan>(problem, engine_);
      }
    } while (problem.descriptor.pd.next_impl());
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
             fmt::format("isa={};runtime={};threads={};fpmath=strict", IsaName(), RuntimeName(), Threads())}};
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

// SPDX-License-Identifier: Apache-2.0
// oneDNN on the host CPU. Every implementation that the library's own iteration offers is listed and run apart, so
// that its just-in-time kernels and its reference code are judged each on its own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/onednn/kernels.h"
#include "backends/onednn/library.h"
#include "backends/onednn/operators.h"

namespace onednn {
namespace {

std::span<const Row> Rows() {
  static const std::vector<Row> all =
      plugin::JoinRows<Row>({AttentionRows(), BinaryRows(), ChannelNormRows(), ConvGradientRows(), ConvRows(),
                             ElementwiseRows(), MatmulRows(), NormRows(), PoolingRows(), ReduceRows(), ReorderRows(),
                             ResizeRows(), ScaledProductRows(), SoftmaxRows()});
  return all;
}

const Row& RowFor(const plugin::OpDesc& op) {
  const auto row = std::ranges::find_if(Rows(), [&](const Row& r) { return op.name() == r.op; });
  if (row == Rows().end()) plugin::RefuseOperator(Rows(), op);
  if (const std::string reason = plugin::TypeWhyNot(*row, op); !reason.empty()) throw plugin::Unsupported("{}", reason);
  return *row;
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
    const Row& row = RowFor(op);
    if (row.compose != nullptr) {
      row.compose(op, engine_);  // refuses what it does not take
      return {{row.name, row.contract(op, row.name)}};
    }
    std::vector<plugin::Implementation> found, slow;
    std::set<std::string> names;
    for (Problem& problem : row.problems(op, engine_)) {
      do {
        const std::string name = NameOf(problem);
        if (!IsOffered(problem, engine_) || !names.insert(name).second) continue;
        (TooSlow(name, problem) ? slow : found).push_back({name, row.contract(op, name)});
      } while (problem.descriptor.Advance());
    }
    if (found.empty()) found = std::move(slow);
    if (found.empty()) {
      throw plugin::Unsupported("{} {}: no implementation can take these strides", op.name(), op.DTypesText());
    }
    return found;
  }

  std::vector<plugin::Capability> Capabilities() override {
    return plugin::CapabilitiesOf(Rows(), [](plugin::DType type) { return type != plugin::kBF16 || HasBf16(); });
  }

  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    const Row& row = RowFor(op);
    if (row.compose != nullptr) return row.compose(op, engine_);
    for (Problem& problem : row.problems(op, engine_)) {
      do {
        if (NameOf(problem) == implementation && IsOffered(problem, engine_))
          return std::make_unique<PrimitivePlan>(problem, implementation, engine_);
      } while (problem.descriptor.Advance());
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

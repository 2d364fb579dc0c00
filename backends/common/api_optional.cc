// SPDX-License-Identifier: Apache-2.0
// The C functions that a backend may lack. Where a device does not override what is behind them, they answer
// ASSAY_UNSUPPORTED.
#include <algorithm>
#include <deque>
#include <mutex>

#include "backends/common/api_parts.h"
#include "backends/common/args.h"
#include "backends/common/backend.h"

namespace plugin {
namespace {

// A table as the C side sees it, with all that it points to.
class CapabilityList {
 public:
  explicit CapabilityList(std::vector<Capability> lines) : lines_(std::move(lines)) {
    raw_.reserve(lines_.size());
    for (const Capability& line : lines_) {
      assay_capability raw{};
      raw.struct_size = sizeof raw;
      raw.op = line.op.c_str();
      raw.type_code = line.dtype.code;
      raw.bits = line.dtype.bits;
      raw.features = line.features.c_str();
      pointers_.push_back(&raw_.emplace_back(raw));
    }
    list_ = {sizeof list_, pointers_.size(), pointers_.data()};
  }
  CapabilityList(const CapabilityList&) = delete;  // its pointers lead into itself
  CapabilityList& operator=(const CapabilityList&) = delete;

  bool Has(const std::vector<Capability>& lines) const {
    const auto same = [](const Capability& a, const Capability& b) {
      return a.op == b.op && a.dtype == b.dtype && a.features == b.features;
    };
    return std::ranges::equal(lines_, lines, same);
  }
  const assay_capabilities* get() const { return &list_; }

 private:
  std::vector<Capability> lines_;
  std::vector<assay_capability> raw_;
  std::vector<const assay_capability*> pointers_;
  assay_capabilities list_{};
};

// Lives as long as the library: one per distinct table, however often it is asked for.
const assay_capabilities* Keep(std::vector<Capability> lines) {
  static std::mutex mutex;
  static auto* const kept = new std::deque<CapabilityList>;
  const std::lock_guard lock(mutex);
  for (const CapabilityList& list : *kept) {
    if (list.Has(lines)) return list.get();
  }
  return kept->emplace_back(std::move(lines)).get();
}

assay_status GetPlanInfo(const assay_plan* plan, assay_plan_info* out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("plan_info", plan, out);
    if (!plan->info) plan->info = plan->plan->Info();
    Set(out, &assay_plan_info::workspace_bytes, plan->info->workspace_bytes);
    Set(out, &assay_plan_info::algorithm, plan->info->algorithm.c_str());
    Set(out, &assay_plan_info::kernel, plan->info->kernel.c_str());
  });
}

assay_status GetCapabilities(assay_device* device, const assay_capabilities** out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("capabilities", device, out);
    *out = Keep(device->device->Capabilities());
  });
}

}  // namespace

void SetOptionalFunctions(assay_backend_api& api) {
  api.plan_info = GetPlanInfo;
  api.capabilities = GetCapabilities;
}

}  // namespace plugin

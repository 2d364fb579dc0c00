// SPDX-License-Identifier: Apache-2.0
// The backend "corpus": every entry as an implementation on the host.
#include <algorithm>
#include <map>

#include "backends/common/host.h"
#include "backends/common/status.h"
#include "tests/faults/corpus/entry.h"

namespace corpus {
namespace {

constexpr std::string_view kFault = "fault.", kEffect = ".effect";

const std::vector<Entry>& KeptEntriesOf(const std::string& op) {
  static std::map<std::string, std::vector<Entry>> kept;
  const auto [place, is_new] = kept.try_emplace(op);
  if (is_new) place->second = EntriesOf(op);
  return place->second;
}

// The faults in exact arithmetic are for descriptions with a double output alone: those that no operator has but the
// one that asks for an effect, and f64 itself.
bool TakesEffects(const plugin::OpDesc& op) {
  return std::ranges::all_of(
      op.outputs(), [](const plugin::Tensor& y) { return y.dtype == plugin::kF64 || y.dtype == plugin::kC128; });
}

// Marks attributes that no entry reads: they follow from the operands, or only matter for other values of the
// attributes.
void NameWhatFollows(const plugin::OpDesc& op) {
  op.MayIgnore({"shape", "tie", "mask_per_head", "result_dtype"});
}

class CorpusDevice : public plugin::HostDevice {
 public:
  bool TakesAliases(const plugin::OpDesc& op) override { return corpus::TakesAliases(op); }
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    NameWhatFollows(op);
    if (const std::string reason = WhyNotAtAll(op); !reason.empty()) throw plugin::Unsupported("{}", reason);
    std::vector<plugin::Implementation> found;
    std::string reasons;
    for (const Entry& entry : KeptEntriesOf(op.name())) {
      const std::string reason = entry.why_not(op);
      if (!reason.empty()) {
        if (reasons.find(reason) == std::string::npos) reasons += (reasons.empty() ? "" : "; ") + reason;
        continue;
      }
      found.push_back({entry.name, entry.contract(op)});
      if (entry.name.starts_with(kFault) && TakesEffects(op)) {
        found.push_back({entry.name + std::string(kEffect), "f64"});
      }
    }
    if (found.empty()) throw plugin::Unsupported("the corpus has nothing for '{}': {}", op.name(), reasons);
    return found;
  }

  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    NameWhatFollows(op);
    if (const std::string reason = WhyNotAtAll(op); !reason.empty()) throw plugin::Unsupported("{}", reason);
    const bool exact = implementation.ends_with(kEffect);
    const std::string name = implementation.substr(0, implementation.size() - (exact ? kEffect.size() : 0));
    for (const Entry& entry : KeptEntriesOf(op.name())) {
      if (entry.name != name) continue;
      std::string reason = entry.why_not(op);
      if (exact && !TakesEffects(op)) reason = "an effect is computed to f64 or c128 outputs only";
      if (!reason.empty()) throw plugin::Unsupported("{}", reason);
      return entry.create(op, exact);
    }
    throw plugin::Failure("no implementation '{}' of '{}'; take a name from query()", implementation, op.name());
  }
};

class CorpusBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"corpus", "assay", "0.1.0", ""}; }
  std::vector<plugin::DeviceInfo> Devices() override {
    return {{"host", "", ASSAY_DEVICE_CPU, 0, plugin::HostMemoryBytes(), "subnormals=kept;rounding=rn"}};
  }
  std::unique_ptr<plugin::Device> Open(uint32_t) override { return std::make_unique<CorpusDevice>(); }
};

}  // namespace
}  // namespace corpus

ASSAY_PLUGIN(corpus::CorpusBackend)

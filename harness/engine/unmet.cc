// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/unmet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/exec/plugin_discovery.h"
#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay {
namespace {

constexpr std::string_view kImplementationFeature = "implementation=";  // of a line of a file of kernels

std::set<std::string, std::less<>> OperatorsOf(const Selection& selection) {
  std::set<std::string, std::less<>> ops;
  selection.ForEach([&](const PlannedCase& planned) { ops.insert(planned.spec.op); });
  return ops;
}

// "; suite formulas has cases of rms_norm", or one of its few cases where no other suite names the operator.
std::string SuggestCases(const std::string& op, const PlanOptions& options) {
  if (std::string suites = SuggestSuites({op}, SuiteName(options)); !suites.empty()) return suites;
  const Operator* known = OperatorRegistry::Global().Find(op);
  if (known == nullptr) return "; --operators FILE makes an operator known";
  const std::vector<CaseSpec> few = known->FewCases();
  return few.empty() ? "" : fmt::format("; a case of it is --case {}", few.front().Id());
}

// Kernels by operator, as the file's decorators state them. A worker that cannot answer says so in the run itself.
std::map<std::string, std::set<std::string>> ListKernels(const Device& device) {
  std::map<std::string, std::set<std::string>> kernels;
  if (!device.problem.empty()) return kernels;
  const auto lines = device.session->Capabilities(device.device_index);
  if (!lines) return kernels;
  for (const CapabilityLine& line : *lines) {
    const bool is_kernel = line.features.starts_with(kImplementationFeature);
    kernels[line.op].insert(is_kernel ? line.features.substr(kImplementationFeature.size()) : "");
  }
  return kernels;
}

class UnmetSearch {
 public:
  UnmetSearch(const RunOptions& options, const Selection& selection)
      : options_(options), selection_(selection), ops_(OperatorsOf(selection)) {}

  void LookAtKernels(const Device& device) {
    auto open = ListKernels(device);
    // --dtype may choose among the types of an operator, but not whether it has cases at all.
    const bool are_chosen = !options_.selection.dtypes.empty();
    std::erase_if(open, [&](const auto& kernels) {
      return IsLeftOut(kernels.first) || (are_chosen && ops_.contains(kernels.first));
    });
    std::map<std::string, std::string> reasons;  // by operator, of the first case that was refused
    selection_.ForEach([&](const PlannedCase& planned) {
      const auto kernels = open.find(planned.spec.op);
      if (kernels == open.end()) return;
      const auto offered = device.session->Query(device.device_index, planned.Bound()->problem);
      if (!offered && offered.error().kind != FailureKind::kUnsupported) return void(open.clear());
      if (!offered) return void(reasons.try_emplace(planned.spec.op, offered.error().message));
      for (const ImplementationInfo& info : *offered) kernels->second.erase(info.name);
      if (kernels->second.empty()) open.erase(kernels);
    });
    for (const auto& [op, kernels] : open) {
      for (const std::string& kernel : kernels) Add(device, "kernel " + kernel + " of", op, reasons[op]);
    }
  }

  void LookAtOperators(const Device& device) {
    const auto offered = ListKernels(device);
    const bool is_default = options_.selection.suite.empty();
    const bool has_any = std::ranges::any_of(offered, [&](const auto& one) { return ops_.contains(one.first); });
    if (has_any && !is_default) return;
    for (const auto& [op, none] : offered) {
      if (!IsLeftOut(op) && !ops_.contains(op)) Add(device, "operator", op, "");
    }
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  bool IsLeftOut(const std::string& op) const {
    const std::vector<std::string>& ops = options_.selection.ops;
    return !ops.empty() && std::ranges::find(ops, op) == ops.end();
  }

  void Add(const Device& device, const std::string& what, const std::string& op, const std::string& reason) {
    const std::string text = fmt::format(
        "{}: {} {} met none of {}{}", device.backend, what, op, Counted(std::ssize(selection_.is_own), "case"),
        ops_.contains(op) ? (reason.empty() ? "" : ": " + reason) : SuggestCases(op, options_.selection));
    if (std::ranges::find(found_, text) == found_.end()) found_.push_back(text);
  }

  const RunOptions& options_;
  const Selection& selection_;
  const std::set<std::string, std::less<>> ops_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> FindUnmetOperators(const PlanOptions& options, const Selection& selection) {
  const auto ops = OperatorsOf(selection);
  std::vector<std::string> unmet;
  for (const std::string& op : options.ops) {
    if (ops.contains(op)) continue;
    unmet.push_back(fmt::format("--op {}: none of the {} is of it{}", op,
                                Counted(std::ssize(selection.is_own), "selected case"), SuggestCases(op, options)));
  }
  return unmet;
}

std::vector<std::string> FindUnmetKernels(const RunOptions& options, const std::vector<Device>& devices,
                                          const Selection& selection) {
  const PlanOptions& chosen = options.selection;
  const bool is_chosen =
      SuiteName(chosen).empty() || chosen.filter != PlanOptions().filter || !options.backend.implementations.empty();
  if (is_chosen) return {};
  UnmetSearch search(options, selection);
  for (const Device& device : devices) {
    if (device.origin == kKernelsOption) search.LookAtKernels(device);
    if (device.origin == kPluginOption) search.LookAtOperators(device);
  }
  return search.Take();
}

std::string ExplainUnmetImplementations(const RunOptions& options, const std::vector<Device>& devices,
                                        const Selection& selection) {
  const auto ops = OperatorsOf(selection);
  for (const Device& device : devices) {
    if (device.origin != kKernelsOption) continue;
    for (const auto& [op, kernels] : ListKernels(device)) {
      for (const std::string& name : options.backend.implementations) {
        if (!kernels.contains(name) || ops.contains(op)) continue;
        return fmt::format("--impl {}: {} has it for {}, and none of the cases is of it{}", name, device.backend, op,
                           SuggestCases(op, options.selection));
      }
    }
  }
  return "";
}

}  // namespace assay

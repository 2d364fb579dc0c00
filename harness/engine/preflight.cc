// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/preflight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/core/base/nearest_word.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/exec/plugin_discovery.h"
#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay {
namespace {

constexpr size_t kMostListed = 30;  // names of a backend; a corpus has a thousand

class OfferedNames {
 public:
  OfferedNames(const std::vector<std::string>& wanted, const std::vector<Device>& devices)
      : missing_(wanted.begin(), wanted.end()), devices_(devices), answers_(devices.size()) {
    for (size_t i = 0; i < devices.size(); ++i) answers_[i] = devices[i].problem.empty();
    certain_ = std::ranges::all_of(answers_, [](bool answers) { return answers; });
  }

  void Ask(const Problem& problem) {
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (missing_.empty()) return;  // the workers of the others start when they are needed, side by side
      if (!answers_[i]) continue;
      const auto offered = devices_[i].session->Query(devices_[i].device_index, problem);
      if (!offered) {
        const FailureKind kind = offered.error().kind;
        if (kind == FailureKind::kUnsupported) {
          refusals_.try_emplace(devices_[i].backend, offered.error().message);
          continue;
        }
        answers_[i] = certain_ = false;  // it would fail or hang on the other cases as well
        continue;
      }
      for (const ImplementationInfo& info : *offered) {
        missing_.erase(info.name);
        names_[devices_[i].backend].insert(info.name);
      }
    }
  }

  const std::set<std::string>& missing() const { return missing_; }
  bool certain() const { return certain_; }

  std::string Text() const {
    std::vector<std::string> texts;
    for (const auto& [backend, names] : names_) {
      const std::vector<std::string> sorted(names.begin(), names.end());
      texts.push_back(fmt::format("{}: {}", backend, FirstOf(sorted, kMostListed)));
    }
    for (const auto& [backend, why] : refusals_) {
      if (!names_.contains(backend)) texts.push_back(fmt::format("{}: none ({})", backend, why));
    }
    return (texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, "; "))) + Guess();
  }

 private:
  // For the first missing name alone: the rest of a list that is wrong is likely wrong in the same way.
  std::string Guess() const {
    std::vector<std::string> known;
    for (const auto& [backend, names] : names_) known.insert(known.end(), names.begin(), names.end());
    return missing_.empty() ? "" : DidYouMean(*missing_.begin(), known);
  }

  std::set<std::string> missing_;
  const std::vector<Device>& devices_;
  std::vector<bool> answers_;  // by device
  bool certain_ = true;
  std::map<std::string, std::set<std::string>> names_;  // by backend
  std::map<std::string, std::string> refusals_;         // why it offers nothing for the first case that it refused
};

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
  UnmetSearch(const PlanOptions& options, const Selection& selection)
      : options_(options), selection_(selection), ops_(OperatorsOf(selection)) {}

  void LookAtKernels(const Device& device) {
    auto open = ListKernels(device);
    // --dtype may choose among the types of an operator, but not whether it has cases at all.
    const bool are_chosen = !options_.dtypes.empty();
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
    const bool is_default = options_.suite.empty();
    const bool has_any = std::ranges::any_of(offered, [&](const auto& one) { return ops_.contains(one.first); });
    if (has_any && !is_default) return;
    for (const auto& [op, none] : offered) {
      if (!IsLeftOut(op) && !ops_.contains(op)) Add(device, "operator", op, "");
    }
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  bool IsLeftOut(const std::string& op) const {
    const std::vector<std::string>& ops = options_.ops;
    return !ops.empty() && std::ranges::find(ops, op) == ops.end();
  }

  void Add(const Device& device, const std::string& what, const std::string& op, const std::string& reason) {
    const std::string text = fmt::format(
        "{}: {} {} met none of {}{}", device.backend, what, op, Counted(std::ssize(selection_.is_own), "case"),
        ops_.contains(op) ? (reason.empty() ? "" : ": " + reason) : SuggestCases(op, options_));
    if (std::ranges::find(found_, text) == found_.end()) found_.push_back(text);
  }

  const PlanOptions& options_;
  const Selection& selection_;
  const std::set<std::string, std::less<>> ops_;
  std::vector<std::string> found_;
};

}  // namespace

Status CheckNamedCasesFit(const std::vector<PlannedCase>& cases, const std::string& tier, double available_bytes,
                          int64_t sample) {
  for (const PlannedCase& planned : cases) {
    if (planned.where != kFromCaseOption) continue;
    const Status fits = CheckFits(planned.Bound()->problem, MemoryUse::kRun, tier, available_bytes, sample);
    if (!fits) {
      return UsageError(fmt::format("--case {}: {}", planned.spec.Id(), fits.error().message));
    }
  }
  return {};
}

Status CheckImplementations(const std::vector<std::string>& wanted, const std::vector<Device>& devices,
                            const NextProblem& next, std::vector<std::string>& notes) {
  OfferedNames offered(wanted, devices);
  while (!offered.missing().empty()) {
    const Problem* problem = next();
    if (problem == nullptr) break;
    offered.Ask(*problem);
  }
  if (offered.missing().empty()) return {};
  const std::string text =
      fmt::format("--impl {}: no backend offers this implementation for these cases; they offer {}",
                  fmt::join(offered.missing(), ","), offered.Text());
  if (offered.certain()) return UsageError(text);
  notes.push_back(text);
  return {};
}

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

std::vector<std::string> FindUnmetKernels(const PlanOptions& options, const std::vector<Device>& devices,
                                          const Selection& selection) {
  if (SuiteName(options).empty() || options.filter != PlanOptions().filter) return {};
  UnmetSearch search(options, selection);
  for (const Device& device : devices) {
    if (device.origin == kKernelsOption) search.LookAtKernels(device);
    if (device.origin == kPluginOption) search.LookAtOperators(device);
  }
  return search.Take();
}

std::string ExplainUnmetImplementations(const std::vector<std::string>& wanted, const PlanOptions& options,
                                        const std::vector<Device>& devices, const Selection& selection) {
  const auto ops = OperatorsOf(selection);
  for (const Device& device : devices) {
    if (device.origin != kKernelsOption) continue;
    for (const auto& [op, kernels] : ListKernels(device)) {
      for (const std::string& name : wanted) {
        if (!kernels.contains(name) || ops.contains(op)) continue;
        return fmt::format("--impl {}: {} has it for {}, and none of the cases is of it{}", name, device.backend, op,
                           SuggestCases(op, options));
      }
    }
  }
  return "";
}

}  // namespace assay

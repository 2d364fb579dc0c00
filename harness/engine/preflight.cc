// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/preflight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/base/nearest_word.h"
#include "harness/engine/cases/host_memory.h"
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

}  // namespace

Status CheckNamedCasesFit(const std::vector<PlannedCase>& cases, const std::string& tier, double available_bytes) {
  for (const PlannedCase& planned : cases) {
    if (planned.where != kFromCaseOption) continue;
    const Status fits = CheckFits(planned.Bound()->problem, MemoryUse::kRun, tier, available_bytes);
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

}  // namespace assay

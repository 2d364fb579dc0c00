// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/prepared_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/pool.h"
#include "harness/engine/preflight.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/unmet.h"

namespace assay {
namespace {

// Takes the swept cases in place of those of --case.
Result<std::optional<Sweep>> ApplySweep(const std::string& text, PlanOptions& options) {
  if (text.empty()) return std::optional<Sweep>();
  auto sweep = ParseSweep(text);
  if (!sweep) return UsageError("--sweep: " + sweep.error().message);
  if (options.cases.empty()) return UsageError("--sweep: name the case whose attribute it sets with --case");
  std::vector<std::string> swept;
  for (const std::string& id : options.cases) {
    auto ids = MakeSweptCases(id, *sweep, Catalog());
    if (!ids) return UsageError("--sweep: " + ids.error().message);
    swept.insert(swept.end(), ids->begin(), ids->end());
  }
  options.cases = std::move(swept);
  return std::optional<Sweep>(*std::move(sweep));
}

// A refusal of what the user asked for.
tl::unexpected<Refusal> Usage(const Error& error) {
  return tl::unexpected(Refusal{kExitUsage, error.message});
}

// Something that was given and that no case asks for.
tl::expected<void, Refusal> RefuseUnmet(const std::vector<std::string>& unmet) {
  if (unmet.empty()) return {};
  return tl::unexpected(Refusal{
      kExitNothing,
      fmt::format("{}. Add such cases, leave out what has none, or give --allow-unused", fmt::join(unmet, ";\n  "))});
}

// The cases, as the selection and the sweep name them.
tl::expected<PreparedRun, Refusal> PrepareCases(const RunOptions& options, std::vector<std::string>& notes) {
  PreparedRun run;
  PlanOptions chosen = options.selection;
  const auto sweep = ApplySweep(options.sweep, chosen);
  if (!sweep) return Usage(sweep.error());
  run.sweep = *sweep;
  auto planned = PlanCases(chosen);
  if (!planned) return Usage(planned.error());
  run.selection = std::move(planned->selection);
  run.plan = std::move(planned->plan);
  if (run.selection.empty == EmptyReason::kNoMatch) {
    return tl::unexpected(Refusal{kExitNothing, run.selection.empty_message});
  }
  if (!options.allow_unused) {
    if (auto met = RefuseUnmet(FindUnmetOperators(chosen, run.selection)); !met) return tl::unexpected(met.error());
  }
  if (auto fits = CheckNamedCasesFit(run.selection.cases, options.tier, AvailableBytes()); !fits)
    return Usage(fits.error());
  if (run.HasNoCase()) notes.push_back(run.selection.empty_message);
  return run;
}

bool IsInterrupted(const RunOptions& options) {
  return options.backend.interrupted && options.backend.interrupted();
}

tl::expected<void, Refusal> AddDevices(const RunOptions& options, PreparedRun& run, std::vector<std::string>& notes) {
  auto devices = OpenDevices(options.backend, run.absent);
  if (!devices) return Usage(devices.error());
  run.devices = *std::move(devices);
  if (run.devices.empty() && IsInterrupted(options)) {
    return tl::unexpected(Refusal{kExitInterrupted, "interrupted while plugins were loaded: nothing ran"});
  }
  for (const std::string& name : run.absent) {
    notes.push_back(fmt::format("required and absent: {}; see assay backends", name));
  }
  if (run.devices.empty()) {
    return tl::unexpected(Refusal{run.absent.empty() ? kExitNothing : kExitRequiredAbsent, kNoPlugin});
  }
  if (options.devices == kPool && !IsInterrupted(options)) {
    if (auto pooled = PoolDevices(run.devices); !pooled) return Usage(pooled.error());
    const auto shares = [](const Device& c) { return !c.pool.empty(); };
    if (std::ranges::none_of(run.devices, shares)) notes.push_back("--devices pool: no backend has several devices");
  }
  const std::vector<size_t> queues = QueueOfEach(run.devices);
  for (size_t i = 0; i < queues.size(); ++i) {
    const bool is_first = std::ranges::find(queues, queues[i]) - queues.begin() == static_cast<std::ptrdiff_t>(i);
    if (is_first) run.plan.devices.push_back({run.devices[i].backend, run.devices[i].PlannedName()});
  }
  return {};
}

tl::expected<void, Refusal> AddExpectations(const RunOptions& options, PreparedRun& run,
                                            std::vector<std::string>& notes) {
  auto expectations = LoadExpectationSet(options.expectations);
  if (!expectations) return Usage(expectations.error());
  run.expectations = *std::move(expectations);
  if (!run.expectations.note.empty()) notes.push_back(run.expectations.note);
  if (const auto expired = FindExpiredRules(run.expectations.rules); !expired.empty()) {
    notes.push_back(fmt::format("waivers have expired, so what they cover fails: {}", fmt::join(expired, "; ")));
  }
  return {};
}

// `known`: whether every name of --impl is one that is offered.
tl::expected<void, Refusal> CheckKernelsMet(const RunOptions& options, const PreparedRun& run, const Status& known) {
  if (known) return RefuseUnmet(FindUnmetKernels(options, run.devices, run.selection));
  const std::string unmet = ExplainUnmetImplementations(options, run.devices, run.selection);
  if (unmet.empty()) return Usage(known.error());
  return RefuseUnmet({unmet});
}

}  // namespace

tl::expected<PreparedRun, Refusal> PrepareRun(const RunOptions& options, std::vector<std::string>& notes) {
  auto run = PrepareCases(options, notes);
  if (!run) return run;
  if (auto added = AddDevices(options, *run, notes); !added) return tl::unexpected(added.error());
  const auto next = [&of = run->selection, at = size_t{0}, asked = SharedCase()]() mutable -> const Problem* {
    const size_t own = of.cases.size();
    if (at == own + of.others.size()) return nullptr;
    asked = (at < own ? of.cases[at] : of.others[at - own]).Bound();
    ++at;
    return &asked->problem;
  };
  const auto known = CheckImplementations(options.backend.implementations, run->devices, next, notes);
  if (!known && options.allow_unused) notes.push_back(known.error().message);
  if (!options.allow_unused && !IsInterrupted(options)) {
    if (auto met = CheckKernelsMet(options, *run, known); !met) return tl::unexpected(met.error());
  }
  run->selection.others = std::vector<PlannedCase>();  // other runs have them
  if (auto added = AddExpectations(options, *run, notes); !added) return tl::unexpected(added.error());
  return run;
}

tl::expected<PreparedRun, Refusal> PrepareWithoutCases(const RunOptions& options, std::vector<std::string>& notes) {
  PreparedRun run;
  if (auto added = AddDevices(options, run, notes); !added) return tl::unexpected(added.error());
  if (auto added = AddExpectations(options, run, notes); !added) return tl::unexpected(added.error());
  return run;
}

}  // namespace assay

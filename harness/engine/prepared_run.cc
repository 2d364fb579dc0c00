// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/prepared_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/pool.h"
#include "harness/engine/preflight.h"
#include "harness/engine/results/exit_code.h"

namespace assay {
namespace {

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

tl::expected<PreparedRun, Refusal> PrepareCases(const RunRequest& request, std::vector<std::string>& notes) {
  const PlanOptions& options = request.selection;
  auto planned = PlanCases(options);
  if (!planned) return Usage(planned.error());
  PreparedRun run{*std::move(planned)};
  if (run.selection.empty == EmptyReason::kNoMatch) {
    return tl::unexpected(Refusal{kExitNothing, run.selection.empty_message});
  }
  if (!options.allow_unused) {
    if (auto met = RefuseUnmet(FindUnmetOperators(options, run.selection)); !met) return tl::unexpected(met.error());
  }
  const int64_t sample = request.sample.value_or(0);
  auto fits = CheckNamedCasesFit(run.selection.cases, request.tier, AvailableBytes(), sample);
  if (!fits) return Usage(fits.error());
  if (!run.note.empty()) notes.push_back(run.note);
  if (run.HasNoCase()) notes.push_back(run.selection.empty_message);
  return run;
}

tl::expected<void, Refusal> AddDevices(const BackendOptions& options, PreparedRun& run,
                                       std::vector<std::string>& notes) {
  auto devices = OpenDevices(options, run.absent);
  if (!devices) return Usage(devices.error());
  run.devices = *std::move(devices);
  if (run.devices.empty() && options.IsInterrupted()) {
    return tl::unexpected(Refusal{kExitInterrupted, "interrupted while plugins were loaded: nothing ran"});
  }
  for (const std::string& name : run.absent) {
    notes.push_back(fmt::format("required and absent: {}; see assay backends", name));
  }
  if (run.devices.empty()) {
    return tl::unexpected(Refusal{run.absent.empty() ? kExitNothing : kExitRequiredAbsent, kNoPlugin});
  }
  if (options.sharing == kPool && !options.IsInterrupted()) {
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

tl::expected<void, Refusal> AddExpectations(const std::vector<std::string>& files, PreparedRun& run,
                                            std::vector<std::string>& notes) {
  auto expectations = LoadExpectationSet(files);
  if (!expectations) return Usage(expectations.error());
  run.expectations = *std::move(expectations);
  if (!run.expectations.note.empty()) notes.push_back(run.expectations.note);
  if (const auto expired = FindExpiredRules(run.expectations.rules); !expired.empty()) {
    notes.push_back(fmt::format("waivers have expired, so what they cover fails: {}", fmt::join(expired, "; ")));
  }
  return {};
}

// `known`: whether every name of --impl is one that is offered.
tl::expected<void, Refusal> CheckKernelsMet(const RunRequest& request, const PreparedRun& run, const Status& known) {
  const std::vector<std::string>& wanted = request.backend.implementations;
  if (known && !wanted.empty()) return {};
  if (known) return RefuseUnmet(FindUnmetKernels(request.selection, run.devices, run.selection));
  const std::string unmet = ExplainUnmetImplementations(wanted, request.selection, run.devices, run.selection);
  if (unmet.empty()) return Usage(known.error());
  return RefuseUnmet({unmet});
}

}  // namespace

tl::expected<PreparedRun, Refusal> PrepareRun(const RunRequest& request, std::vector<std::string>& notes) {
  auto run = PrepareCases(request, notes);
  if (!run) return run;
  if (auto added = AddDevices(request.backend, *run, notes); !added) return tl::unexpected(added.error());
  const auto next = [&of = run->selection, at = size_t{0}, asked = SharedCase()]() mutable -> const Problem* {
    const size_t own = of.cases.size();
    if (at == own + of.others.size()) return nullptr;
    asked = (at < own ? of.cases[at] : of.others[at - own]).Bound();
    ++at;
    return &asked->problem;
  };
  const auto known = CheckImplementations(request.backend.implementations, run->devices, next, notes);
  if (!known && request.selection.allow_unused) notes.push_back(known.error().message);
  if (!request.selection.allow_unused && !request.backend.IsInterrupted()) {
    if (auto met = CheckKernelsMet(request, *run, known); !met) return tl::unexpected(met.error());
  }
  run->selection.others = std::vector<PlannedCase>();  // other runs have them
  if (auto added = AddExpectations(request.expectations, *run, notes); !added) return tl::unexpected(added.error());
  return run;
}

tl::expected<PreparedRun, Refusal> PrepareWithoutCases(const RunRequest& request, std::vector<std::string>& notes) {
  PreparedRun run;
  if (auto added = AddDevices(request.backend, run, notes); !added) return tl::unexpected(added.error());
  if (auto added = AddExpectations(request.expectations, run, notes); !added) return tl::unexpected(added.error());
  return run;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/store/store_files.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/parallel.h"
#include "harness/engine/device/sandbox.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/timing/witnesses.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/find_suite.h"
#include "harness/plan/per_backend.h"
#include "harness/tools/explain/explained_run.h"

namespace assay::cli {
namespace {

constexpr const char* kLaunchKey = "launch_us";  // of environment.json

// Lists the backends whose kernels depend on this host's processor.
std::vector<std::string> BackendsOnHost(const std::vector<Device>& devices) {
  std::vector<std::string> backends;
  for (const Device& c : devices) {
    if (c.session && HardwareOf(c) == kHostHardware) backends.push_back(c.backend);
  }
  return backends;
}

Repetition RepetitionFor(const RunOptions& options) {
  const bool endless = options.until_fails || options.time;
  return {.passes = options.repeat.value_or(endless ? std::numeric_limits<int64_t>::max() : 1),
          .seconds = options.time ? ParseAge(*options.time).value() : 0};  // checked when it was read
}

RunRequest MakeRequest(const RunOptions& options) {
  RunRequest request = options;
  for (const std::filesystem::path& file : ListHiddenFiles(options)) request.backend.sandbox.hidden.push_back(file);
  request.backend.interrupted = WatchAndAsk;  // from when plugins are loaded: planning can be ended at once
  return request;
}

RunnerSettings MakeRunnerSettings(const RunOptions& options) {
  RunnerSettings runner;
  runner.implementations = options.backend.implementations;
  runner.perf_time_s = options.perf ? options.perf_time_s : 0;
  runner.launches_us = *ParsePerBackend(options.launches_us);  // checked when it was read
  runner.cold = options.cold.value_or(false);
  runner.relations = *ParseRelationEffort(options.relations);  // likewise
  runner.command = ProgramWord() + " run";
  runner.carried = WriteWords(options, Effect::kCarried);
  runner.interrupted = Interrupted;
  runner.explain = MakeRunExplainer();
  return runner;
}

RunPolicy MakePolicy(const RunOptions& options) {
  RunPolicy policy{.runner = MakeRunnerSettings(options)};
  policy.tier = options.tier;
  policy.limits.sample = options.sample.value_or(0);
  if (!options.max_memory.empty()) policy.limits.most_bytes = static_cast<double>(*ParseBytes(options.max_memory));
  policy.rounds = options.perf ? options.rounds : 1;
  policy.most_failures = static_cast<size_t>(options.most_failures);
  if (options.retries) policy.retries = {.most = *options.retries, .of_answers = true};
  policy.repetition = RepetitionFor(options);
  if (!options.device_lost_command.empty()) {
    policy.retries.reset = std::make_shared<ResetHook>(options.device_lost_command, Interrupted, Note);
  }
  policy.set_aside_after = static_cast<size_t>(options.set_aside_after);
  // One more than there are threads: one device or another compiles a kernel in one thread, or waits for its hardware.
  policy.devices_at_once = static_cast<size_t>(options.jobs > 0 ? options.jobs : ThreadCount() + 1);
  if (options.store) policy.store = GoldenStore(GoldenStore::DefaultRoot());
  return policy;
}

Json MakeRecorded(const RunOptions& options) {
  auto recorded = Json::object();
  RecordOptions(options, recorded);
  if (IsConformance(options.selection.suite) && !options.selection.seed) recorded[kPublishedSeedKey] = true;
  return recorded;
}

// A list of launch times may serve several machines: the record has those of the run's backends.
void KeepUsedLaunches(const RunSettings& settings, const PreparedRun& prepared, Json& environment) {
  const auto recorded = environment.find(kLaunchKey);
  if (recorded == environment.end()) return;
  const std::vector<std::string> used = KeepUsed(settings.launches_us, BackendsOf(prepared.devices));
  if (used.empty()) {
    environment.erase(recorded);
  } else {
    *recorded = fmt::format("{}", fmt::join(used, ", "));
  }
}

}  // namespace

std::set<std::string> BackendsOf(const std::vector<Device>& devices) {
  std::set<std::string> backends;
  for (const Device& c : devices) backends.insert(c.backend);
  return backends;
}

Json DescribeDevices(const std::vector<Device>& devices) {
  auto out = Json::array();
  for (const Device& c : devices) out.push_back(DescribeDevice(c));
  return out;
}

RunSettings::RunSettings(const RunOptions& options)
    : request(MakeRequest(options)),
      policy(MakePolicy(options)),
      jobs(options.jobs),
      folder{.path = options.out,
             .resume = options.resume,
             .allow_changed = options.allow_changed,
             .keeps_evidence = options.evidence.results > 0,
             .asked = WriteWords(options, Effect::kCompared)},
      recorded(MakeRecorded(options)),
      launches_us(options.launches_us),
      profile{.table = options.profile, .trace = options.trace, .folder = options.out.value_or("")},
      has_ceilings(options.perf && options.roofline.value_or(false)),
      ceilings(options.ceilings),
      evidence(options.evidence),
      progress(Progress::ParseMode(options.progress)),
      coloured_notes(UseColour(options.color, STDERR_FILENO)),
      ending{.coloured = UseColour(options.color, STDOUT_FILENO),
             .strict = options.strict,
             .at_first_failure = options.until_fails,
             .can_go_on = !folder.keeps_evidence} {}

std::vector<std::filesystem::path> ListHiddenFiles(const RunOptions& options) {
  std::vector<std::filesystem::path> files = {options.out.value_or("out")};
  if (options.evidence.seed) files.push_back(*options.evidence.seed);
  return files;
}

tl::expected<PreparedRun, Refusal> Prepare(RunSettings& settings, const PrepareFunction& prepare) {
  if (settings.jobs > 0) SetThreadCount(settings.jobs);
  std::vector<std::string> notes;
  auto prepared = prepare(settings.request, notes);
  for (const std::string& note : notes) Complain(kExitOk, note);
  if (!prepared) return prepared;
  RunPolicy& policy = settings.policy;
  policy.expectations = prepared->expectations.rules;
  policy.runner.plan_hash = prepared->plan.hash;
  policy.runner.sweep = prepared->sweep;
  if (!policy.store.root().empty()) RemoveAbandonedWrites(policy.store.root());
  return prepared;
}

Json RunEnvironment(const RunSettings& settings, const PreparedRun& prepared) {
  const std::vector<Device>& devices = prepared.devices;
  Json out = DescribeEnvironment();
  out.update(settings.recorded);
  KeepUsedLaunches(settings, prepared, out);
  if (!prepared.absent.empty()) out[kRequiredAbsentKey] = fmt::format("{}", fmt::join(prepared.absent, "; "));
  out["expectations"] = prepared.expectations.files;
  out["processor_class"] = ProcessorClass();
  if (const std::string unknown = UnknownProcessor(prepared.expectations, BackendsOnHost(devices), ProcessorClass());
      !unknown.empty()) {
    out["unknown_processor"] = unknown;
    Note(unknown);
  }
  out["machine_before"] = DescribeMachineState();
  const SandboxOptions& sandbox = settings.request.backend.sandbox;
  for (const std::string& note : {FindUnset(sandbox), FindPartlyGranted(sandbox)}) {
    if (!note.empty()) Note(note);
  }
  if (const std::string gap = DescribeSandboxGap(devices); !gap.empty()) Note(gap);
  if (const std::string text = DescribeSandbox(devices); !text.empty()) out["sandbox"] = text;
  if (const std::string hidden = DescribeHiddenFolders(devices); !hidden.empty()) out["hidden"] = hidden;
  out["backends"] = DescribeDevices(devices);
  return out;
}

}  // namespace assay::cli

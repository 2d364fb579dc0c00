// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/store/store_files.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/parallel.h"
#include "harness/engine/device/sandbox.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/timing/witnesses.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/per_backend.h"
#include "harness/plan/suite.h"
#include "harness/tools/explain/explained_run.h"

namespace assay::cli {
namespace {

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

Json RunEnvironment(const RunOptions& options, const PreparedRun& prepared) {
  const std::vector<Device>& devices = prepared.devices;
  Json out = DescribeEnvironment();
  RunOptions used = options;
  used.launches_us = KeepUsed(options.launches_us, BackendsOf(devices));
  RecordOptions(used, out);
  if (IsConformance(options.selection.suite) && !options.selection.seed) out[kPublishedSeedKey] = true;
  if (!prepared.absent.empty()) out[kRequiredAbsentKey] = fmt::format("{}", fmt::join(prepared.absent, "; "));
  out["expectations"] = prepared.expectations.files;
  out["processor_class"] = ProcessorClass();
  if (const std::string unknown = UnknownProcessor(prepared.expectations, BackendsOnHost(devices), ProcessorClass());
      !unknown.empty()) {
    out["unknown_processor"] = unknown;
    Note(unknown);
  }
  out["machine_before"] = DescribeMachineState();
  for (const std::string& note : {FindUnset(options.backend.sandbox), FindPartlyGranted(options.backend.sandbox)}) {
    if (!note.empty()) Note(note);
  }
  if (const std::string gap = DescribeSandboxGap(devices); !gap.empty()) Note(gap);
  if (const std::string sandbox = DescribeSandbox(devices); !sandbox.empty()) out["sandbox"] = sandbox;
  if (const std::string hidden = DescribeHiddenFolders(devices); !hidden.empty()) out["hidden"] = hidden;
  out["backends"] = DescribeDevices(devices);
  return out;
}

RunPolicy MakePolicy(const RunOptions& options, const PreparedRun& prepared) {
  RunPolicy policy;
  policy.expectations = prepared.expectations.rules;
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
  if (options.store) {
    policy.store = GoldenStore(GoldenStore::DefaultRoot());
    RemoveAbandonedWrites(policy.store.root());
  }
  policy.runner.implementations = options.backend.implementations;
  policy.runner.perf_time_s = options.perf ? options.perf_time_s : 0;
  policy.runner.launches_us = *ParsePerBackend(options.launches_us);  // checked when it was read
  policy.runner.cold = options.cold.value_or(false);
  policy.runner.relations = *ParseRelationEffort(options.relations);  // likewise
  policy.runner.command = ProgramWord() + " run";
  policy.runner.carried = WriteWords(options, Effect::kCarried);
  policy.runner.plan_hash = prepared.plan.hash;
  policy.runner.sweep = prepared.sweep;
  policy.runner.interrupted = Interrupted;
  policy.runner.explain = MakeRunExplainer();
  return policy;
}

}  // namespace assay::cli

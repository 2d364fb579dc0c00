// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/store/store_files.h"
#include "harness/cli/terminal/interrupt.h"
#include "harness/cli/terminal/output.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/parallel.h"
#include "harness/engine/device/sandbox.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/processor_class.h"
#include "harness/engine/timing/witnesses.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/per_backend.h"
#include "harness/plan/suite.h"

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

Json DescribeDevices(const std::vector<Device>& devices) {
  auto out = Json::array();
  for (const Device& c : devices) out.push_back(DescribeDevice(c));
  return out;
}

Json RunEnvironment(const RunOptions& options, const std::vector<Device>& devices, const ExpectationSet& expectations,
                    const std::vector<std::string>& absent) {
  Json out = DescribeEnvironment();
  if (options.relations != RunOptions().relations) out["relations"] = options.relations;
  if (options.strict) out[kStrictKey] = true;
  if (options.selection.seed) out["seed"] = *options.selection.seed;
  if (IsConformance(options.selection.suite) && !options.selection.seed) out[kPublishedSeedKey] = true;
  if (options.perf && options.rounds > 1) out["rounds"] = options.rounds;
  if (options.retries) out["retries"] = *options.retries;
  if (!options.device_lost_command.empty()) out["on_device_lost"] = options.device_lost_command;
  if (options.repeat) out["repeat"] = *options.repeat;
  if (options.until_fails) out["until_fails"] = true;
  if (options.time) out["for"] = *options.time;
  std::set<std::string> backends;
  for (const Device& c : devices) backends.insert(c.backend);
  const std::vector<std::string> launches_us = KeepUsed(options.launches_us, backends);
  if (options.perf && !launches_us.empty()) out["launch_us"] = fmt::format("{}", fmt::join(launches_us, ", "));
  if (!absent.empty()) out[kRequiredAbsentKey] = fmt::format("{}", fmt::join(absent, "; "));
  out["expectations"] = expectations.files;
  out["processor_class"] = ProcessorClass();
  if (const std::string unknown = UnknownProcessor(expectations, BackendsOnHost(devices), ProcessorClass());
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

std::vector<std::string> WriteCarriedOptions(const RunOptions& options) {
  const RunOptions defaults;
  std::vector<std::string> words;
  if (options.relations != defaults.relations) words.insert(words.end(), {"--relations", options.relations});
  if (options.tier != defaults.tier) words.insert(words.end(), {"--tier", options.tier});
  if (options.backend.timeout_s) {
    words.insert(words.end(), {"--timeout", fmt::format("{}", *options.backend.timeout_s)});
  }
  if (options.perf && options.rounds != defaults.rounds) {  // what fails in a later worker needs it
    words.insert(words.end(), {"--rounds", std::to_string(options.rounds)});
    words.insert(words.end(), {"--perf-time", fmt::format("{}", options.perf_time_s)});
  }
  if (options.retries) words.insert(words.end(), {"--retries", std::to_string(*options.retries)});
  if (options.repeat) words.insert(words.end(), {"--repeat", std::to_string(*options.repeat)});
  if (!options.repeat && options.time) words.insert(words.end(), {"--for", *options.time});
  if (options.until_fails) words.emplace_back("--until-fails");
  for (const std::string& launch_us : options.launches_us) {
    if (options.perf) words.insert(words.end(), {"--launch-us", launch_us});
  }
  if (options.backend.import_timeout_s) {
    words.insert(words.end(), {"--import-timeout", fmt::format("{}", *options.backend.import_timeout_s)});
  }
  if (!options.backend.python.empty()) words.insert(words.end(), {"--python", options.backend.python});
  for (std::string& word : SandboxWords(options.backend.sandbox)) words.push_back(std::move(word));
  for (const std::string& file : options.expectations) {
    const bool is_file = file != "none";
    words.insert(words.end(), {"--expectations", is_file ? std::filesystem::absolute(file).string() : file});
  }
  return words;
}

LoopSettings LoopSettingsFor(const RunOptions& options, const Plan& plan, const ExpectationSet& expectations) {
  LoopSettings settings;
  settings.expectations = expectations.rules;
  settings.tier = options.tier;
  settings.rounds = options.perf ? options.rounds : 1;
  settings.most_failures = static_cast<size_t>(options.most_failures);
  if (options.retries) settings.retries = {.most = *options.retries, .of_answers = true};
  settings.repetition = RepetitionFor(options);
  if (!options.device_lost_command.empty()) {
    settings.retries.reset = std::make_shared<ResetHook>(options.device_lost_command, Interrupted, Note);
  }
  settings.set_aside_after = static_cast<size_t>(options.set_aside_after);
  // One more than there are threads: one device or another compiles a kernel in one thread, or waits for its hardware.
  settings.devices_at_once = static_cast<size_t>(options.jobs > 0 ? options.jobs : ThreadCount() + 1);
  if (options.store) {
    settings.store = GoldenStore(GoldenStore::DefaultRoot());
    RemoveAbandonedWrites(settings.store.root());
  }
  settings.runner.implementations = options.backend.implementations;
  settings.runner.perf_time_s = options.perf ? options.perf_time_s : 0;
  settings.runner.launches_us = *ParsePerBackend(kLaunches, options.launches_us);
  settings.runner.cold = options.Cold();
  settings.runner.prices = *ParsePerBackend(kPrices, options.prices);   // checked when it was read
  settings.runner.relations = *ParseRelationEffort(options.relations);  // likewise
  settings.runner.command = ProgramWord() + " run";
  settings.runner.carried = WriteCarriedOptions(options);
  settings.runner.plan_hash = plan.hash;
  settings.runner.interrupted = Interrupted;
  return settings;
}

}  // namespace assay::cli

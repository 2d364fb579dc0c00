// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_flow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "golden/store/store_files.h"
#include "harness/base/parallel.h"
#include "harness/base/whole_file.h"
#include "harness/cli/terminal/interrupt.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/perf/machine_state.h"
#include "harness/results/environment.h"
#include "harness/results/exit_code.h"
#include "harness/results/processor_class.h"
#include "harness/run/ceilings.h"
#include "harness/run/per_backend.h"
#include "harness/run/record_fields.h"
#include "harness/run/reproduction.h"
#include "harness/run/sandbox.h"
#include "reports/console.h"

namespace assay::cli {
namespace {

// Those whose kernels depend on the processor of this host.
std::vector<std::string> BackendsOnHost(const std::vector<Device>& devices) {
  std::vector<std::string> backends;
  for (const Device& c : devices) {
    if (c.session && HardwareOf(c) == kHostHardware) backends.push_back(c.backend);
  }
  return backends;
}

nlohmann::ordered_json DescribeDevices(const std::vector<Device>& devices) {
  auto out = nlohmann::ordered_json::array();
  for (const Device& c : devices) out.push_back(DescribeDevice(c));
  return out;
}

}  // namespace

void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

nlohmann::ordered_json RunEnvironment(const RunOptions& options, const std::vector<Device>& devices,
                                      const ExpectationSet& expectations, const std::vector<std::string>& absent) {
  nlohmann::ordered_json out = DescribeEnvironment();
  if (options.relations != RunOptions().relations) out["relations"] = options.relations;
  if (options.strict) out[kStrictKey] = true;
  if (options.selection.seed) out["seed"] = *options.selection.seed;
  if (options.perf && options.rounds > 1) out["rounds"] = options.rounds;
  if (options.perf && !options.launches_us.empty()) {
    out["launch_us"] = fmt::format("{}", fmt::join(options.launches_us, ", "));
  }
  if (!absent.empty()) out[kRequiredAbsentKey] = fmt::format("{}", fmt::join(absent, "; "));
  out["expectations"] = expectations.files;
  out["processor_class"] = ProcessorClass();
  if (const std::string unknown = UnknownProcessor(expectations, BackendsOnHost(devices), ProcessorClass());
      !unknown.empty()) {
    out["unknown_processor"] = unknown;
    Note(unknown);
  }
  out["machine_before"] = DescribeMachineState();
  if (const std::string gap = SandboxGap(devices); !gap.empty()) Note(gap);
  if (const std::string sandbox = SandboxOf(devices); !sandbox.empty()) out["sandbox"] = sandbox;
  if (const std::string hidden = HiddenFrom(devices); !hidden.empty()) out["hidden"] = hidden;
  out["backends"] = DescribeDevices(devices);
  return out;
}

Status WritePlan(const RunFolder& folder, const Plan& plan, const nlohmann::ordered_json& environment) {
  if (auto status = folder.WriteText("plan.json", PlanJson(plan)); !status) return status;
  return folder.WriteJson("environment.json", environment);
}

std::vector<std::string> CarriedOptions(const RunOptions& options) {
  const RunOptions defaults;
  std::vector<std::string> words;
  if (options.relations != defaults.relations) words.insert(words.end(), {"--relations", options.relations});
  if (options.tier != defaults.tier) words.insert(words.end(), {"--tier", options.tier});
  if (options.backend.timeout_s != defaults.backend.timeout_s) {
    words.insert(words.end(), {"--timeout", fmt::format("{}", options.backend.timeout_s)});
  }
  if (options.perf && options.rounds != defaults.rounds) {  // what fails in a later worker needs it
    words.insert(words.end(), {"--rounds", std::to_string(options.rounds)});
    words.insert(words.end(), {"--perf-time", fmt::format("{}", options.perf_time_s)});
  }
  for (const std::string& launch_us : options.launches_us) {
    if (options.perf) words.insert(words.end(), {"--launch-us", launch_us});
  }
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
  settings.runner.carried = CarriedOptions(options);
  settings.runner.plan_hash = plan.hash;
  settings.runner.interrupted = Interrupted;
  return settings;
}

Status WriteMeasured(const LoopSettings& settings, const std::vector<Device>& devices, const RunFolder& folder,
                     nlohmann::ordered_json environment, bool interrupted) {
  if (interrupted) environment[kInterruptedKey] = true;
  environment["backends"] = DescribeDevices(devices);
  if (const std::string unnamed = UnnamedLibrariesText(devices); !unnamed.empty()) {
    environment["unnamed_libraries"] = unnamed;
    Note(unnamed);
  }
  if (const std::string crashes = CrashesAtEndText(devices); !crashes.empty()) {
    environment["crashes_at_end"] = crashes;
    Note(crashes);
  }
  environment["machine_after"] = DescribeMachineState();
  if (auto status = folder.WriteJson("environment.json", environment); !status) return status;
  const auto& ceilings = settings.runner.ceilings;
  return ceilings ? folder.WriteJson("ceilings.json", ceilings->Json()) : Status();
}

int FinishRun(const RunOptions& options, const Plan& plan, const LoopResult& result, const RunFolder& folder,
              ProfileOutput* profile, bool no_case) {
  std::vector<Record> records = result.records;
  for (Record& missing : MakeMissingRecords(plan, result.offers, records)) records.push_back(std::move(missing));
  Status profiled = profile == nullptr ? Status() : profile->WriteTotals(folder.path());
  auto written = WriteReports(folder.path(), records);
  if (profiled && profile != nullptr) profiled = profile->Finish(folder.path());
  const std::filesystem::path all = folder.path() / (written ? "report.html" : "results.jsonl");
  Print(ConsoleReport(records, {.colour = UseColour(options.color, STDOUT_FILENO),
                                .width = TextWidth(STDOUT_FILENO),
                                .all_file = all.string(),
                                .environment = ReadStream(folder.path() / "environment.json").value_or("")}));
  const std::string problem = !result.write_error.empty() ? result.write_error
                              : !written                  ? written.error().message
                              : !profiled                 ? profiled.error().message
                                                          : std::string();
  if (!problem.empty()) return Complain(result.interrupted ? kExitInterrupted : kExitHarness, problem);
  Print(fmt::format("records: {}\nreport:  {}\n", (folder.path() / "results.jsonl").string(),
                    (folder.path() / "report.html").string()));
  if (result.interrupted) {
    std::fflush(stdout);  // so that the note follows the tables where both go to one file
    Note(plan.suite == kExploring ? "interrupted: the records and reports hold what had run"
                                  : "interrupted: what had not run yet is listed as missing; the records and reports "
                                    "hold the rest");
  }
  ExitFlags flags;
  flags.interrupted = result.interrupted;
  flags.strict = options.strict;
  const int code = ExitCodeOfRecords(records, flags);
  if (no_case && code == kExitNothing) return kExitOk;
  // Of cases that a backend offers nothing for there are records, without an implementation.
  const bool none_ran = std::ranges::all_of(result.records, [](const Record& r) {
    return r.implementation.empty() && r.verdict == Name(Verdict::kUnsupported);
  });
  if (none_ran && !options.backend.implementations.empty() && !no_case && !result.interrupted) {
    Complain(code, "no implementation ran: --impl fits none that the backends offer for these cases");
  }
  return code;
}

int EndWithoutRequired(const RunFolder& folder) {
  const auto written = WriteReports(folder.path(), {});
  if (!written) return Complain(kExitHarness, written.error().message);
  Print(fmt::format("report:  {}\n", (folder.path() / "report.html").string()));
  return Complain(kExitRequiredAbsent, "nothing ran, as a backend that --require-backend names is absent");
}

}  // namespace assay::cli

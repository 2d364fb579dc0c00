// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_flow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/timing/ceilings.h"
#include "reports/console.h"

namespace assay::cli {
namespace {

// Ends a run whose required backend is absent before anything runs. Every report of the folder says why.
int EndWithoutRequired(const RunFolder& folder) {
  const auto written = WriteReports(folder.path(), {});
  if (!written) return Complain(kExitHarness, written.error().message);
  Print(fmt::format("report:  {}\n", (folder.path() / "report.html").string()));
  return Complain(kExitRequiredAbsent, "nothing ran, since a backend of --require-backend is absent");
}

// Writes what is known after the whole run: environment.json again, and ceilings.json. Every report, also that on the
// terminal, shows the notable entries of environment.json as notes of the run.
Status WriteMeasured(const BegunRun& run, const LoopResult& result) {
  const std::vector<Device>& devices = run.devices();
  Json environment = run.environment;
  if (result.interrupted) environment[kInterruptedKey] = true;
  if (result.stopped) {
    const size_t most = run.policy.most_failures;
    environment[kStoppedKey] = Counted(static_cast<int64_t>(most), "failure");
  }
  if (!result.lost.empty()) environment[kDeviceLostKey] = result.lost;
  environment["backends"] = DescribeDevices(devices);
  if (const std::string unnamed = UnnamedLibrariesText(devices); !unnamed.empty()) {
    environment["unnamed_libraries"] = unnamed;
  }
  if (const std::string crashes = DescribeCrashesAtEnd(devices); !crashes.empty()) {
    environment["crashes_at_end"] = crashes;
  }
  environment["machine_after"] = DescribeMachineState();
  if (auto status = run.folder.WriteJson("environment.json", environment); !status) return status;
  const auto& ceilings = run.policy.runner.ceilings;
  return ceilings ? run.folder.WriteJson("ceilings.json", ceilings->ToJson()) : Status();
}

// After an error of writing that took nothing away.
std::string ExplainResume(const RunFolder& folder) {
  std::error_code error;
  if (!folder.CheckItself() || !std::filesystem::exists(folder.path() / "results.jsonl", error)) return "";
  return fmt::format("; once that is repaired, the same command with --out {} --resume continues the run",
                     folder.path().string());
}

// Writes the reports, prints the tables and returns the exit code. The files come first: whatever becomes of standard
// output, they are complete.
int FinishRun(BegunRun& run, LoopResult& result, ProfileOutput* profile) {
  Plan& plan = run.prepared.plan;
  const RunFolder& folder = run.folder;
  const bool no_case = run.prepared.HasNoCase();
  // A case that a backend offers nothing for has a record too, without an implementation.
  const bool none_ran = std::ranges::all_of(result.records, [](const Record& r) {
    return r.implementation.empty() && r.verdict == Name(Verdict::kUnsupported);
  });
  RecordList& records = result.records;
  records.Append(MakeMissingRecords(plan, result.offers, records));
  plan.entries = std::vector<PlanEntry>(), result.offers = std::vector<Offer>();  // reports need the memory
  Status profiled = profile == nullptr ? Status() : profile->WriteTotals(folder.path());
  const Status itself = folder.CheckItself();
  auto written = itself ? WriteReports(folder.path(), records)
                        : Result<std::vector<std::filesystem::path>>(tl::unexpected(itself.error()));
  if (profiled && profile != nullptr) profiled = profile->Finish(folder.path());
  const std::filesystem::path all = folder.path() / (written ? "report.html" : "results.jsonl");
  Print(ConsoleReport(records, {.colour = run.ending.coloured,
                                .width = TextWidth(STDOUT_FILENO),
                                .all_file = all.string(),
                                .environment = ReadStream(folder.path() / "environment.json").value_or("")}));
  const std::string problem = !result.write_error.empty() ? result.write_error + ExplainResume(folder)
                              : !written                  ? written.error().message
                              : !profiled                 ? profiled.error().message
                                                          : std::string();
  if (!problem.empty()) return Complain(result.interrupted ? kExitInterrupted : kExitHarness, problem);
  Print(fmt::format("records: {}\nreport:  {}\n", (folder.path() / "results.jsonl").string(),
                    (folder.path() / "report.html").string()));
  if (result.interrupted) {
    std::fflush(stdout);  // so that the note follows the tables where both go to one file
    Note(plan.suite == kExploring ? std::string("interrupted: records and reports contain what has run")
         : run.ending.can_go_on
             ? fmt::format("interrupted: what has not run is listed as missing; records and reports contain the rest. "
                           "The same command with --out {} --resume continues",
                           folder.path().string())
             : std::string("interrupted: what has not run is listed as missing. A run with evidence cannot be "
                           "continued: begin it again with another --out"));
  }
  if (result.stopped) {
    std::fflush(stdout);
    Note(fmt::format(
        "stopped at {} ({}): what has not run is listed as missing. The same command with --out {} --resume continues",
        run.policy.most_failures == 1 ? "a failure" : fmt::format("{} failures", run.policy.most_failures),
        run.ending.at_first_failure ? "--until-fails" : "--maxfail", folder.path().string()));
  }
  ExitFlags flags;
  flags.interrupted = result.interrupted;
  flags.stopped = result.stopped;
  flags.device_lost = !result.lost.empty();
  flags.strict = run.ending.strict;
  const int code = ExitCodeOfRecords(records, flags);
  if (no_case && code == kExitNothing) return kExitOk;
  if (none_ran && !run.policy.runner.implementations.empty() && !no_case && !result.interrupted) {
    Complain(code, "no implementation ran: the backends offer none that --impl names for these cases");
  }
  return code;
}

// A new one, or that of the run which goes on.
Result<Resumption> OpenFolder(const RunSettings& settings, const PreparedRun& prepared, Json& environment) {
  const FolderRequest& request = settings.folder;
  environment[kAsked] = request.asked;
  if (request.resume) return Resume(request, settings.policy, prepared, environment);
  auto folder = RunFolder::Create(request.path.value_or(""));
  if (!folder) return tl::unexpected(folder.error());
  return Resumption{*std::move(folder), nullptr};
}

}  // namespace

// The plan last: a folder that has one can be continued.
Status WritePlan(const BegunRun& run) {
  if (auto status = run.folder.WriteJson("environment.json", run.environment); !status) return status;
  return run.folder.StreamText("plan.json", [&](const TextSink& write) { WritePlanJson(run.prepared.plan, write); });
}

tl::expected<std::unique_ptr<BegunRun>, int> BeginRun(RunSettings settings, const PrepareFunction& prepare,
                                                      const Json& verb_environment) {
  auto prepared = Prepare(settings, prepare);
  const auto end = [](int code) { return tl::unexpected(code); };
  if (!prepared) return end(Complain(prepared.error().code, prepared.error().message));

  WatchForInterrupts();
  Json environment = RunEnvironment(settings, *prepared);
  environment.update(verb_environment);
  auto opened = OpenFolder(settings, *prepared, environment);
  if (!opened) return end(Complain(kExitUsage, opened.error().message));
  std::unique_ptr<BegunRun> run(new BegunRun{*std::move(prepared), std::move(opened->folder), std::move(environment),
                                             std::move(settings.policy), settings.ending,
                                             RunWatch(settings.progress, settings.coloured_notes)});
  if (auto status = WritePlan(*run); !status) return end(Complain(kExitHarness, status.error().message));
  if (!run->prepared.absent.empty()) return end(EndWithoutRequired(run->folder));
  run->policy.observer = &run->watch;
  run->policy.resumed = opened->run;
  return run;
}

int EndRun(BegunRun& run, LoopResult& result, ProfileOutput* profile, const std::function<void()>& say_more) {
  if (auto status = WriteMeasured(run, result); !status) Note(status.error().message);
  const int code = FinishRun(run, result, profile);
  say_more();
  // Nobody waits for a golden value that nobody will use.
  if (result.abandoned) std::_Exit(FinishOutput(code));
  return code;
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay run: plan, judge, time, report.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/store/store_files.h"
#include "harness/base/parallel.h"
#include "harness/base/whole_file.h"
#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/profile_output.h"
#include "harness/cli/terminal/interrupt.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/run_watch.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/perf/machine_state.h"
#include "harness/results/environment.h"
#include "harness/results/exit_code.h"
#include "harness/results/processor_class.h"
#include "harness/run/ceilings.h"
#include "harness/run/prepared_run.h"
#include "harness/run/prices.h"
#include "harness/run/record_fields.h"
#include "harness/run/reproduction.h"
#include "harness/run/run_loop.h"
#include "harness/run/sandbox.h"
#include "reports/console.h"

namespace assay::cli {
namespace {

// What was asked for and only times can give; "" for none.
std::string TimingOptionsGiven(const CLI::App& verb, const RunOptions& options) {
  std::vector<std::string> given;
  for (const char* name : {"--rounds", "--perf-time", "--sweep", "--price", "--ceilings", "--launch-us"}) {
    if (verb.count(name) > 0) given.emplace_back(name);
  }
  if (options.cold.value_or(false)) given.emplace_back("--cold");
  if (options.roofline.value_or(false)) given.emplace_back("--roofline");
  return fmt::format("{}", fmt::join(given, ", "));
}

// Those whose kernels depend on the processor of this host.
std::vector<std::string> BackendsOnHost(const std::vector<Device>& devices) {
  std::vector<std::string> backends;
  for (const Device& c : devices) {
    if (c.session && HardwareOf(c) == kHostHardware) backends.push_back(c.backend);
  }
  return backends;
}

// A line that the user wrote and that meant nothing here may be a slip.
void NoteUnusedRules(const ExpectationSet& expectations, const LoopResult& result) {
  if (expectations.shipped || result.interrupted) return;
  const std::vector<std::string> unused = FindUnusedRules(expectations.rules, result.records);
  if (!unused.empty()) Note(fmt::format("expectations about no result of this run: {}", fmt::join(unused, ", ")));
}

nlohmann::ordered_json DescribeDevices(const std::vector<Device>& devices) {
  auto out = nlohmann::ordered_json::array();
  for (const Device& c : devices) out.push_back(DescribeDevice(c));
  return out;
}

nlohmann::ordered_json Environment(const RunOptions& options, const std::vector<Device>& devices,
                                   const ExpectationSet& expectations, const std::vector<std::string>& absent) {
  nlohmann::ordered_json out = DescribeEnvironment();
  if (options.relations != RunOptions().relations) out["relations"] = options.relations;
  if (options.selection.seed) out["seed"] = *options.selection.seed;
  if (options.perf && options.rounds > 1) out["rounds"] = options.rounds;
  if (options.perf && options.launch_us > 0) out["launch_us"] = options.launch_us;
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
  out["backends"] = DescribeDevices(devices);
  return out;
}

Status WritePlan(const RunFolder& folder, const Plan& plan, const nlohmann::ordered_json& environment) {
  if (auto status = folder.WriteText("plan.json", PlanJson(plan)); !status) return status;
  return folder.WriteJson("environment.json", environment);
}

// What a reproduction line needs besides the case, its backend and implementation.
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
  if (options.perf && options.launch_us != defaults.launch_us) {
    words.insert(words.end(), {"--launch-us", fmt::format("{}", options.launch_us)});
  }
  for (std::string& word : SandboxWords(options.backend.sandbox)) words.push_back(std::move(word));
  for (const std::string& file : options.expectations) {
    const bool is_file = file != "none";
    words.insert(words.end(), {"--expectations", is_file ? std::filesystem::absolute(file).string() : file});
  }
  return words;
}

LoopSettings SettingsFor(const RunOptions& options, const Plan& plan, const ExpectationSet& expectations) {
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
  settings.runner.launch_s = options.launch_us * 1e-6;
  settings.runner.cold = options.Cold();
  settings.runner.prices = *ParsePrices(options.prices);                // checked when it was read
  settings.runner.relations = *ParseRelationEffort(options.relations);  // likewise
  settings.runner.command = ProgramWord() + " run";
  settings.runner.carried = CarriedOptions(options);
  settings.runner.plan_hash = plan.hash;
  settings.runner.interrupted = Interrupted;
  return settings;
}

// What only the whole run tells.
Status WriteMeasured(const LoopSettings& settings, const std::vector<Device>& devices, const RunFolder& folder,
                     nlohmann::ordered_json environment, bool interrupted) {
  if (interrupted) environment[kInterruptedKey] = true;
  environment["backends"] = DescribeDevices(devices);
  if (const std::string unnamed = UnnamedLibrariesText(devices); !unnamed.empty()) {
    environment["unnamed_libraries"] = unnamed;
    Note(unnamed);
  }
  environment["machine_after"] = DescribeMachineState();
  if (auto status = folder.WriteJson("environment.json", environment); !status) return status;
  const auto& ceilings = settings.runner.ceilings;
  return ceilings ? folder.WriteJson("ceilings.json", ceilings->Json()) : Status();
}

// The files first: whatever becomes of standard output, they are complete.
int Finish(const RunOptions& options, const Plan& plan, const LoopResult& result, const RunFolder& folder,
           ProfileOutput& profile, bool no_case) {
  std::vector<Record> records = result.records;
  for (Record& missing : MakeMissingRecords(plan, result.offers, records)) records.push_back(std::move(missing));
  Status profiled = profile.WriteTotals(folder.path());
  auto written = WriteReports(folder.path(), records);
  if (profiled) profiled = profile.Finish(folder.path());
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
    Note("interrupted: what had not run yet is listed as missing; the records and reports hold the rest");
  }
  ExitFlags flags;
  flags.interrupted = result.interrupted;
  flags.strict = options.strict;
  const int code = ExitCodeOfRecords(records, flags);
  if (no_case && code == kExitNothing) return kExitOk;
  if (result.records.empty() && !no_case && !result.interrupted) {
    Complain(code, "no implementation ran: --impl fits none that the backends offer for these cases");
  }
  return code;
}

// What a run needs is asked for before it begins: nothing ran, and every report of the folder says why.
int EndWithoutRequired(const RunFolder& folder) {
  const auto written = WriteReports(folder.path(), {});
  if (!written) return Complain(kExitHarness, written.error().message);
  Print(fmt::format("report:  {}\n", (folder.path() / "report.html").string()));
  return Complain(kExitRequiredAbsent, "nothing ran, as a backend that --require-backend names is absent");
}

void NoteUnusedPrices(const std::map<std::string, double>& prices, const std::vector<Device>& devices) {
  std::set<std::string> backends;
  for (const Device& c : devices) backends.insert(c.backend);
  if (const std::string unused = FindUnusedPrices(prices, backends); !unused.empty()) Note(unused);
}

Result<DataSheet> ReadCeilings(const RunOptions& options) {
  if (!options.ceilings) return DataSheet();
  if (!options.Roofline()) return UsageError("--no-roofline uses no ceilings: leave out it or --ceilings");
  return LoadDataSheet(options.ceilings->string());
}

void NoteUnusedCeilings(const DataSheet& sheet, const std::vector<Device>& devices) {
  std::set<std::string> names;
  for (const Device& c : devices) {
    if (!c.session) continue;
    names.insert(c.device.name);
    if (HardwareOf(c) == kHostHardware) names.insert(kHostHardware);
  }
  if (const std::string unused = sheet.FindUnused({names.begin(), names.end()}); !unused.empty()) Note(unused);
}

int Run(RunOptions options) {
  if (IsConformance(options.selection.suite)) {
    options.strict = true;
    if (options.tier == RunOptions().tier) options.tier = Name(Tier::kReproducible);
  }
  if (options.jobs > 0) SetThreadCount(options.jobs);
  auto profile = ProfileOutput::Start(options);
  if (!profile) return Complain(kExitUsage, profile.error().message);
  options.backend.sandbox.hidden.push_back(options.out.value_or("out"));
  auto sheet = ReadCeilings(options);
  if (!sheet) return Complain(kExitUsage, sheet.error().message);
  std::vector<std::string> notes;
  auto prepared = PrepareRun(options, notes);
  for (const std::string& note : notes) Complain(kExitOk, note);
  if (!prepared) return Complain(prepared.error().code, prepared.error().message);
  auto& [selection, plan, sweep, devices, absent, expectations] = *prepared;

  WatchForInterrupts();
  auto folder = RunFolder::Create(options.out.value_or(""));
  if (!folder) return Complain(kExitUsage, folder.error().message);
  const nlohmann::ordered_json environment = Environment(options, devices, expectations, absent);
  if (auto status = WritePlan(*folder, plan, environment); !status) {
    return Complain(kExitHarness, status.error().message);
  }
  if (!absent.empty()) return EndWithoutRequired(*folder);
  LoopSettings settings = SettingsFor(options, plan, expectations);
  settings.runner.sweep = sweep;
  NoteUnusedPrices(settings.runner.prices, devices);
  if (options.perf && options.Roofline()) {
    NoteUnusedCeilings(*sheet, devices);
    settings.runner.ceilings = std::make_shared<Ceilings>(devices, options.backend.implementations,
                                                          settings.runner.interrupted, std::move(*sheet));
  }
  RunWatch watch(Progress::ParseMode(options.progress), UseColour(options.color, STDERR_FILENO));
  settings.observer = &watch;
  LoopResult result = RunCases(selection.cases, devices, settings, *folder);
  watch.End();
  if (settings.runner.ceilings && result.write_error.empty()) {
    settings.runner.ceilings->SetFinal(result.records);
    if (auto status = folder->Rewrite(result.records); !status) result.write_error = status.error().message;
  }
  if (auto status = WriteMeasured(settings, devices, *folder, environment, result.interrupted); !status)
    Note(status.error().message);
  const int code = Finish(options, plan, result, *folder, *profile, prepared->NoCase());
  NoteUnusedRules(expectations, result);
  // Nobody waits for a golden value that nobody will use.
  if (result.abandoned) std::_Exit(FinishOutput(code));
  return code;
}

// CLI11's own flag would make it false where neither is given, and empty for the negative one.
void AddYesOrNo(CLI::App& verb, const std::string& names, std::optional<bool>& value, const std::string& text) {
  verb.add_flag_function(
      names, [&value](int64_t count) { value = count > 0; }, text);
}

}  // namespace

void AddRunVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run cases on every backend, judge, time and report");
  AddCases(*verb, o->selection);
  AddBackend(*verb, o->backend);
  AddImplementations(*verb, o->backend);
  verb->add_option("--out", o->out, "folder for the output, new or empty; default: out/<time>")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("the name is empty; leave the option out for out/<time>") : std::string();
      });
  AddNumber<int>(
      *verb, "--jobs", o->jobs, kThreadLimits,
      "threads of the host, and how many workers may judge at a time; default: all cores, and one worker more")
      ->default_str("");
  verb->add_flag("--perf,!--no-perf", o->perf, "time what passes, which is the default, or time nothing");
  AddNumber<double>(*verb, "--perf-time", o->perf_time_s, kSecondsLimits,
                    "seconds that timing an implementation, case and round may take; it ends earlier when the median "
                    "is known to 2 %");
  AddNumber<double>(*verb, "--launch-us", o->launch_us, {0, 1e4},
                    "microseconds that launching an execution may take beside its duration, for a device whose driver "
                    "is slower than times are usually believed to allow for")
      ->default_str("");
  AddYesOrNo(*verb, "--cold,!--no-cold", o->cold,
             "time with cold caches too, for at most as long again; --sweep implies it");
  AddYesOrNo(*verb, "--roofline,!--no-roofline", o->roofline,
             "measure what each device can do at most, in seconds to minutes; --sweep implies it");
  verb->add_option("--ceilings", o->ceilings,
                   "TOML file of what devices can do at most, by their data sheets, for what assay cannot measure "
                   "itself; implies --roofline")
      ->type_name("FILE");
  verb->add_option("--price", o->prices, "what an hour of a backend costs, NUMBER or BACKEND=NUMBER; may be repeated")
      ->check([](const std::string& text) {
        const auto prices = ParsePrices({text});
        return prices ? std::string() : prices.error().message;
      })
      ->type_name("[BACKEND=]NUMBER");
  verb->add_option("--sweep", o->sweep,
                   "run the cases of --case at many sizes: b=1..256 (doubling), b=1..256*4, l=64..512+64, b=1,3,5, "
                   "shape.0=1..64")
      ->type_name("KEY=VALUES");
  AddNumber<int>(*verb, "--rounds", o->rounds, {1, 1000},
                 "how often everything is timed, each time in a fresh worker; assay compare needs several rounds");
  verb->add_flag(
      "--strict", o->strict,
      "inconclusive and suspect results and times that cannot be true fail too; --suite conformance implies it");
  verb->add_option("--expectations", o->expectations,
                   "files of known failures, or none; default: those that the backends ship")
      ->type_name("FILE");
  verb->add_option("--relations", o->relations,
                   "which relations between executions to check (batches, negation, ...): all, the few that cost "
                   "little, or none")
      ->check(CLI::IsMember({"all", "quick", "none"}))
      ->capture_default_str();
  verb->add_option("--tier", o->tier,
                   "how golden values are computed: auto is reproducible for f64 and --suite conformance, else fast")
      ->check(CLI::IsMember({"auto", "fast", "reproducible"}))
      ->capture_default_str();
  verb->add_flag("--profile", o->profile,
                 "say where the time went, by phase and backend, on standard error and in the reports");
  verb->add_option("--trace", o->trace, "write what ran when, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  verb->add_flag("--store,!--no-store", o->store, "keep golden values between runs, which is the default, or do not");
  AddProgress(*verb, o->progress);
  AddColor(*verb, o->color);
  verb->callback([o, verb, &action] {
    const std::string timing = TimingOptionsGiven(*verb, *o);
    if (!o->perf && !timing.empty()) {
      action = [timing] {
        return Complain(kExitUsage,
                        fmt::format("--no-perf times nothing, and {} needs times: leave out one of the two", timing));
      };
      return;
    }
    action = [o] { return Run(*o); };
  });
}

}  // namespace assay::cli

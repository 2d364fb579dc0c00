// SPDX-License-Identifier: Apache-2.0
// assay run: plan, judge, time, report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "harness/cli/evidence_option.h"
#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/profile_output.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/timing/ceilings.h"
#include "harness/plan/per_backend.h"

namespace assay::cli {
namespace {

// Lists the options given that only times can answer; "" if there are none.
std::string TimingOptionsGiven(const CLI::App& verb, const RunOptions& options) {
  std::vector<std::string> given;
  for (const char* name : {"--rounds", "--perf-time", "--sweep", "--price", "--ceilings", "--launch-us"}) {
    if (verb.count(name) > 0) given.emplace_back(name);
  }
  if (options.cold.value_or(false)) given.emplace_back("--cold");
  if (options.roofline.value_or(false)) given.emplace_back("--roofline");
  return fmt::format("{}", fmt::join(given, ", "));
}

// A line that the user wrote and that meant nothing here may be a slip.
void NoteUnusedRules(const ExpectationSet& expectations, const LoopResult& result) {
  if (expectations.shipped || result.interrupted || result.stopped) return;
  const std::vector<std::string> unused = FindUnusedRules(expectations.rules, result.records);
  if (!unused.empty()) Note(fmt::format("expectations that match no result of this run: {}", fmt::join(unused, ", ")));
}

void NoteUnused(const RunnerSettings& settings, const std::vector<Device>& devices) {
  std::set<std::string> backends;
  for (const Device& c : devices) backends.insert(c.backend);
  for (const std::string& unused :
       {FindUnused(kPrices, settings.prices, backends), FindUnused(kLaunches, settings.launches_us, backends)}) {
    if (!unused.empty()) Note(unused);
  }
}

Result<DataSheet> ReadCeilings(const RunOptions& options) {
  if (!options.ceilings) return DataSheet();
  if (!options.Roofline()) return UsageError("--no-roofline uses no ceilings: leave out one of it and --ceilings");
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
  auto profile = ProfileOutput::Start(options);
  if (!profile) return Complain(kExitUsage, profile.error().message);
  auto sheet = ReadCeilings(options);
  if (!sheet) return Complain(kExitUsage, sheet.error().message);
  auto begun = BeginRun(options, PrepareRun);
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  RunnerSettings& runner = run.settings.runner;
  runner.sweep = run.prepared.sweep;
  NoteUnused(runner, run.devices());
  if (options.perf && options.Roofline()) {
    NoteUnusedCeilings(*sheet, run.devices());
    runner.ceilings = std::make_shared<Ceilings>(run.devices(), options.backend.implementations, runner.interrupted,
                                                 std::move(*sheet));
  }
  const auto evidence = BeginEvidence(options, run);
  if (!evidence) return Complain(kExitUsage, evidence.error().message);
  LoopResult result = run.RunAll(std::move(run.prepared.selection.cases));
  if (runner.ceilings && result.write_error.empty()) {
    runner.ceilings->SetFinal(result.records);
    if (auto status = run.folder.Rewrite(result.records); !status) result.write_error = status.error().message;
  }
  return EndRun(options, run, result, &*profile, [&] {
    NoteUnusedRules(run.prepared.expectations, result);
    EndEvidence(*evidence, run);
  });
}

void AddRepetition(CLI::App& verb, RunOptions& o) {
  AddNumber<int>(verb, "--retries", o.retries, {0, 1000},
                 "tries after a crash, timeout, error or nondeterministic result, each in a fresh worker; flaky if one "
                 "ends differently. Default: one, after crashes and timeouts");
  verb.add_option("--on-device-lost", o.device_lost_command,
                  "shell command that resets a lost device, named in $ASSAY_SELECTOR; the case is tried again after it")
      ->type_name("COMMAND");
  AddNumber<int64_t>(verb, "--repeat", o.repeat, {1, 1'000'000'000},
                     "judge everything this many times, in random order; a result whose verdicts differ is flaky");
  AddTime(verb, o.time, "repeat for this long: 90s, 10m, 8h; each case at least once, and at most --repeat times");
  verb.add_flag_callback(
      "--until-fails", [&o] { o.until_fails = true, o.most_failures = 1; },
      "repeat until something fails, but no longer than --for and no more often than --repeat");
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
  AddSharing(*verb, *o);
  AddSetAside(*verb, *o);
  AddNumber<int>(*verb, "--maxfail", o->most_failures, {1, 1'000'000},
                 "stop after this many failures; --resume continues");
  verb->add_flag_callback(
      "--fail-fast", [o] { o->most_failures = 1; }, "same as --maxfail 1");
  AddRepetition(*verb, *o);
  verb->add_flag("--resume", o->resume,
                 "continue the run in --out, which was killed, interrupted or ran out of disk, with the same options; "
                 "its results stay");
  verb->add_flag("--allow-changed", o->allow_changed,
                 "with --resume: also if drivers, plugins, options or assay have changed since the run began");
  AddOut(*verb, *o);
  verb->add_flag("--perf,!--no-perf", o->perf, "time what passes (the default), or time nothing");
  AddNumber<double>(
      *verb, "--perf-time", o->perf_time_s, kSecondsLimits,
      "seconds for timing one implementation on one case in one round; less if the median is known to 2 % earlier");
  AddLaunches(*verb, *o);
  AddYesOrNo(*verb, "--cold,!--no-cold", o->cold,
             "also time with cold caches, for at most as long again; implied by --sweep");
  AddYesOrNo(*verb, "--roofline,!--no-roofline", o->roofline,
             "measure the peak rates of each device, in seconds to minutes; implied by --sweep");
  verb->add_option("--ceilings", o->ceilings,
                   "TOML file of peak rates from data sheets, which assay cannot measure itself; implies --roofline")
      ->type_name("FILE");
  AddPerBackend(*verb, kPrices, o->prices, "price of an hour of a backend");
  verb->add_option("--sweep", o->sweep,
                   "run the cases of --case at many sizes: b=1..256 (doubling), b=1..256*4, l=64..512+64, b=1,3,5, "
                   "shape.0=1..64")
      ->type_name("KEY=VALUES");
  AddNumber<int>(*verb, "--rounds", o->rounds, {1, 1000},
                 "times to time everything, each in a fresh worker; assay compare needs several rounds");
  AddStrictness(*verb, *o);
  verb->add_option("--relations", o->relations,
                   "relations between executions to check (batches, negation, ...): all, the cheap ones, or none")
      ->check(CLI::IsMember({"all", "quick", "none"}))
      ->capture_default_str();
  AddTier(*verb, *o);
  AddNumber<size_t>(
      *verb, "--evidence", o->evidence, {0, 1'000'000},
      "keep outputs for assay bundle: those of this many results, drawn after the run, and of all failures");
  auto* seed = verb->add_option("--evidence-seed", o->evidence_seed,
                                "file with the secret by which results are drawn; its SHA-256 may be published before. "
                                "Default: a secret of this run")
                   ->type_name("FILE");
  auto* challenge = verb->add_option("--challenge", o->challenge,
                                     "text from whoever gets the evidence, which goes into the draw too");
  for (const char* other : {"--repeat", "--for", "--until-fails"}) {
    verb->get_option("--evidence")->excludes(verb->get_option(other));  // it keeps what a single judgement saw
  }
  seed->needs(verb->get_option("--evidence"));
  challenge->needs(verb->get_option("--evidence"));
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

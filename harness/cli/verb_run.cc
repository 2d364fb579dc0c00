// SPDX-License-Identifier: Apache-2.0
// assay run: plan, judge, time, report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "harness/cli/evidence_option.h"
#include "harness/cli/options.h"
#include "harness/cli/profile_output.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/run_settings.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/timing/ceilings.h"
#include "harness/plan/find_suite.h"
#include "harness/plan/per_backend.h"

namespace assay::cli {
namespace {

// A line that the user wrote and that meant nothing here may be a slip.
void NoteUnusedRules(const ExpectationSet& expectations, const LoopResult& result) {
  if (expectations.shipped || result.interrupted || result.stopped) return;
  const std::vector<std::string> unused = FindUnusedRules(expectations.rules, result.records);
  if (!unused.empty()) Note(fmt::format("expectations that match no result of this run: {}", fmt::join(unused, ", ")));
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

// Gives the options their values that others imply.
void Settle(RunOptions& options) {
  if (IsConformance(options.selection.suite)) {
    options.strict = true;
    if (options.tier == RunOptions().tier) options.tier = Name(Tier::kReproducible);
  }
  if (options.until_fails) options.most_failures = 1;
  const bool is_sweep = !options.selection.sweep.empty();
  options.cold = options.cold.value_or(is_sweep) ? std::optional(true) : std::nullopt;  // --no-cold is as usual
  options.roofline = options.roofline.value_or(is_sweep || options.ceilings);
}

int Run(RunOptions options) {
  Settle(options);
  if (options.ceilings && !*options.roofline) {
    return Complain(kExitUsage, "--no-roofline uses no ceilings: leave out one of it and --ceilings");
  }
  const RunSettings settings(options);
  auto profile = ProfileOutput::Start(settings.profile, settings.request);
  if (!profile) return Complain(kExitUsage, profile.error().message);
  auto sheet = settings.ceilings ? LoadDataSheet(settings.ceilings->string()) : Result<DataSheet>(DataSheet());
  if (!sheet) return Complain(kExitUsage, sheet.error().message);
  auto begun = BeginRun(settings, PrepareRun);
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  RunnerSettings& runner = run.policy.runner;
  if (const std::string unused = FindUnused(runner.launches_us, BackendsOf(run.devices())); !unused.empty())
    Note(unused);
  if (settings.has_ceilings) {
    NoteUnusedCeilings(*sheet, run.devices());
    runner.ceilings =
        std::make_shared<Ceilings>(run.devices(), runner.implementations, runner.interrupted, std::move(*sheet));
  }
  const auto evidence = BeginEvidence(settings.evidence, run);
  if (!evidence) return Complain(kExitUsage, evidence.error().message);
  LoopResult result = run.RunAll(std::move(run.prepared.selection.cases));
  if (runner.ceilings && result.write_error.empty()) {
    runner.ceilings->SetFinal(result.records);
    if (auto status = run.folder.Rewrite(result.records); !status) result.write_error = status.error().message;
  }
  return EndRun(run, result, &*profile, [&] {
    NoteUnusedRules(run.prepared.expectations, result);
    EndEvidence(*evidence, run);
  });
}

}  // namespace

void AddRunVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run cases on every backend, judge, time and report");
  AddAllOptions(*verb, *o);
  CLI::Option* const evidence = verb->get_option("--evidence");
  for (const char* other : {"--repeat", "--for", "--until-fails"}) {
    evidence->excludes(verb->get_option(other));  // it keeps what a single judgement saw
  }
  evidence->excludes(verb->get_option("--sample"));      // whose outputs are no results of whole cases
  evidence->excludes(verb->get_option("--max-memory"));  // nobody could verify why a case is left out
  for (const char* part : {"--evidence-seed", "--challenge"}) verb->get_option(part)->needs(evidence);
  verb->callback([o, verb, &action] {
    const std::vector<std::string> timing = ListTimesAsked(*verb, *o);
    if (!o->perf && !timing.empty()) {
      action = [timing] {
        return Complain(kExitUsage, fmt::format("--no-perf times nothing, and {} needs times: leave out one of the two",
                                                fmt::join(timing, ", ")));
      };
      return;
    }
    action = [o] { return Run(*o); };
  });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay power: how many kernel bugs the verdict catches and how often it rejects a correct result, measured with the
// corpus plugin, beside the same for other systems' rules (harness/tools/power/README.md). Exit codes: 0; 1 a false
// alarm or less than kLeastCaught of the effective faults caught; 2 usage, or no corpus plugin; 3 an implementation of
// the corpus could not run; 4 nothing to measure; 130 interrupted, after the figures of the cases that were complete.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/parallel.h"
#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/sandbox.h"
#include "harness/plan/catalog.h"
#include "harness/tools/power/power_loop.h"
#include "harness/tools/power/power_naming.h"
#include "harness/tools/power/power_text.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kLastHeldBackSeed = 1'000'000'000'000;
constexpr const char *kCorpusName = "corpus", *kWithHeldName = "corpus_held";

struct PowerOptions {
  RunOptions run;
  std::string corpus;  // empty: beside the program
  bool full = false, quick = false, json = false;
  double timeout_s = 60;
  uint64_t seeds = 20, held_back_from = kFirstHeldBackSeed;
  std::optional<uint64_t> held_back, fault_seeds;
  std::string part = "tuned", faults = "*";
  std::optional<size_t> sample;
  uint64_t sample_seed = 1;
  bool explain = false;
  double search_s = 2;
  double max_flops = std::numeric_limits<double>::infinity();
};

const char* CorpusName(const PowerOptions& options) {
  return options.part == Name(CorpusPart::kTuned) ? kCorpusName : kWithHeldName;
}

std::string CorpusPath(const PowerOptions& options) {
  if (!options.corpus.empty()) return fs::absolute(options.corpus).lexically_normal().string();
  return ShippedCorpus(CorpusName(options)).string();
}

Status CheckCorpus(const PowerOptions& options) {
  const std::string path = CorpusPath(options);
  if (fs::is_regular_file(path)) return {};
  return UsageError(
      fmt::format("there is no corpus plugin at {}: build it (./scripts/build.sh release assay_backend_{}), or give "
                  "--corpus PATH",
                  path, CorpusName(options)));
}

PowerSettings SettingsFor(const PowerOptions& o) {
  PowerSettings settings;
  settings.seeds = o.seeds;
  settings.held_back = o.held_back.value_or(o.full ? 3 : 1);
  settings.held_back_from = o.held_back_from;
  settings.fault_seeds = std::min(o.fault_seeds.value_or(o.full ? 2 : 1), o.seeds);
  settings.faults = o.faults;
  settings.explain_s = o.explain ? o.search_s : 0;
  settings.interrupted = Interrupted;
  settings.part = static_cast<CorpusPart>(std::ranges::find(kPartNames, o.part) - kPartNames.begin());
  return settings;
}

int ExitCodeOf(const PowerTally& tally) {
  if (!tally.could_not_run.empty()) {
    return Complain(kExitHarness, fmt::format("{} runs of the corpus failed, the first: {}", tally.could_not_run.size(),
                                              tally.could_not_run[0]));
  }
  const RuleSummary own = SummariseRule(tally, kAssayRule);
  if (own.legal_tensors == 0) {
    return Complain(kExitNothing, "nothing was measured: the corpus has no legal schedule for any of these cases");
  }
  const bool holds = own.false_alarms == 0 && own.CaughtFraction() >= kLeastCaught;
  return holds ? kExitOk : kExitFailed;
}

int Power(const PowerOptions& options) {
  if (options.full && options.quick) return Complain(kExitUsage, "--quick and --full exclude each other");
  PowerRun run;
  run.corpus = CorpusPath(options);
  if (auto found = CheckCorpus(options); !found) return Complain(kExitUsage, found.error().message);
  if (auto sandbox = CheckSandbox(options.run.backend.sandbox); !sandbox)
    return Complain(kExitUsage, sandbox.error().message);
  if (const std::string unset = FindUnset(options.run.backend.sandbox); !unset.empty()) Complain(kExitOk, unset);
  PlanOptions selection = options.run.selection;
  if (selection.suite.empty()) selection.suite = options.full ? "power-full" : "power-quick";
  auto planned = PlanCases(selection);
  if (!planned) return Complain(kExitUsage, planned.error().message);
  const Selection& selected = planned->selection;
  if (selected.empty == EmptyReason::kNoMatch) return Complain(kExitNothing, selected.empty_message);
  if (selected.empty == EmptyReason::kShardOnly) return Complain(kExitOk, selected.empty_message);

  WatchForInterrupts();
  const Stopwatch watch;
  run.suite = selection.suite;
  std::vector<PlannedCase> cases = KeepCasesUpTo(selected.cases, options.max_flops);
  run.too_large = selected.cases.size() - cases.size();
  if (cases.empty()) return Complain(kExitNothing, "all selected cases are beyond --max-flops");
  if (options.sample) {
    run.sampled_from = cases.size(), run.sample_seed = options.sample_seed;
    cases = SampleCases(std::move(cases), *options.sample, options.sample_seed);
  }
  run.cases = cases.size();
  run.settings = SettingsFor(options);
  auto parts = CorpusParts::Read(run.corpus, run.settings.part);
  if (!parts) return Complain(kExitUsage, parts.error().message);
  run.settings.parts = std::move(*parts);
  TrueCauses truths;
  if (options.explain) {
    auto read = TrueCauses::Read(run.corpus);
    if (!read) return Complain(kExitUsage, read.error().message);
    truths = *std::move(read);
  }
  const int jobs = options.run.jobs > 0 ? options.run.jobs : ThreadCount();
  Progress progress(Progress::ParseMode(options.run.progress), run.cases);
  const auto show = [&](size_t done, size_t alarms, const std::string& current) {
    progress.Update(done, alarms, current);
  };
  const MeasuredPower measured =
      MeasureCases(cases, {run.corpus, options.timeout_s, options.run.backend.sandbox, jobs}, run.settings, show);
  const PowerTally& tally = measured.tally;
  run.complete = measured.complete;
  run.seconds = watch.Seconds();
  if (options.json) {
    Json json = PowerJson(tally, run);
    if (options.explain) json["explained"] = NamingJson(tally, truths);
    fmt::print("{}\n", DumpJson(json, 2));
  } else {
    fmt::print("{}{}", PowerText(tally, run), options.explain ? NamingText(tally, truths) : "");
  }
  if (run.settings.interrupted()) {
    return Complain(kExitInterrupted, fmt::format("interrupted after {} of {} cases", run.complete, run.cases));
  }
  return ExitCodeOf(tally);
}

}  // namespace

void AddPowerVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<PowerOptions>();
  CLI::App* verb = app.add_subcommand(
      "power", "Measure how many kernel bugs the verdict catches and how often it rejects a correct result");
  verb->add_flag("--quick", o->quick, "suite power-quick, a minute or two on two cores (default)");
  verb->add_flag("--full", o->full, "suite power-full, with more seeds");
  verb->add_option(
          "--part", o->part,
          "part of the corpus: tuned (limits were chosen with it), held and fresh (nothing was), studied (names "
          "of causes were improved with it), unseen (its other half, nothing was), or all")
      ->check(CLI::IsMember(std::vector<std::string>(kPartNames.begin(), kPartNames.end())))
      ->capture_default_str();
  verb->add_flag("--explain", o->explain,
                 "explain each caught fault and compare the first cause named with its true one (causes.txt beside the "
                 "corpus)");
  AddNumber<double>(*verb, "--search", o->search_s, {0.01, 100'000},
                    "work of the search for causes of one result, in seconds of one usual core, with --explain");
  verb->add_flag("--json", o->json, "print JSON instead of a table");
  AddOptions(*verb, o->run, {"--suite", "--op", "--dtype", "--filter", "--operators", "--python", "--shard"});
  verb->get_option("--suite")->description("suite name or path of a .suite file; its seeds are replaced");
  AddNumber<size_t>(*verb, "--sample", o->sample, {1, 1'000'000},
                    "measure this many cases, drawn at random, of each operator in proportion");
  AddNumber<uint64_t>(*verb, "--sample-seed", o->sample_seed, {0, kLastHeldBackSeed},
                      "seed of --sample; draws the same cases on every machine")
      ->type_name("SEED");
  AddNumber<double>(*verb, "--max-flops", o->max_flops, {1, std::numeric_limits<double>::infinity()},
                    "leave out cases of more operations")
      ->default_str("");
  verb->add_option("--faults", o->faults, "only faults whose name matches these globs, as in --filter")
      ->capture_default_str();
  verb->add_option("--corpus", o->corpus,
                   "plugin of correct schedules and kernel bugs; default: lib/assay/corpus beside the program")
      ->type_name("PATH");
  AddNumber<uint64_t>(*verb, "--seeds", o->seeds, {1, kFirstHeldBackSeed},
                      "number of seeds for the envelope of correct results");
  AddNumber<uint64_t>(*verb, "--held-back", o->held_back, {0, kFirstHeldBackSeed},
                      "number of seeds from --held-back-from on, for correct schedules only; default 1, with --full 3");
  AddNumber<uint64_t>(*verb, "--held-back-from", o->held_back_from, {kFirstHeldBackSeed, kLastHeldBackSeed},
                      "first held-back seed; a new one makes data that nobody has seen")
      ->type_name("SEED");
  AddNumber<uint64_t>(*verb, "--fault-seeds", o->fault_seeds, {1, kFirstHeldBackSeed},
                      "number of seeds on which faults run; default 1, with --full 2");
  AddOptions(*verb, o->run, {"--jobs", "--progress"});
  verb->get_option("--jobs")->description("number of workers at a time; default: all cores");
  AddNumber<double>(*verb, "--timeout", o->timeout_s, kSecondsLimits, "seconds that the corpus may take for one call");
  AddOptions(*verb, o->run, kSandboxOptions);
  verb->callback([o, &action] { action = [o] { return Power(*o); }; });
}

}  // namespace assay::cli

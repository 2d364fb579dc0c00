// SPDX-License-Identifier: Apache-2.0
// assay compare BASE NEW: what changed between two runs, and whether any of it is a regression.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/replaced_file.h"
#include "harness/cli/run_pair.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/missing.h"
#include "reports/compare/comparison.h"
#include "reports/incomplete.h"
#include "reports/run_notes.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct CompareOptions {
  fs::path base, now;
  std::string builds;  // BASE,NEW
  std::string policy;
  std::optional<double> perf_gate;
  double minimum_effect = 5;  // percent
  bool allow_lost = false, strict = false;
  std::string markdown;
  bool json = false, github = false;
  std::string color = "auto";
  size_t rows = 50;
};

Result<CompareSettings> SettingsOf(const CompareOptions& options) {
  CompareSettings settings;
  settings.harness_backend = kHarnessBackend;
  settings.minimum_effect = options.minimum_effect / 100;
  settings.same_rounds = !options.builds.empty();
  if (!options.policy.empty()) {
    auto policy = LoadPolicy(options.policy);
    if (!policy) return tl::unexpected(policy.error());
    settings.policy = std::move(*policy);
  }
  if (options.perf_gate) settings.policy.SetDefault("slower_percent", *options.perf_gate);
  if (options.allow_lost) settings.policy.SetDefault("lost_results", 0.0);
  return settings;
}

// How a run was made, where its folder says so.
void NoteRun(const fs::path& dir, const RunToCompare& run, RunComparison& comparison) {
  const std::string environment = ReadWholeFile(dir / "environment.json").value_or("");
  for (const std::string& note : RunNotes(run.records, environment)) {
    comparison.notes.push_back(fmt::format("{}: {}", run.name, note));
  }
}

void NoteIncomplete(const RunToCompare& run, RunComparison& comparison) {
  if (const std::string line = IncompleteLine(run.records); !line.empty()) {
    comparison.notes.push_back(fmt::format("{}: {}", run.name, line));
  }
}

// Names results that the base planned or began to write and lacks: whether the new run is worse there is unknown. "" if
// nothing is missing, or if the policy lets results be lost.
std::string ListBaseLosses(const RunToCompare& base, const ComparePolicy& policy) {
  if (!base.torn.empty()) return policy.For("", "", "", "").lost_results ? base.torn : "";
  const auto counts = [&](const Record& r) {
    return r.verdict == "missing" && policy.For(r.op, r.backend, r.implementation, r.case_id).lost_results;
  };
  if (std::ranges::none_of(base.records, counts)) return "";
  return fmt::format("{}: {}", base.name, IncompleteLine(base.records));
}

void NoteUnusedRules(const ComparePolicy& policy, const RunPair& pair, RunComparison& comparison) {
  const std::vector<Record> runs[] = {pair.base.records, pair.now.records};
  for (const std::string& where : policy.FindUnusedRules(runs)) {
    comparison.notes.push_back(where + ": the rule matches no result of these runs");
  }
}

Status WriteTo(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (file) return {};
  return Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}; name a file in a folder that is there and writable",
                                          path, std::strerror(errno)));
}

std::vector<ReadFile> ListComparedFiles(const CompareOptions& options) {
  std::vector<ReadFile> files{{options.policy, "the policy"}};
  for (const auto& [run, what] : {std::pair{options.base, "the base"}, std::pair{options.now, "the new run"}}) {
    files.push_back({run, what});
    if (run.empty()) continue;
    for (const char* name : {"results.jsonl", "plan.json", "environment.json", kOffersFile}) {
      files.push_back({run / name, what});
    }
  }
  return files;
}

// Why --perf-gate could not fail, however slow the new run is; "" where it could, or was not asked for.
std::string ExplainUnusedGate(const CompareOptions& options, const RunComparison& comparison) {
  if (!options.perf_gate) return "";
  if (!comparison.never_slower.empty()) return "--perf-gate: nothing was gated: " + comparison.never_slower;
  if (comparison.TimesTested() > 0) return "";
  const auto timed = std::ranges::find_if(comparison.results, [](const auto& r) {
    return r.time.verdict == TimeVerdict::kUnsure || r.time.verdict == TimeVerdict::kInvalid;
  });
  return fmt::format("--perf-gate: no times could be compared, so nothing was gated: {}",
                     timed != comparison.results.end()
                         ? timed->time.why
                         : "no result that passes is timed in both runs; run them without --no-perf and with "
                           "--rounds N, or leave the option out");
}

int Compare(const CompareOptions& options) {
  std::error_code error;
  if (options.json && options.now.extension() == ".json" && !fs::exists(options.now, error)) {
    return Complain(kExitUsage, ExplainJson(options.now.string()));
  }
  if (options.builds.empty() == options.now.empty()) {
    return Complain(kExitUsage, "give two runs (assay compare BASE NEW), or one run with --builds BASE,NEW");
  }
  const ResultKind kind{"report of assay compare",
                        [](const fs::path& file) { return FileBeginsWith(file, kComparisonHeading); }, true};
  if (auto fine = CheckMayWrite({"--markdown", options.markdown, kind}, ListComparedFiles(options)); !fine) {
    return Complain(kExitUsage, fine.error().message);
  }
  auto settings = SettingsOf(options);
  if (!settings) return Complain(kExitUsage, settings.error().message);
  auto pair = options.builds.empty() ? ReadRuns(options.base, options.now) : ReadBuilds(options.base, options.builds);
  if (!pair) return Complain(kExitUsage, pair.error().message);
  auto comparison = CompareRuns(pair->base, pair->now, *settings);
  if (!comparison) return Complain(kExitUsage, comparison.error().message);
  const auto shared = [](const ResultComparison& r) { return r.in_both && !r.implementation.empty(); };
  if (!options.builds.empty() && std::ranges::none_of(comparison->results, shared)) {
    return Complain(
        kExitUsage,
        fmt::format(
            "--builds: '{}' of {} have no result of the same case and implementation, so nothing can be compared",
            options.builds, options.base.string()));
  }
  NoteRun(options.base, pair->base, *comparison);
  if (!options.now.empty()) NoteRun(options.now, pair->now, *comparison);
  if (!pair->note.empty()) comparison->notes.push_back(pair->note);
  NoteIncomplete(pair->base, *comparison);
  NoteIncomplete(pair->now, *comparison);
  NoteUnusedRules(settings->policy, *pair, *comparison);

  const bool regressed = comparison->Regressions() + comparison->CountRegressedGroups() > 0 ||
                         (options.strict && comparison->TimesInvalid() > 0);
  const std::string no_gate = ExplainUnusedGate(options, *comparison);
  // With two runs, results that the new one lost are listed one by one. With two builds of one run, both lack them.
  const bool cut_short = !options.builds.empty() && !options.allow_lost && !IncompleteLine(pair->now.records).empty();
  const std::string lacks = ListBaseLosses(pair->base, settings->policy);
  const int code = comparison->Incomplete() > 0 || cut_short || !lacks.empty() ? kExitHarness
                   : regressed                                                 ? kExitFailed
                   : no_gate.empty()                                           ? kExitOk
                                                                               : kExitUsage;
  Status written;
  if (!options.markdown.empty()) written = WriteTo(options.markdown, ComparisonMarkdown(*comparison));
  Print(options.json ? ComparisonJson(*comparison, code)
                     : ComparisonConsole(*comparison, {UseColour(options.color, STDOUT_FILENO), options.rows,
                                                       TextWidth(STDOUT_FILENO)}));
  if (options.github) {
    const std::string annotations = ComparisonAnnotations(*comparison);
    // GitHub reads both streams; a program that reads JSON reads standard output.
    if (options.json) {
      fmt::print(stderr, "{}", annotations);
    } else {
      Print(annotations);
    }
  }
  if (!written) return Complain(kExitHarness, written.error().message);
  if (!lacks.empty()) {
    Complain(code,
             fmt::format(
                 "the base is incomplete, so regressions cannot be ruled out: {}. Run it again, or give --allow-lost",
                 lacks));
  }
  return no_gate.empty() ? code : Complain(code, no_gate);
}

}  // namespace

void AddCompareVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* verb = app.add_subcommand("compare", "Compare two runs; exit 1 when the new one has a regression");
  verb->add_option("BASE", o->base, "output folder of a run, or its results.jsonl")->required();
  verb->add_option("NEW", o->now, "output folder or results.jsonl of the run that is judged");
  verb->add_option("--builds", o->builds,
                   "instead: compare two builds of one backend, or two files of kernels, in one run")
      ->type_name("BASE,NEW");
  verb->add_option("--policy", o->policy, "TOML file that says what is a regression")->type_name("FILE");
  AddNumber<double>(*verb, "--perf-gate", o->perf_gate, {0, 1e6},
                    "SLOWER by at least this many percent is a regression; a rule of the policy prevails");
  AddNumber<double>(*verb, "--min-effect", o->minimum_effect, {0.1, 1e6},
                    "smallest difference that counts as SLOWER or FASTER, in percent");
  verb->add_flag("--allow-lost", o->allow_lost, "only report results that the new run lacks");
  verb->add_flag("--strict", o->strict, "also fail on times of either run that cannot be true");
  verb->add_option("--markdown", o->markdown, "write the comparison as Markdown too")->type_name("FILE");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->add_flag("--github", o->github,
                 "print annotations for GitHub too, one per backend and operator; with --json on standard error");
  AddOptionFor(*verb, "--color", o->color);
  AddNumber<size_t>(*verb, "--rows", o->rows, {0, 1'000'000}, "most rows of each list");
  verb->callback([o, &action] { action = [o] { return Compare(*o); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay explore: cases beyond any list, as long as there is time.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/run_settings.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/core/model/contract.h"
#include "harness/engine/device/interpreter.h"
#include "harness/engine/preflight.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/catalog.h"
#include "harness/plan/selection.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/explore/explorer.h"
#include "harness/tools/explore/threshold_search.h"
#include "harness/tools/explore/verb_threshold_text.h"
#include "ops/bound_case.h"

namespace assay::cli {
namespace {

constexpr size_t kMostPasses = 20000;  // results: a report of more is of no use
constexpr const char* kUsualTime = "10m";

struct ExploreOptions {
  RunOptions run;
  std::optional<std::string> time;
  std::optional<uint64_t> cases, seed;
  std::optional<uint64_t> compositions;  // --compose
  CoverLimits limits{.elements = 0x1p18, .flops = 0x1p24};
  bool thresholds = false, times = false;
};

// Ladders reach further where nobody says how far: one of their cases in some hundred is large.
constexpr CoverLimits kThresholdLimits{.elements = 0x1p22, .flops = 0x1p28};

Result<std::vector<const Operator*>> OperatorsOf(const std::vector<std::string>& wanted,
                                                 const std::vector<std::string>& dtypes) {
  if (auto known = CheckDTypes(dtypes); !known) return tl::unexpected(known.error());
  const OpCatalog ops = Catalog();
  std::vector<const Operator*> found;
  for (const std::string& name : wanted.empty() ? ops.names : wanted) {
    const Operator* op = ops.op(name);
    if (op == nullptr) return UnknownOperator(name, ops);
    CaseSpace space = op->Space();
    const bool declares = !space.dimensions.empty();
    if (declares && NarrowTypes(space, dtypes)) {
      found.push_back(op);
    } else if (!declares && !wanted.empty()) {
      return UsageError(fmt::format("{} does not declare what its cases vary in; leave it out of --op", name));
    }
  }
  if (found.empty()) {
    return UsageError(
        fmt::format("--dtype {}: no case of {} has such types; assay list ops --verbose names those of operands",
                    fmt::join(dtypes, ","), fmt::join(wanted.empty() ? ops.names : wanted, ", ")));
  }
  return found;
}

// Time counts where it was asked for, or nothing was.
std::function<bool()> Clock(const ExploreOptions& options) {
  if (!options.time && options.cases) return [] { return false; };
  const double seconds = *ParseAge(options.time.value_or(kUsualTime));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  return [end] { return std::chrono::steady_clock::now() >= end; };
}

Result<ExploreSettings> SettingsOf(const ExploreOptions& options) {
  auto ops = OperatorsOf(options.run.selection.ops, options.run.selection.dtypes);
  if (!ops) return tl::unexpected(ops.error());
  const std::string& requirement = options.run.selection.contract;
  if (!requirement.empty()) {
    if (auto contract = ParseRequirement(requirement); !contract) {
      return UsageError("--contract: " + contract.error().message);
    }
  }
  ExploreSettings settings;
  settings.ops = *std::move(ops);
  settings.seed = options.seed ? *options.seed : std::random_device{}() % kDrawnSeeds;
  settings.dtypes = options.run.selection.dtypes;
  settings.limits = options.limits;
  settings.cases = options.cases.value_or(0);
  settings.requirement = requirement;
  settings.strict = options.run.strict;
  settings.times = options.times;
  return settings;
}

// The options by which another command goes as this one.
std::string SharedOptions(const RunOptions& run) {
  std::string text;
  for (const auto& words : {WriteWords(run, {"--plugin", "--kernels", "--framework", "--backend", "--device", "--impl",
                                             "--devices", "--set-aside-after"}),
                            WriteWords(run, Effect::kCarried)}) {
    for (const std::string& word : words) text += " " + Quoted(word);
  }
  return text;
}

// The command that tries the same cases: those of a seed follow from what the devices made of them too.
std::string AgainText(const ExploreOptions& options, const ExploreSettings& settings, size_t cases) {
  std::string text = fmt::format("explore {}--seed {} --cases {}",
                                 options.times        ? "--thresholds --times "
                                 : options.thresholds ? "--thresholds "
                                                      : "",
                                 settings.seed, cases);
  for (const std::string& word : WriteWords(options.run, {"--op", "--dtype", "--contract"})) text += " " + Quoted(word);
  const CoverLimits usual = options.thresholds ? kThresholdLimits : ExploreOptions().limits;
  if (options.limits.elements != usual.elements) text += fmt::format(" --max-elements {}", options.limits.elements);
  if (options.limits.flops != usual.flops) text += fmt::format(" --max-flops {}", options.limits.flops);
  RunOptions same = options.run;
  same.relations = RunOptions().relations;  // the verb has its own
  return text + SharedOptions(same);
}

Json CoverageJson(const ExploreSettings& settings, const Explorer& explorer, const LoopResult& result) {
  Json json = {{"seed", settings.seed},
               {"cases", explorer.CountRan(result.records)},
               {"failing_cases", explorer.failures()},
               {"results_left_out", result.forgotten},
               {"coverage", Json::array()}};
  for (const auto& [op, sets] : explorer.Coverage()) {
    for (const Explored& set : sets) {
      json["coverage"].push_back({{"op", op},
                                  {"strength", set.strength},
                                  {"possible", set.possible},
                                  {"covered", set.covered},
                                  {"refused", set.refused}});
    }
  }
  return json;
}

// Prints what the records do not tell.
void PrintSummary(const ExploreOptions& options, const ExploreSettings& settings, const Explorer& explorer,
                  const LoopResult& result, const RunFolder& folder) {
  const size_t cases = explorer.CountRan(result.records);
  if (cases == 0) {  // --cases refuses 0, and nothing is covered
    Print(fmt::format("\nno case was explored {}\n",
                      result.interrupted ? "before the interruption" : "within the time; give more with --for"));
    return;
  }
  if (explorer.taken() == 0 && !result.interrupted) {  // then the last results were not counted
    Print(fmt::format("\nno backend took any of {} cases{}\n", cases,
                      options.run.backend.implementations.empty()
                          ? ""
                          : fmt::format(" with an implementation of --impl {}",
                                        fmt::join(options.run.backend.implementations, ","))));
    return;
  }
  Print(fmt::format("\nexplored: {}; the same again: {} {}\n", Counted(cases, "case"), ProgramWord(),
                    AgainText(options, settings, cases)));
  if (result.forgotten > 0) {
    Print(fmt::format("          passed or unsupported, and in no file: {}\n", Counted(result.forgotten, "result")));
  }
  for (const auto& [op, sets] : explorer.Coverage()) {
    for (const Explored& set : sets) {
      const int64_t open = set.possible - set.covered - set.refused;
      Print(fmt::format("{:<10}{:<16} {} {} of {} covered, {} that no backend took, {} left\n", "", op,
                        set.strength == 2 ? "pairs " : "threes", set.covered, set.possible, set.refused, open));
    }
  }
  if (explorer.failures() == 0) return;
  const std::string suite = (folder.path() / kFailuresSuite).string();
  Print(fmt::format("failures: {}; {} small ones that show them, again: {} run --no-perf --suite {}{}\n",
                    Counted(explorer.failures(), "case"), explorer.saved(), ProgramWord(), Quoted(suite),
                    SharedOptions(options.run)));
}

// Plans the cases that ran. A case without records was cut off by the end of the run, or left none.
void FillPlan(const RecordView& records, Plan& plan) {
  std::set<std::string> known;
  for (const Record& record : records) {
    if (!known.insert(record.case_id).second) continue;
    plan.entries.push_back({.id = record.case_id, .requirement = record.required_contract});
  }
  CompletePlan(plan);
}

constexpr int kFirstCases = 400;  // of each operator: most types, sizes and attributes are in them

// The problems of the first cases, one operator after another.
class FirstProblems {
 public:
  explicit FirstProblems(const ExploreSettings& settings) : settings_(settings) {}

  const Problem* Next() {
    for (; op_ < settings_.ops.size(); ++op_, given_ = 0) {
      if (given_ == 0) cases_.emplace(*settings_.ops[op_], settings_.limits, settings_.seed, settings_.dtypes);
      if (given_++ == kFirstCases) continue;
      const auto spec = cases_->Next();
      if (!spec) continue;
      bound_ = BindCase(*spec).value();  // an Exploration gives nothing else
      return &bound_->problem;
    }
    return nullptr;
  }

 private:
  const ExploreSettings& settings_;
  size_t op_ = 0;
  int given_ = 0;
  std::optional<Exploration> cases_;  // of this operator
  SharedCase bound_;
};

tl::expected<PreparedRun, Refusal> PrepareExploring(const RunRequest& request, const ExploreSettings& explore,
                                                    std::vector<std::string>& notes) {
  auto prepared = PrepareWithoutCases(request, notes);
  if (!prepared) return prepared;
  FirstProblems problems(explore);
  const auto offered = CheckImplementations(
      request.backend.implementations, prepared->devices, [&] { return problems.Next(); }, notes);
  if (!offered) return tl::unexpected(Refusal{kExitUsage, offered.error().message});
  prepared->plan.suite = kExploring;
  CompletePlan(prepared->plan);
  return prepared;
}

// Begins it, and says the seed; else the exit code.
tl::expected<std::unique_ptr<BegunRun>, int> BeginExploring(const ExploreOptions& options, ExploreSettings& explore) {
  auto begun = BeginRun(
      RunSettings(options.run),
      [&](const RunRequest& run, std::vector<std::string>& notes) { return PrepareExploring(run, explore, notes); },
      {{"explore", {{"seed", explore.seed}}}});
  if (!begun) return begun;
  Note(fmt::format("seed {}", explore.seed));
  (*begun)->policy.most_passes = kMostPasses;
  explore.is_time_over = Clock(options);
  return begun;
}

void PrintThresholds(const ExploreOptions& options, const ExploreSettings& settings, const ThresholdSearch& search) {
  const auto ladders = search.Ladders();
  const auto complete = std::ranges::count_if(
      ladders, [](const ExtentLadder* l) { return l->ladder.IsComplete() || !l->ladder.IsTaken(); });
  const std::string table = ThresholdsText(ladders);
  Print(table.empty() ? "\nno threshold was found\n"
                      : "\nthresholds: extents between which plans or results change\n" + table);
  Print(fmt::format("tried: {} in {} of {} extents, {} of them to their end; the same again: {} {}\n",
                    Counted(search.given(), "case"), ladders.size(), search.planned_ladders(), complete, ProgramWord(),
                    AgainText(options, settings, search.given())));
}

int SearchThresholds(ExploreOptions options) {
  options.run.relations = RunOptions().relations;
  auto explore = SettingsOf(options);
  if (!explore) return Complain(kExitUsage, explore.error().message);
  auto begun = BeginExploring(options, *explore);
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  ThresholdSearch search(*explore, run.devices());
  LoopResult result = run.RunAll(search);
  FillPlan(result.records, run.prepared.plan);
  const Json json = ThresholdsJson(search.Ladders());
  run.environment["explore"] = {
      {"seed", explore->seed}, {"cases", search.given()}, {"thresholds", json["thresholds"].size()}};
  for (const Status& status : {WritePlan(run), run.folder.WriteText(kThresholdsFile, DumpJson(json, 2) + "\n")}) {
    if (!status) Note(status.error().message);
  }
  return EndRun(run, result, nullptr, [&] { PrintThresholds(options, *explore, search); });
}

int Explore(const ExploreOptions& options) {
  auto explore = SettingsOf(options);
  if (!explore) return Complain(kExitUsage, explore.error().message);
  auto begun = BeginExploring(options, *explore);
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  Explorer explorer(*explore, run.devices(), run.policy, run.folder);
  LoopResult result = run.RunAll(explorer);
  FillPlan(result.records, run.prepared.plan);
  run.environment["explore"] = CoverageJson(*explore, explorer, result);
  if (auto status = WritePlan(run); !status) Note(status.error().message);
  return EndRun(run, result, nullptr, [&] { PrintSummary(options, *explore, explorer, result, run.folder); });
}

// The module assay.compose draws and judges them, in a process that takes the place of this one: its frameworks are
// libraries of Python.
int ExploreCompositions(const ExploreOptions& options, const CLI::App& verb) {
  // --grant may come from the environment.
  const std::set<std::string> shared = {"--compose", "--framework", "--dtype", "--seed",
                                        "--python",  "--out",       "--grant"};
  for (const CLI::Option* other : verb.get_options()) {
    if (other->count() == 0 || shared.contains(other->get_name())) continue;
    return Complain(kExitUsage, fmt::format("{} says nothing of --compose; leave it out", other->get_name()));
  }
  const auto modules = FindModules();
  if (!modules) return Complain(kExitUsage, modules.error().message);
  const uint64_t seed = options.seed ? *options.seed : std::random_device{}() % kDrawnSeeds;
  Note(fmt::format("seed {}", seed));
  const std::string python = ChoosePython(options.run.backend.python);
  std::vector<std::string> words = {python,    (*modules / "assay/_compose_script.py").string(),
                                    "--count", fmt::to_string(*options.compositions),
                                    "--seed",  fmt::to_string(seed)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--framework", fmt::format("{}", fmt::join(options.run.backend.frameworks, ",")));
  add("--dtype", fmt::format("{}", fmt::join(options.run.selection.dtypes, ",")));
  add("--out", options.run.out ? options.run.out->string() : "");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  return Complain(kExitUsage,
                  fmt::format("the interpreter {} cannot be run: {}; name one of CPython 3.10 or later with "
                              "--python PATH",
                              python, std::strerror(errno)));
}

void AddExploring(CLI::App& verb, ExploreOptions& o) {
  AddOptions(verb, o.run, {"--op", "--dtype", "--contract", "--operators"});
  AddOptionFor(verb, "--for", o.time)
      ->description("how long to search: 90s, 10m, 8h; default 10m, or no limit with --cases");
  AddNumber<uint64_t>(verb, "--cases", o.cases, {1, 1'000'000'000},
                      "number of cases to try; those made smaller do not count");
  AddOptionFor(verb, "--seed", o.seed)->description("seed of the cases; default: random, and printed");
  AddNumber<double>(verb, "--max-elements", o.limits.elements, {16, 0x1p32}, "most elements of all operands of a case");
  AddNumber<double>(verb, "--max-flops", o.limits.flops, {16, 0x1p45}, "most operations of a case");
}

}  // namespace

void AddExploreVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ExploreOptions>();
  CLI::App* verb = app.add_subcommand(
      "explore", "Search for failing cases beyond any suite, near those with the largest margins, and make them small");
  RunOptions& run = o->run;
  run.perf = run.store = false;
  run.relations = "all";
  AddExploring(*verb, *o);
  AddUntimedRun(*verb, run);
  AddOptions(*verb, run, {"--store"});
  verb->get_option("--store")->description(
      "keep golden values between runs, or not (the default): no other run has these cases");
  AddNumber<uint64_t>(
      *verb, "--compose", o->compositions, {1, 1'000'000'000},
      "instead of cases this many random compositions of functions, of the frameworks of --framework (default numpy)");
  CLI::Option* thresholds =
      verb->add_flag("--thresholds", o->thresholds,
                     "instead climb each extent of the operators, and find those at which kernels, contracts, bits or "
                     "verdicts change; up to 4194304 elements unless --max-elements says otherwise");
  verb->add_flag("--times", o->times, "likewise those at which times jump, on a machine that does nothing else")
      ->needs(thresholds);
  verb->callback([o, verb, &action] {
    action = [o, verb] {
      if (o->compositions) return ExploreCompositions(*o, *verb);
      if (!o->thresholds) return Explore(*o);
      if (verb->count("--max-elements") == 0) o->limits.elements = kThresholdLimits.elements;
      if (verb->count("--max-flops") == 0) o->limits.flops = kThresholdLimits.flops;
      return SearchThresholds(*o);
    };
  });
}

}  // namespace assay::cli

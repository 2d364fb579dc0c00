// SPDX-License-Identifier: Apache-2.0
// assay judge: whether a kernel that somebody, or some program, has written is right and fast, beside a reference.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/run_settings.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/entropy.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/scratch.h"
#include "harness/engine/device/sandbox.h"
#include "harness/engine/preflight.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/plan/catalog.h"
#include "harness/plan/per_backend.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/candidate/hidden_cases.h"
#include "harness/tools/candidate/judge_results.h"
#include "harness/tools/candidate/ruling_text.h"
#include "harness/tools/candidate/verb_judge_sides.h"
#include "ops/definition_file.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kUsualSuite = "smoke";

struct JudgeOptions {
  RunOptions run;
  fs::path candidate, reference;  // no reference: the operators alone say what is right
  std::optional<uint64_t> hidden_seed;
  size_t generated = 24, timed = 6;
  bool json = false;
};

struct JudgeSelection {
  std::vector<PlannedCase> visible, hidden;
  size_t undrawn = 0;   // hidden ones that were asked for, of which the reference takes too few
  std::string problem;  // "" or why there are none
};

bool IsDefined(const std::string& op) {
  return !FindDefinition(op).empty();
}

// Suite default has cases of each operator, those that a file defines among them.
void ChooseUsualCases(const JudgeOptions& options, PlanOptions& cases) {
  if (!cases.suite.empty() || !cases.cases.empty()) return;
  if (options.reference.empty() && cases.ops.empty()) {
    for (const Operator* op : OperatorRegistry::Global().All()) {
      if (IsDefined(op->schema().op)) cases.ops.push_back(op->schema().op);
    }
  }
  const bool is_defined = std::ranges::any_of(cases.ops, IsDefined);
  cases.suite = options.reference.empty() && is_defined ? "default" : kUsualSuite;
}

// Why nobody could say what the task is; "": somebody does.
std::string FindTaskProblem(const JudgeOptions& options) {
  const PlanOptions& cases = options.run.selection;
  if (!options.reference.empty() || !cases.ops.empty() || !cases.cases.empty() || !cases.operators.empty()) return "";
  return "nothing says what the candidate is to compute: give a reference with --against FILE, or operators with --op, "
         "--case or --operators FILE";
}

// The reference says what the task is: cases that it does not take are none. Without one, all selected cases are.
Result<JudgeSelection> CasesFor(const JudgeOptions& options, const JudgeSide& reference, uint64_t secret) {
  const auto planned = PlanCases(options.run.selection, [](const char*) { return nullptr; });
  if (!planned) return tl::unexpected(planned.error());
  const std::vector<std::string> unmet = FindUnmetOperators(options.run.selection, planned->selection);
  if (options.reference.empty() && !unmet.empty()) return UsageError(fmt::format("{}", fmt::join(unmet, "; ")));
  JudgeSelection cases;
  const auto is_taken = [&](const PlannedCase& one) { return options.reference.empty() || Takes(reference, one); };
  std::ranges::copy_if(planned->selection.cases, std::back_inserter(cases.visible), is_taken);
  if (cases.visible.empty() && options.reference.empty()) {
    return UsageError(planned->selection.empty_message);
  } else if (cases.visible.empty()) {
    cases.problem =
        fmt::format("the reference takes no case of {}; name others with --suite or --case", planned->plan.suite);
    return cases;
  }
  cases.hidden = WithSecretSeeds(cases.visible, secret);
  TimeLargest(cases.hidden, options.timed);
  std::set<const Operator*> ops;
  for (PlannedCase& one : cases.visible) {
    ops.insert(one.Bound()->op);
    one.timed = false;  // its data may be known
  }
  GeneratedSettings generated{.secret = secret, .cases = options.generated};
  for (const Operator* op : OperatorRegistry::Global().All()) {
    if (ops.contains(op)) generated.ops.push_back(op);
  }
  generated.requirement = options.run.selection.contract;
  generated.dtypes = options.run.selection.dtypes;
  generated.is_taken = is_taken;
  std::vector<PlannedCase> drawn = GenerateCases(generated);
  cases.undrawn = options.generated - drawn.size();
  std::ranges::move(drawn, std::back_inserter(cases.hidden));
  return cases;
}

// The line that judges by the same hidden cases.
std::string WriteAgainLine(const JudgeOptions& options, uint64_t secret) {
  std::string line = fmt::format("{} judge {}", ProgramWord(), Quoted(fs::absolute(options.candidate)));
  if (!options.reference.empty()) line += fmt::format(" --against {}", Quoted(fs::absolute(options.reference)));
  line += fmt::format(" --hidden-seed {}", secret);
  if (options.generated != JudgeOptions().generated) line += fmt::format(" --hidden {}", options.generated);
  for (const auto& words : {WriteWords(options.run, kCaseChoice), WriteWords(options.run, {"--perf"}),
                            WriteWords(options.run, Effect::kCarried)}) {
    for (const std::string& word : words) line += " " + Quoted(word);
  }
  return line;
}

RulingContext ContextOf(const JudgeOptions& options, uint64_t secret) {
  RulingContext context;
  context.candidate_file = fs::absolute(options.candidate);
  context.candidate_hash = Sha256OfFile(options.candidate).value_or("");
  if (!options.reference.empty()) {
    context.reference_file = fs::absolute(options.reference);
    context.reference_hash = Sha256OfFile(options.reference).value_or("");
  }
  context.hidden_seed = secret, context.drawn = !options.hidden_seed;
  context.again = WriteAgainLine(options, secret);
  context.out = options.run.out ? fs::absolute(*options.run.out).string() : "";
  context.tool_version = ToolVersion();
  context.rounds = options.run.perf ? options.run.rounds : 0;
  return context;
}

int EndJudging(const JudgeOptions& options, const Ruling& ruling, RulingContext context, bool was_interrupted = false) {
  context.seconds = context.begun.Seconds();
  context.exit_code = was_interrupted                              ? kExitInterrupted
                      : ruling.verdict == RulingVerdict::kAccepted ? kExitOk
                      : ruling.verdict == RulingVerdict::kRejected ? kExitFailed
                                                                   : kExitHarness;
  Print(options.json ? DumpJson(RulingJson(ruling, context)) + "\n" : RulingText(ruling, context));
  return context.exit_code;
}

std::string ExplainBrokenRun(const LoopResult& result) {
  if (result.interrupted) return "it was interrupted";
  if (!result.write_error.empty()) return result.write_error;
  return result.lost;
}

PrepareFunction PreparedWith(const JudgeSide& candidate, const JudgeSide& reference, const JudgeSelection& cases) {
  return [&](const RunRequest&, std::vector<std::string>&) {
    PreparedRun prepared;
    prepared.plan.suite = "judge";
    for (const JudgeSide* side : {&candidate, &reference}) {
      prepared.devices.insert(prepared.devices.end(), side->devices.begin(), side->devices.end());
    }
    for (const Device& device : prepared.devices) prepared.plan.devices.push_back({device.backend, device.device.name});
    for (const auto* set : {&cases.visible, &cases.hidden}) {
      for (const PlannedCase& planned : *set) {
        prepared.plan.entries.push_back({.id = planned.spec.Id(), .requirement = RequirementOf(planned)});
      }
    }
    CompletePlan(prepared.plan);
    return tl::expected<PreparedRun, Refusal>(std::move(prepared));
  };
}

int RunAndJudge(JudgeOptions& options, const JudgeSide& candidate, const JudgeSide& reference,
                const JudgeSelection& cases, RulingContext context) {
  auto begun = BeginRun(RunSettings(options.run), PreparedWith(candidate, reference, cases));
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  run.policy.all_in_turns = true;
  std::vector<PlannedCase> all = cases.visible;
  all.insert(all.end(), cases.hidden.begin(), cases.hidden.end());
  const LoopResult result = run.RunAll(std::move(all));
  const std::vector<Record> records = result.records.ToVector();
  const Ruling ruling = JudgeCandidate({.visible = cases.visible,
                                        .hidden = cases.hidden,
                                        .records = records,
                                        .timed = options.run.perf,
                                        .has_reference = !options.reference.empty(),
                                        .broken = ExplainBrokenRun(result)});
  const int code = EndJudging(options, ruling, std::move(context), result.interrupted);
  if (result.abandoned) std::_Exit(FinishOutput(code));  // nobody waits for a golden value that nobody will use
  return code;
}

int Judge(JudgeOptions options) {
  if (const std::string problem = FindTaskProblem(options); !problem.empty()) return Complain(kExitUsage, problem);
  for (const fs::path& file : {options.candidate, options.reference}) {
    if (file.empty()) continue;
    if (const std::string problem = FindFileProblem(file); !problem.empty()) return Complain(kExitUsage, problem);
  }
  ChooseUsualCases(options, options.run.selection);
  options.run.perf = options.run.perf && !options.reference.empty();  // times are for a comparison
  if (auto sandbox = CheckSandbox(options.run.backend.sandbox); !sandbox) {
    return Complain(kExitUsage, sandbox.error().message);
  }
  if (const std::string unused = FindUnused(*ParsePerBackend(options.run.launches_us), {kCandidate, kReference});
      !unused.empty()) {
    return Complain(kExitUsage, unused);
  }
  const uint64_t secret =
      options.hidden_seed ? *options.hidden_seed : DrawEntropy() >> 11;  // every reader of JSON keeps 53 bits
  RulingContext context = ContextOf(options, secret);
  const Scratch scratch("judge");
  if (!options.run.out) options.run.out = scratch.path / "run";
  const fs::path out = *options.run.out;
  const JudgeSide reference =
      options.reference.empty() ? JudgeSide() : OpenSide(options.reference, kReference, options.run.backend, {out});
  context.reference_version = reference.Version();
  if (!reference.problem.empty()) {
    return EndJudging(options, MakeUnjudgedRuling("the file of the reference cannot be used: " + reference.problem),
                      context);
  }
  const auto cases = CasesFor(options, reference, secret);
  if (!cases) return Complain(kExitUsage, cases.error().message);
  if (!cases->problem.empty()) return EndJudging(options, MakeUnjudgedRuling(cases->problem), context);
  context.undrawn = cases->undrawn;
  std::vector<fs::path> hidden = options.reference.empty() ? std::vector<fs::path>() : FilesOf(options.reference);
  hidden.push_back(out);
  const JudgeSide candidate = OpenSide(options.candidate, kCandidate, options.run.backend, hidden);
  context.candidate_version = candidate.Version();
  if (!candidate.problem.empty()) return EndJudging(options, MakeUnloadedRuling(candidate.problem), context);
  context.sandbox = candidate.devices.front().sandbox;
  return RunAndJudge(options, candidate, reference, *cases, std::move(context));
}

}  // namespace

void AddJudgeVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<JudgeOptions>();
  RunOptions& run = o->run;
  run.rounds = 8;  // fewer tell no difference from chance
  run.set_aside_after = 2;
  run.backend.import_timeout_s = 120;  // somebody waits for the answer
  run.store = false;
  run.cold = false;
  CLI::App* verb = app.add_subcommand(
      "judge",
      "Judge a kernel, beside a reference or alone: is it right on visible and hidden cases, and how fast is it?");
  verb->add_option("CANDIDATE", o->candidate, "Python file (.py) of kernels, or plugin, to judge")->required();
  verb->add_option("--against", o->reference,
                   "Python file or plugin of the reference; the cases that it takes are the task. Without one the "
                   "operators of --operators, --op or --case say what is right, and nothing is timed")
      ->type_name("FILE");
  AddOptions(*verb, run, kCaseChoice);
  verb->get_option("--suite")->description(
      "name of a suite (assay list suites) or path of a .suite file; default without --case: smoke, of defined "
      "operators without --against: default");
  AddNumber<size_t>(*verb, "--hidden", o->generated, {0, 10'000},
                    "hidden cases of shapes that no suite has, besides the visible ones on other data");
  AddNumber<uint64_t>(*verb, "--hidden-seed", o->hidden_seed, {0, std::numeric_limits<uint64_t>::max()},
                      "seed of the hidden cases; default: a secret one, printed at the end");
  AddNumber<size_t>(*verb, "--timed", o->timed, {1, 10'000}, "number of cases to time, the largest ones");
  AddNumber<int>(*verb, "--rounds", run.rounds, {2, 1000}, "times to time them, each in fresh workers");
  AddOptions(*verb, run,
             {"--perf", "--perf-time", "--launch-us", "--relations", "--python", "--import-timeout", "--timeout",
              "--set-aside-after", "--out", "--jobs", "--tier", "--progress"});
  AddOptions(*verb, run, kSandboxOptions);
  verb->get_option("--out")->description("folder for the records, new or empty; default: none are kept");
  verb->get_option("--jobs")->description("threads of the host; default: all cores");
  verb->add_flag("--json", o->json, "print one JSON object instead of text");
  verb->callback([o, &action] { action = [o] { return Judge(*o); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay shrink: the smallest case and data by which an implementation still fails, as a folder of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/data/safetensors.h"
#include "harness/engine/trial/failure_tensors.h"
#include "harness/plan/shrink.h"
#include "harness/tools/check/manifest_parts.h"
#include "harness/tools/explain/case_with_outputs.h"
#include "harness/tools/explain/still_fails.h"
#include "harness/tools/explain/verb_case_on_devices.h"
#include "harness/tools/shrink/shrunk_failure.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ShrinkOptions {
  fs::path folder;
  std::string case_id;
  std::vector<std::string> inputs;
  RunOptions run;
  int repeat = 1;
  double seconds = 60;
};

// An implementation of a device.
struct Suspect {
  const Device* device = nullptr;
  std::string implementation;
  std::string Name() const { return device->selector + " " + implementation; }
};

std::vector<Suspect> ListSuspects(const CaseOnDevices& on) {
  std::vector<Suspect> suspects;
  const std::vector<std::string>& wanted = on.policy.runner.implementations;
  for (const Device& device : on.prepared.devices) {
    if (!device.problem.empty()) continue;
    const auto offered = device.session->Query(device.device_index, on.data.problem);
    if (!offered) continue;
    for (const ImplementationInfo& info : *offered) {
      const bool is_wanted = wanted.empty() || std::ranges::count(wanted, info.name) > 0;
      if (is_wanted) suspects.push_back({&device, info.name});
    }
  }
  return suspects;
}

int64_t ElementsOf(const Problem& problem) {
  int64_t elements = 0;
  for (const auto* operands : {&problem.inputs, &problem.outputs}) {
    for (const Operand& operand : *operands) elements += NumElements(operand.shape);
  }
  return elements;
}

std::string SizeLine(const Problem& before, const Problem& after) {
  const int64_t all = ElementsOf(before), left = ElementsOf(after);
  return fmt::format("from    {}: {} of operands\nto      {}: {}, {:.2g} %\n", before.spec.Id(),
                     Counted(all, "element"), after.spec.Id(), left,
                     100 * static_cast<double>(left) / static_cast<double>(std::max<int64_t>(all, 1)));
}

// Parts of the folder.
struct ShrunkFolder {
  fs::path path;
  const ShrunkFailure& failure;
  Suspect suspect;
  std::string options;  // of the command lines, from the first word behind the case on

  const Problem& problem() const { return failure.bound->problem; }
  std::string GotFile() const {
    std::string name = "got-" + suspect.device->backend + "-" + suspect.implementation;
    std::ranges::replace_if(
        name, [](char c) { return c == '/' || c == ' '; }, '_');
    return name + ".safetensors";
  }
};

// The line that executes the data again, in any folder.
std::string ExecutionLine(const ShrunkFolder& folder) {
  std::string line =
      fmt::format("{} explain --case {}{}", ProgramWord(), Quoted(folder.failure.spec.Id()), folder.options);
  for (const Operand& operand : folder.problem().inputs) {
    const fs::path file = fs::absolute(folder.path / "inputs.safetensors");
    line += fmt::format(" --input {}", Quoted(fmt::format("{0}={1}:{0}", operand.name, file.string())));
  }
  return line;
}

// The line that judges the kept outputs, for a shell in the folder, as those of a failure folder are.
std::string JudgementLine(const ShrunkFolder& folder) {
  CheckRequest request;
  request.op = folder.problem().spec.op;
  for (const auto& [key, value] : folder.problem().spec.attrs) request.attrs.push_back(key + "=" + value);
  const auto add = [&](const std::vector<Operand>& operands, const std::string& file, std::vector<std::string>& to) {
    for (const Operand& operand : operands) {
      to.push_back(fmt::format("{0}={1}:{0}", operand.name, file));
      if (IsComplex(operand.dtype)) request.dtypes.push_back(fmt::format("{}={}", operand.name, Name(operand.dtype)));
    }
  };
  add(folder.problem().inputs, "inputs.safetensors", request.inputs);
  add(folder.problem().outputs, folder.GotFile(), request.outputs);
  request.contract = ToText(folder.failure.wrong.contract);
  if (request.contract.find("math=") == std::string::npos) request.contract += "; math=0";
  request.tier = Name(folder.failure.wrong.goldens[0].tier);
  return CheckLine(ProgramWord(), request, LinePaths::kAsGiven);
}

Status WriteOutputs(const ShrunkFolder& folder, const std::string& reason) {
  std::vector<TensorRef> tensors;
  const WrongNumbers& wrong = folder.failure.wrong;
  for (size_t k = 0; k < wrong.outputs.size(); ++k) {
    const Operand& output = folder.problem().outputs[k];
    tensors.push_back({output.name, output.dtype, output.shape, wrong.outputs[k].data()});
  }
  return WriteSafetensors(folder.path / folder.GotFile(), tensors,
                          {{"case_id", folder.failure.spec.Id()},
                           {"backend", folder.suspect.device->backend},
                           {"implementation", folder.suspect.implementation},
                           {"contract", ToText(wrong.contract)},
                           {"verdict", std::string(Name(Verdict::kMismatch))},
                           {"reason", reason}});
}

// Says in `said` what the folder has.
Status WriteFolder(const ShrunkFolder& folder, std::string& said) {
  const WrongNumbers& wrong = folder.failure.wrong;
  if (auto written = WriteOperands(folder.path / "inputs.safetensors", folder.problem(), folder.failure.inputs);
      !written) {
    return written;
  }
  const std::string reason = DescribeFailure(wrong.metrics, folder.problem().outputs[wrong.output].shape);
  if (auto written = WriteOutputs(folder, reason); !written) return written;
  const WorstElement worst = wrong.Worst();
  const bool is_finite = std::isfinite(worst.golden);
  const auto script =
      !is_finite
          ? std::nullopt
          : WriteExactScript(
                *folder.failure.bound->op, folder.problem(), folder.failure.inputs, wrong.outputs,
                {.output = wrong.output, .element = worst.index, .got = worst.got, .tolerance = worst.tolerance});
  const std::string text =
      fmt::format("# {}\n# executes the data again\n{}\n# judges the kept outputs, for a shell in this folder\n{}\n",
                  folder.failure.spec.Id(), ExecutionLine(folder), JudgementLine(folder));
  if (auto written = WriteFileAtomically(folder.path / "reproduce.txt", {{text.data(), text.size()}}); !written) {
    return written;
  }
  said = fmt::format("folder  {}\nagain   {}\n", folder.path.string(), ExecutionLine(folder));
  if (!script) {
    said += is_finite ? "script  none: this case has no formula that a script of its own could compute exactly\n"
                      : "script  none: the exact value is no finite number\n";
    return {};
  }
  said += fmt::format("script  python3 {}\n", (folder.path / "exact.py").string());
  return WriteFileAtomically(folder.path / "exact.py", {{script->data(), script->size()}});
}

std::string DescribeShrunk(const ShrunkFailure& failure, const Problem& before, const Suspect& suspect) {
  const Problem& problem = failure.bound->problem;
  const WrongNumbers& wrong = failure.wrong;
  const DataCounts data = CountData(failure.inputs);
  const AttributeText attribute = [](const CaseChange& change) { return change.key + "=" + change.value; };
  std::string text = fmt::format("{} fails by its {}\n{}", suspect.Name(),
                                 wrong.IsNonFinite() ? "NaN and infinities" : "bound", SizeLine(before, problem));
  text += fmt::format("data    {} inputs, of which {} are 0 and {} are 1\n", data.elements, data.zeros, data.ones);
  text += fmt::format("fails   {}\n", DescribeFailure(wrong.metrics, problem.outputs[wrong.output].shape));
  for (const Cause& cause : failure.causes) {
    text += fmt::format("cause   the right result of {}\n", DescribeCause(problem, cause, attribute));
  }
  return text + fmt::format("rate    {} of {} executions\ntried   {} smaller cases and {} simpler data in {:.1f} s\n",
                            wrong.failures, wrong.executions, failure.tried_cases, failure.tried_data, failure.seconds);
}

class ShrinkFlow {
 public:
  ShrinkFlow(const ShrinkOptions& options, const CaseOnDevices& on) : options_(options), on_(on) {}

  int Run() {
    const std::vector<Suspect> suspects = ListSuspects(on_);
    StageProgress progress(Progress::ParseMode(options_.run.progress));
    for (const Suspect& suspect : suspects) {
      progress.Begin("making the case smaller for " + suspect.Name());
      NumbersProbe probe(*suspect.device, suspect.implementation, options_.run.tier, options_.repeat);
      const auto shrunk =
          ShrinkFailure(on_.data, on_.planned().spec, probe,
                        {.seconds = options_.seconds, .keeps_data = HasOwnData(), .interrupted = Interrupted});
      progress.End();
      if (shrunk) return EndWithNumbers(*shrunk, suspect);
      if (Interrupted()) break;
      if (const int code = ShrinkWithoutNumbers(suspect); code != kExitNothing) return UnlessInterrupted(code);
    }
    if (Interrupted()) return Complain(kExitInterrupted, "interrupted before the search had a result");
    if (!broken_.empty()) {
      return Complain(kExitHarness,
                      fmt::format("no result on {} is wrong, and errors and timeouts are not made smaller:{}",
                                  on_.planned().spec.Id(), broken_));
    }
    return Complain(kExitNothing, fmt::format("no implementation fails on {}{}", on_.planned().spec.Id(),
                                              suspects.empty() ? ": none takes it"
                                                               : "; a failure that seldom comes needs --repeat N"));
  }

 private:
  bool HasOwnData() const { return !options_.inputs.empty(); }

  // Options that load the backend again, in any folder.
  std::string SelectionOf(const Suspect& suspect) const {
    std::string text =
        fmt::format(" --backend {} --impl {}", Quoted(suspect.device->selector), Quoted(suspect.implementation));
    for (const auto* words : {&suspect.device->plugin_words, &on_.policy.runner.carried}) {
      for (const std::string& word : *words) text += " " + Quoted(word);
    }
    return text;
  }

  int EndWithNumbers(const ShrunkFailure& shrunk, const Suspect& suspect) {
    const ShrunkFolder folder{*options_.run.out, shrunk, suspect, SelectionOf(suspect)};
    std::string said;
    if (auto written = WriteFolder(folder, said); !written) return Complain(kExitHarness, written.error().message);
    Print(DescribeShrunk(shrunk, on_.data.problem, suspect) + said);
    return UnlessInterrupted(kExitFailed);
  }

  static int UnlessInterrupted(int code) {
    if (!Interrupted()) return code;
    return Complain(kExitInterrupted, "interrupted: a longer search may find a smaller case");
  }

  // A failure that the numbers of an execution do not show: a crash, a write beyond the output, exact data.
  int ShrinkWithoutNumbers(const Suspect& suspect) {
    TrialRunner runner(on_.planned(), on_.data, on_.policy.runner);
    const Record failed = runner.JudgeAgain(*suspect.device, suspect.implementation).record;
    const auto verdict = ParseVerdict(failed.verdict);
    if (verdict == Verdict::kError || verdict == Verdict::kTimeout) {
      broken_ += fmt::format("\n{} ends in {}: {}", suspect.Name(), failed.verdict, failed.reason);
    }
    if (!verdict || (!IsFailingResult(*verdict) && *verdict != Verdict::kCrash)) return kExitNothing;
    const auto fails = [&](const CaseSpec& spec) {
      PlannedCase planned = on_.planned();
      planned.spec = spec, planned.held = nullptr;
      return FailsAlike(planned, *suspect.device, failed, on_.policy);
    };
    const CaseSpec smallest = ShrinkCase(
        on_.planned().spec, on_.data.op->schema(), kMostTrials,
        [](const CaseSpec& spec) { return BindCase(spec).has_value(); }, fails);
    Print(fmt::format("{} fails: {}: {}\n{}again   {} run --no-perf --case {}{}\n", suspect.Name(), failed.verdict,
                      failed.reason, SizeLine(on_.data.problem, BindCase(smallest).value()->problem), ProgramWord(),
                      Quoted(smallest.Id()), SelectionOf(suspect)));
    return kExitFailed;
  }

  static constexpr int kMostTrials = 150;
  std::string broken_;  // implementations that end without a result
  const ShrinkOptions& options_;
  const CaseOnDevices& on_;
};

// The case of a failure folder, with its data.
Status TakeFolder(ShrinkOptions& options) {
  const auto cases = ReadFailureFolder(options.folder);
  if (!cases) return tl::unexpected(cases.error());
  const CaseWithOutputs& first = cases->front();
  options.case_id = first.planned->spec.Id();
  for (const Operand& operand : first.data.problem.inputs) {
    options.inputs.push_back(
        fmt::format("{0}={1}:{0}", operand.name, (options.folder / "inputs.safetensors").string()));
  }
  return {};
}

int Shrink(ShrinkOptions options) {
  if (!options.run.out) options.run.out = "shrunk";
  // An earlier failure's files would be taken for results of this one's data.
  if (auto empty = CheckEmptyFolder(*options.run.out); !empty) return Complain(kExitUsage, empty.error().message);
  if (!options.folder.empty()) {
    if (auto taken = TakeFolder(options); !taken) return Complain(kExitUsage, taken.error().message);
  }
  auto opened = OpenCase(options.case_id, options.run);
  if (!opened) return Complain(opened.error().code, opened.error().message);
  if (auto given = GiveInputs(options.inputs, options.run.tier, (*opened)->data); !given) {
    return Complain(kExitUsage, given.error().message);
  }
  return ShrinkFlow(options, **opened).Run();
}

}  // namespace

void AddShrinkVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ShrinkOptions>();
  CLI::App* verb = app.add_subcommand(
      "shrink", "Make a failing case small: the smallest shape, attributes and data that still fail by the same cause");
  CLI::Option* const folder =
      verb->add_option("FOLDER", o->folder, "failure folder of a run, failures/<hash>, for its case and data");
  CLI::Option* const id = verb->add_option("--case", o->case_id, "id of the case")->type_name("ID")->excludes(folder);
  verb->add_option("--input", o->inputs,
                   "data in place of the case's own: NAME=FILE.npy or NAME=FILE.safetensors:TENSOR; may be repeated")
      ->type_name("NAME=FILE")
      ->needs(id);
  AddBackends(*verb, o->run);
  AddOptions(*verb, o->run, {"--impl", "--operators", "--out", "--jobs", "--tier", "--progress"});
  verb->get_option("--out")->description(
      "folder for the data, the outputs and the script, new or empty; default: shrunk");
  AddNumber<int>(*verb, "--repeat", o->repeat, {1, 100'000},
                 "executions of each try, of which one has to fail, for failures that seldom come");
  AddNumber<double>(*verb, "--seconds", o->seconds, {1, 100'000}, "time for the search");
  verb->callback([o, &action] {
    if (o->folder.empty() && o->case_id.empty()) throw CLI::RequiredError("FOLDER of a failure, or --case ID");
    action = [o] { return Shrink(*o); };
  });
}

}  // namespace assay::cli

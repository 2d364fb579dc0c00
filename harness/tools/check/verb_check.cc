// SPDX-License-Identifier: Apache-2.0
// assay check: judges tensors that any program dumped.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/replaced_file.h"
#include "harness/cli/terminal/stage_progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/data/npy.h"
#include "harness/core/data/safetensors.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/tools/check/check_case.h"
#include "harness/tools/check/check_text.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/check/verb_check_manifest.h"
#include "harness/tools/check/verb_tensors.h"

namespace assay::cli {
namespace {

struct CheckOptions {
  CheckRequest request;
  std::vector<std::string> operators;
  std::string python;  // of these
  std::filesystem::path write_golden;
  std::string derive;  // an element
  bool json = false, strict = false;
  std::string progress = "auto";
  ManifestOptions manifest;
};

// The golden values as f64 or c128; what exceeds a double of the reproducible tier is left out.
Status WriteGolden(const std::filesystem::path& path, const PreparedCase& data) {
  std::vector<TensorRef> tensors;
  for (const PreparedOutput& output : data.outputs) {
    const Operand& operand = data.problem.outputs[output.number];
    const DType dtype = IsComplex(operand.dtype) ? DType::kC128 : DType::kF64;
    tensors.push_back({operand.name, dtype, operand.shape, output.golden.value.data()});
  }
  if (path.extension() == ".safetensors") return WriteSafetensors(path, tensors, {{"op", data.problem.spec.op}});
  tensors[0].name.clear();
  return WriteNpy(path, tensors[0]);
}

Status CheckGoldenFits(const std::filesystem::path& path, const Problem& problem) {
  if (path.extension() != ".npy" || problem.outputs.size() == 1) return {};
  return UsageError(
      fmt::format("--write-golden {}: a .npy holds one tensor, and {} has {} outputs: give a name that ends in "
                  ".safetensors",
                  path.string(), problem.spec.op, problem.outputs.size()));
}

bool IsSafetensors(const std::filesystem::path& path) {
  return ReadSafetensorsMetadata(path).has_value();
}

std::vector<ReadFile> ListReadTensors(const CheckRequest& request) {
  std::vector<std::string> texts = request.inputs;
  texts.insert(texts.end(), request.outputs.begin(), request.outputs.end());
  std::vector<ReadFile> files;
  for (const std::string& text : texts) {
    const auto file = ParseNamedFile(text, true);
    if (file) files.push_back({file->path, file->name.empty() ? "the output" : file->name});
  }
  return files;
}

// Before anything is computed; no folder is made for a path that may hold a typing error.
Status CheckGoldenPath(const CheckOptions& options) {
  const std::filesystem::path& path = options.write_golden;
  const bool is_npy = path.extension() == ".npy";
  if (!path.empty() && !is_npy && path.extension() != ".safetensors") {
    return UsageError(fmt::format("--write-golden {}: give a name that ends in .npy or .safetensors", path.string()));
  }
  const ResultKind safetensors{"file of tensors", IsSafetensors};
  return CheckMayWrite({"--write-golden", path, is_npy ? NpyResult() : safetensors}, ListReadTensors(options.request));
}

int Check(const CheckOptions& options) {
  if (auto fine = CheckGoldenPath(options); !fine) return Complain(kExitUsage, fine.error().message);
  StageProgress progress(Progress::ParseMode(options.progress));
  progress.Begin("reading the tensors");
  auto user = BindUserCase(options.request);
  if (!user) {
    progress.End();
    return Complain(kExitUsage, user.error().message);
  }
  if (auto fits = CheckGoldenFits(options.write_golden, user->data.problem); !fits) {
    progress.End();
    return Complain(kExitUsage, fits.error().message);
  }
  auto judged = JudgeUserCase(options.request, *user, [&](const char* stage) { progress.Begin(stage); });
  progress.End();
  if (!judged) return Complain(kExitUsage, judged.error().message);
  CheckResult& result = *judged;
  std::string derivation;
  if (!options.derive.empty()) {
    const auto derived = DeriveElement(options.derive, *user, result);
    if (!derived) return Complain(kExitUsage, derived.error().message);
    derivation = DerivationText(*derived);
  }
  CheckRequest again = options.request;
  if (user->sample) again.sample.seed = user->sample->seed;
  result.record.reproduce = CheckLine(ProgramWord(), again);
  fmt::print("{}", options.json ? ToJsonLine(result.record) + "\n" : CheckText(*user, result) + derivation);
  // After the verdict, which a full disk does not take back.
  if (!options.write_golden.empty()) {
    if (auto written = WriteGolden(options.write_golden, user->data); !written) {
      std::fflush(stdout);
      return Complain(kExitHarness, "--write-golden: " + written.error().message);
    }
  }
  ExitFlags flags;
  flags.strict = options.strict;
  const Decision& decision = result.worst().decision;
  flags.suspects = decision.result_class == ResultClass::kSuspect || result.record.weak_pass.value_or(false);
  const Verdict verdicts[] = {decision.verdict};
  return ExitCode(verdicts, flags);
}

void AddJudging(CLI::App& verb, CheckOptions& o) {
  AddJudgedByOptions(verb, o.request);
  verb.get_option("--require")
      ->description(
          "arithmetic that --contract has to meet, else below_contract; with --manifest in place of what each case "
          "requires");
  constexpr int64_t kMost = int64_t{1} << 62;
  AddNumber<int64_t>(verb, "--sample", o.request.sample.elements, {1, kMost},
                     "judge about so many elements of a large output alone, on a grid of drawn slices. Default: all")
      ->default_str("");
  AddNumber<int64_t>(verb, "--sample-seed", o.request.sample.seed, {1, kMost},
                     "with --sample: what is drawn, as an answer states it. Default: it follows from the operands")
      ->needs("--sample");
  verb.add_option("--explain", o.request.explain,
                  "of a failure: causes that are found in a second (a tenth of one for large cases), or all")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  verb.add_option("--write-golden", o.write_golden,
                  "write the golden values as f64 or c128: .npy of a single output, .safetensors of all. Replaces such "
                  "a file, but no input")
      ->type_name("FILE");
  CLI::Option* const derive =
      verb.add_option("--derive", o.derive, "also derive the tolerance of one element: [3,5], or mean[3]")
          ->type_name("ELEMENT")
          ->excludes(verb.get_option("--sample"));
  verb.add_flag("--json", o.json, "print one JSON record instead of text")->excludes(derive);
  verb.add_flag("--strict", o.strict, "also fail on a suspect, weak or inconclusive result");
  verb.add_option("--progress", o.progress)
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}))
      ->capture_default_str();
}

void AddManifest(CLI::App& verb, ManifestOptions& o) {
  verb.add_option(
          "--manifest", o.manifest,
          "instead of single tensors: the folder of assay inputs, with outputs added; judged and reported like a run")
      ->type_name("DIR");
  verb.add_option("--backend", o.backend, "with --manifest: name in reports for what computed the outputs")
      ->capture_default_str();
  verb.add_option("--out", o.out, "with --manifest: new or empty folder for records and reports; default: out/<time>")
      ->type_name("DIR");
  AddOptionFor(verb, "--color", o.color);
}

// Golden values of a sample are none of the whole.
void ForbidGoldenOfSample(const CLI::App& verb) {
  if (verb.count("--sample") > 0 && verb.count("--write-golden") > 0) {
    throw CLI::ExcludesError("--write-golden", "--sample");
  }
}

// Single tensors, or a manifest.
void RequireOneKind(const CLI::App& verb) {
  const bool manifest = verb.count("--manifest") > 0;
  for (const char* name : {"--op", "--input", "--output"}) {
    if (!manifest && verb.count(name) == 0) throw CLI::RequiredError(name);
  }
  const std::vector<const char*> others =
      manifest ? std::vector{"--op",   "--attr",    "--input",        "--output", "--dtype",  "--exact-ulp",
                             "--tier", "--explain", "--write-golden", "--json",   "--sample", "--derive"}
               : std::vector{"--backend", "--out", "--color"};
  for (const char* name : others) {
    if (verb.count(name) == 0) continue;
    throw CLI::ExcludesError(name, manifest ? "--manifest" : "--op");
  }
}

ManifestOptions CompleteManifest(const CheckOptions& o) {
  ManifestOptions options = o.manifest;
  options.contract = o.request.contract;
  options.requirement = o.request.requirement;
  options.strict = o.strict;
  options.progress = o.progress;
  return options;
}

}  // namespace

void AddCheckVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* verb = app.add_subcommand("check", "Judge tensors that any program dumped (.npy or .safetensors)");
  AddOptionFor(*verb, "--operators", o->operators);
  AddOptionFor(*verb, "--python", o->python);
  RegisterOperators(*verb, o->operators, o->python);
  AddTensorOptions(*verb, o->request);
  AddJudging(*verb, *o);
  AddManifest(*verb, o->manifest);
  verb->callback([o, verb, &action] {
    RequireOneKind(*verb);
    ForbidGoldenOfSample(*verb);
    action = [o] { return o->manifest.manifest.empty() ? Check(*o) : CheckManifest(CompleteManifest(*o)); };
  });
}

}  // namespace assay::cli

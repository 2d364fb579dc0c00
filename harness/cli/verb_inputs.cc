// SPDX-License-Identifier: Apache-2.0
// assay inputs: the inputs of cases as files, for programs that compute the outputs somewhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/plan/catalog.h"
#include "harness/tools/check/case_files.h"

namespace assay::cli {
namespace {

struct InputsOptions {
  RunOptions run;
  std::filesystem::path out;
  std::string format = "npy";
};

int WriteInputs(const InputsOptions& options) {
  const auto run = PlanCases(options.run.selection);
  if (!run) return Complain(kExitUsage, run.error().message);
  const Selection& selection = run->selection;
  if (selection.empty == EmptyReason::kNoMatch) return Complain(kExitNothing, selection.empty_message);
  WatchForInterrupts();
  size_t begun = 0;
  Status written;
  {
    Progress progress(Progress::ParseMode(options.run.progress), selection.cases.size());
    const TensorFiles files = options.format == "npy" ? TensorFiles::kNpy : TensorFiles::kSafetensors;
    written = WriteCaseFiles(options.out, run->plan, selection.cases, files, [&](const std::string& id) {
      progress.Update(begun++, 0, id);
      return !Interrupted();
    });
  }
  if (Interrupted()) return Complain(kExitInterrupted, written.error().message);
  if (!written) {
    return Complain(written.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, written.error().message);
  }
  Print(fmt::format("{}: {}\n", Counted(std::ssize(selection.cases), "case"), (options.out / kManifestFile).string()));
  return kExitOk;
}

}  // namespace

void AddInputsVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<InputsOptions>();
  CLI::App* verb = app.add_subcommand(
      "inputs", "Write the inputs of cases as files, so that another program computes outputs for check --manifest");
  AddCases(*verb, o->run);
  verb->add_option("--out", o->out, "new or empty folder: manifest.json, and a folder of tensors for each case")
      ->required()
      ->type_name("DIR");
  verb->add_option("--format", o->format, "format of the tensors: npy (bf16 as u2 and fp8 as u1) or safetensors")
      ->check(CLI::IsMember({"npy", "safetensors"}))
      ->capture_default_str();
  AddOptions(*verb, o->run, {"--progress"});
  verb->callback([o, &action] { action = [o] { return WriteInputs(*o); }; });
}

}  // namespace assay::cli

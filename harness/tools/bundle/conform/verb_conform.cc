// SPDX-License-Identifier: Apache-2.0
// assay conform: one backend against a profile, with a hidden seed and a negative control in the same session. Exit
// codes: 0 it conforms; 1 it does not; 3 the control shows that the session would prove nothing; 5 the device is
// absent.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/evidence_option.h"
#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/missing.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/power/corpus_part.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ConformOptions {
  RunOptions run;
  std::string profile = "conformance-1.0";
};

// Sets the options that a profile fixes.
void Fix(const fs::path& suite, uint64_t seed, RunOptions& run) {
  run.selection.suite = suite.string();
  run.selection.seed = seed;
  run.strict = true;
  run.selection.allow_unused = true;  // the profile says what counts
  run.perf = false;
  run.tier = Name(Tier::kReproducible);
}

// Refuses pools: each device runs only some of the cases, so the statement would hold for none.
std::string RefusePool(const std::string& devices) {
  if (devices != kPool) return "";
  return "a profile is about one device, and each device of a pool runs only some cases: name one with --backend "
         "NAME:INDEX, and give each device a run of its own";
}

// Requires a single device, since a statement is about one.
tl::expected<PreparedRun, Refusal> PrepareOneDevice(const RunRequest& request, std::vector<std::string>& notes) {
  auto prepared = PrepareRun(request, notes);
  if (!prepared) return prepared;
  const std::vector<Device>& devices = prepared->devices;
  if (Interrupted())
    return tl::unexpected(Refusal{kExitInterrupted, "interrupted while plugins were loaded: nothing ran"});
  if (devices.size() != 1) {
    return tl::unexpected(Refusal{
        kExitUsage,
        fmt::format("a profile is about one device, and there are {}: name it with --backend, NAME or NAME:INDEX "
                    "(assay backends lists them)",
                    devices.size())});
  }
  if (devices[0].problem.empty()) return prepared;
  return tl::unexpected(
      Refusal{kExitRequiredAbsent, fmt::format("{} cannot be used: {}", devices[0].backend, devices[0].problem)});
}

// The shipped plugin has the kernels of the shipped profiles; another profile may name any kernel of the corpus.
fs::path ControlPlugin(const Profile& profile) {
  const fs::path corpus = ShippedCorpus("corpus");
  std::error_code error;
  return !profile.is_shipped && fs::is_regular_file(corpus, error) ? corpus : ShippedCorpus("control");
}

RunOptions ControlOptions(const Profile& profile, const RunOptions& run, const fs::path& folder, uint64_t seed) {
  RunOptions control;
  Fix(profile.control_cases, seed, control);
  control.backend.plugins = {fmt::format("{}={}", kControlBackend, ControlPlugin(profile).string())};
  control.backend.backends = {kControlBackend};
  control.backend.sandbox.hidden = ListHiddenFiles(run);
  for (const auto* kernels : {&profile.sound, &profile.faulty}) {
    for (const ControlKernel& kernel : *kernels) control.backend.implementations.push_back(kernel.implementation);
  }
  control.expectations = {"none"};
  control.progress = "none";
  control.out = folder;
  control.jobs = run.jobs;
  return control;
}

// Before anything is made: a session without a control shows nothing.
Status CheckControlIsThere(const Profile& profile) {
  const fs::path plugin = ControlPlugin(profile);
  std::error_code error;
  if (fs::is_regular_file(plugin, error)) return {};
  return UsageError(
      fmt::format("the negative control needs {}: build it (./scripts/build.sh release product)", plugin.string()));
}

// The finding, or an exit code.
tl::expected<ControlFinding, int> RunControl(const Profile& profile, const RunOptions& control) {
  auto begun = BeginRun(RunSettings(control), PrepareRun);
  if (!begun) return tl::unexpected(begun.error());
  const LoopResult result = (*begun)->RunAll(std::move((*begun)->prepared.selection.cases));
  if (result.interrupted)
    return tl::unexpected(Complain(
        kExitInterrupted, "interrupted in the negative control: nothing is shown; begin again with another --out"));
  if (!result.write_error.empty()) return tl::unexpected(Complain(kExitHarness, result.write_error));
  return JudgeControl(profile, result.records);
}

// Writes conformance.json, and the sentence for the reports.
Result<ConformanceFinding> Conclude(const Profile& profile, const LoopResult& result, ControlFinding control,
                                    uint64_t seed, BegunRun& run) {
  std::vector<Record> records = result.records.ToVector();
  for (const Record& missing : MakeMissingRecords(run.prepared.plan, result.offers, records)) {
    records.push_back(missing);
  }
  ConformanceFinding finding = JudgeConformance(profile, run.prepared.plan, records, std::move(control));
  run.environment[kConformanceKey] = finding.Sentence();
  const auto written = run.folder.WriteJson(kConformanceFile, ConformanceJson(profile, finding, seed));
  if (!written) return tl::unexpected(written.error());
  return finding;
}

void PrintFinding(const ConformanceFinding& finding) {
  std::string text = "\n";
  for (const FeatureFinding& feature : finding.features) {
    text += fmt::format("  {:<9} {:<22} {}\n", feature.mandatory ? "mandatory" : "", feature.name, feature.Text());
  }
  Print(fmt::format("{}  control: {}\n\n{}\n", text, finding.control.Text(), finding.Sentence()));
}

int Conform(ConformOptions options) {
  const auto profile = LoadProfile(options.profile);
  if (!profile) return Complain(kExitUsage, profile.error().message);
  if (const Status control = CheckControlIsThere(*profile); !control)
    return Complain(kExitUsage, control.error().message);
  auto secret = FindSecret(options.run.evidence);
  if (!secret) return Complain(kExitUsage, secret.error().message);
  const uint64_t seed = SeedOf(*secret, options.run.evidence.challenge, kDrawnSeeds);
  Fix(profile->cases, seed, options.run);
  auto begun = BeginRun(RunSettings(options.run), PrepareOneDevice, {{kProfileKey, profile->name}});
  if (!begun) return begun.error();
  BegunRun& run = **begun;
  const auto evidence = BeginEvidence(options.run.evidence, *std::move(secret), run);
  if (!evidence) return Complain(kExitUsage, evidence.error().message);
  auto control = RunControl(*profile, ControlOptions(*profile, options.run, run.folder.path() / "control", seed));
  if (control && !control->Holds()) {
    control = tl::unexpected(Complain(
        kExitHarness, fmt::format("the negative control fails on this machine, so the session would prove nothing: {}",
                                  control->Text())));
  }
  if (!control) {
    run.environment[kInterruptedKey] = true;  // nobody takes the folder for a run that came to its end
    if (auto status = WritePlan(run); !status) Note(status.error().message);
    return control.error();
  }
  LoopResult result = run.RunAll(std::move(run.prepared.selection.cases));
  const auto finding = Conclude(*profile, result, *std::move(control), seed, run);
  if (!finding) return Complain(kExitHarness, finding.error().message);
  const int code = EndRun(run, result, nullptr, [&] {
    PrintFinding(*finding);
    EndEvidence(*evidence, run);
  });
  const bool is_judged = code == kExitOk || code == kExitFailed || code == kExitNothing;
  return !is_judged ? code : finding->Conforms() ? kExitOk : kExitFailed;
}

}  // namespace

void AddConformVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ConformOptions>();
  o->run.evidence.results = kConformanceSample;
  CLI::App* verb = app.add_subcommand(
      "conform", "Judge one backend by a profile: frozen cases, a hidden seed, a negative control; one sentence");
  verb->add_option("--profile", o->profile, "version of the profile, or path of a .toml file of your own")
      ->capture_default_str()
      ->type_name("NAME|PATH");
  AddBackends(*verb, o->run);
  AddOptions(
      *verb, o->run,
      {"--devices", "--out", "--jobs", "--expectations", "--evidence-seed", "--challenge", "--progress", "--color"});
  verb->get_option("--backend")->required();
  verb->get_option("--devices")
      ->description("each (the default); pool is refused, since a profile is about one device")
      ->check(RefusePool);
  verb->get_option("--expectations")
      ->description(
          "files of waivers, or none; default: those shipped with the backends. Waivers that are used are "
          "counted");
  verb->get_option("--evidence-seed")
      ->description(
          "file with the secret whose SHA-256 was published, from which seed and sample follow; default: one "
          "is drawn");
  verb->get_option("--challenge")
      ->description("text from whoever gets the evidence, which goes into seed and sample too");
  verb->callback([o, &action] { action = [o] { return Conform(*o); }; });
}

}  // namespace assay::cli

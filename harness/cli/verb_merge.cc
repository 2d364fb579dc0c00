// SPDX-License-Identifier: Apache-2.0
// assay merge A B C --out D: the shards of one run as one run.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/merge.h"
#include "harness/engine/results/run_folder.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/draw.h"
#include "reports/console.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct MergeOptions {
  std::vector<fs::path> dirs;
  fs::path out;
  bool strict = false;
  std::string color = "auto";
};

// Copies each folder of tensors that the records name. No two shards share one.
Status CopyTensors(const std::vector<fs::path>& dirs, const fs::path& out) {
  for (const fs::path& dir : dirs) {
    for (const char* name : {"failures", "outputs"}) {
      std::error_code error;
      if (!fs::is_directory(fs::symlink_status(dir / name, error))) continue;
      fs::copy(dir / name, out / name, fs::copy_options::recursive | fs::copy_options::skip_symlinks, error);
      if (error) {
        return Fail(ErrorCode::kIo,
                    fmt::format("cannot copy {} to {}: {}", (dir / name).string(), out.string(), error.message()));
      }
    }
  }
  return {};
}

// Finds the first shard that kept no outputs although another one did; null: there is none.
const fs::path* FindWithoutOutputs(const std::vector<fs::path>& dirs) {
  const auto has_none = [](const fs::path& dir) {
    std::error_code error;
    return !fs::exists(dir / kEvidenceFile, error);
  };
  const auto without = std::ranges::find_if(dirs, has_none);
  return without == dirs.end() || std::ranges::all_of(dirs, has_none) ? nullptr : &*without;
}

// They would be terms of a sample that the merged run does not have.
std::string RemoveTerms(const std::string& environment) {
  Json json = ParseJson(environment);
  json.erase(kEvidenceKey);
  for (Json& part : json["merged"]) part.erase(kEvidenceKey);
  return DumpJson(json, 2) + "\n";
}

// Each shard had a secret of its own. Draws are in the order of `dirs`, as the parts of environment.json are: verifying
// expects that order. Called last, as the note is about all other files.
Status MergeEvidence(const std::vector<fs::path>& dirs, const RunFolder& folder) {
  Sample all;
  for (const fs::path& dir : dirs) {
    const auto text = ReadWholeFile(dir / kEvidenceFile);
    if (!text) continue;
    auto sample = ParseEvidence(*text);
    if (!sample) return UsageError(fmt::format("{}: {}", dir.string(), sample.error().message));
    std::ranges::move(sample->draws, std::back_inserter(all.draws));
  }
  if (all.draws.empty()) return {};
  if (auto status = folder.WriteText(kEvidenceFile, EvidenceJson(all)); !status) return status;
  Note("evidence: the hash of the run's files is " + HashOfRunFiles(folder.path()));
  return {};
}

Status WriteMerged(const MergedRun& merged, const std::vector<fs::path>& dirs, RunFolder& folder) {
  const auto write_plan = [&](const TextSink& write) { WritePlanJson(merged.plan, write); };
  if (auto status = folder.StreamText("plan.json", write_plan); !status) return status;
  const fs::path* const without = FindWithoutOutputs(dirs);
  const std::string environment = without != nullptr ? RemoveTerms(merged.environment) : merged.environment;
  if (auto status = folder.WriteText("environment.json", environment); !status) return status;
  for (const Offer& offer : merged.offers) {
    if (auto status = folder.Append(offer); !status) return status;
  }
  if (auto status = folder.Rewrite(merged.records); !status) return status;
  if (auto status = CopyTensors(dirs, folder.path()); !status) return status;
  if (without == nullptr) return MergeEvidence(dirs, folder);
  Note(fmt::format("shard {} kept no outputs: the merged run has no sample", without->string()));
  return {};
}

int Merge(const MergeOptions& options) {
  auto merged = MergeRuns(options.dirs);
  if (!merged) return Complain(kExitUsage, merged.error().message);
  auto folder = RunFolder::Create(options.out);
  if (!folder) return Complain(kExitUsage, folder.error().message);
  if (auto written = WriteMerged(*merged, options.dirs, *folder); !written) {
    return Complain(kExitHarness, written.error().message);
  }
  const std::string environment = merged->environment;
  const FinishedRun run = Finish(*std::move(merged));
  const auto reports = WriteReports(folder->path(), run.records);
  if (!reports) return Complain(kExitHarness, reports.error().message);
  return PrintMerged(run, environment, (folder->path() / "report.html").string(), options.color, options.strict);
}

}  // namespace

int PrintMerged(const FinishedRun& run, const std::string& environment, const std::string& all_file,
                const std::string& color, bool strict) {
  for (const std::string& note : run.notes) Note(note);
  Print(ConsoleReport(run.records, {.colour = UseColour(color, STDOUT_FILENO),
                                    .width = TextWidth(STDOUT_FILENO),
                                    .all_file = all_file,
                                    .environment = environment}));
  return ExitCodeOfRecords(run.records, FlagsOf(run, strict));
}

void AddMergeVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<MergeOptions>();
  CLI::App* verb = app.add_subcommand(
      "merge", "Merge the shards of a run into one run and report it; the exit code is that of its verdicts");
  verb->add_option("RUNS", o->dirs, "output folders of the shards")->required();
  verb->add_option("-o,--out", o->out, "folder for the whole run, new or empty")->required()->type_name("DIR");
  verb->add_flag("--strict", o->strict,
                 "also fail on inconclusive and suspect results and on times that cannot be true");
  AddOptionFor(*verb, "--color", o->color);
  verb->callback([o, &action] { action = [o] { return Merge(*o); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay report DIR: every report again, from the files of the run alone, with the exit code of its verdicts.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/merge.h"
#include "reports/console.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct ReportOptions {
  std::vector<fs::path> dirs;
  bool strict = false;
  std::string color = "auto";
  size_t rows = 12;
};

// Prints the report of several shards and writes nothing: assay merge makes a folder of them.
int ReportShards(const ReportOptions& options) {
  auto merged = MergeRuns(options.dirs);
  if (!merged) return Complain(kExitUsage, merged.error().message);
  const std::string environment = merged->environment;
  return PrintMerged(Finish(*std::move(merged)), environment, "", options.color, options.strict);
}

int Report(const ReportOptions& options) {
  if (options.dirs.size() > 1) return ReportShards(options);
  const fs::path& dir = options.dirs[0];
  auto run = ReadRun(dir);
  if (!run) return Complain(kExitUsage, run.error().message);
  for (const std::string& note : run->notes) Note(note);
  const bool ran = run->required_absent.empty();
  if (ran && run->records.empty() && !run->empty.empty()) return Complain(kExitOk, run->empty);
  if (ran && run->records.empty()) {
    return Complain(kExitNothing, fmt::format("{} has no records", (dir / "results.jsonl").string()));
  }
  auto written = WriteReports(dir, run->records);
  const fs::path all = dir / (written ? "report.html" : "results.jsonl");
  const ConsoleStyle console{.colour = UseColour(options.color, STDOUT_FILENO),
                             .width = TextWidth(STDOUT_FILENO),
                             .performance_rows = options.rows,
                             .all_file = all.string(),
                             .environment = ReadStream(dir / "environment.json").value_or("")};
  if (ran) Print(ConsoleReport(run->records, console));
  if (!written) return Complain(kExitHarness, written.error().message);
  for (const auto& path : *written) Print(fmt::format("report: {}\n", path.string()));
  if (!ran) return Complain(kExitRequiredAbsent, run->empty);
  return ExitCodeOfRecords(run->records, FlagsOf(*run, options.strict));
}

}  // namespace

void AddReportVerb(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb =
      app.add_subcommand("report", "Print and write the reports of a run again; the exit code is that of its verdicts");
  verb->add_option("DIR", options->dirs,
                   "output folder of a run; or folders of its shards, for which no file is written")
      ->required();
  verb->add_flag("--strict", options->strict,
                 "also fail on inconclusive and suspect results and on times that cannot be true");
  AddOptionFor(*verb, "--color", options->color);
  AddNumber<size_t>(*verb, "--rows", options->rows, {0, 1'000'000}, "most rows of the performance table");
  verb->callback([options, &action] { action = [options] { return Report(*options); }; });
}

}  // namespace assay::cli

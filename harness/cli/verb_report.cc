// SPDX-License-Identifier: Apache-2.0
// assay report DIR: every report again, from the files of the run alone, with the exit code of its verdicts.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "harness/base/record.h"
#include "harness/base/whole_file.h"
#include "harness/cli/exit_code.h"
#include "harness/cli/missing.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "reports/console.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct ReportOptions {
  fs::path dir;
  bool strict = false;
  std::string color = "auto";
  size_t rows = 24;
};

// What a run folder holds, with a record for each planned one that is missing.
struct FinishedRun {
  std::vector<Record> records;
  std::string empty;  // what to say when there are none: a shard without cases; "" for any other reason
};

Result<FinishedRun> ReadRun(const fs::path& dir) {
  auto file = ReadRecords(dir / "results.jsonl");
  if (!file) return tl::unexpected(file.error());
  if (!file->torn.empty()) Note(file->torn);
  FinishedRun run{std::move(file->records), ""};
  std::error_code error;
  if (!fs::exists(dir / "plan.json", error)) {
    Note(fmt::format("{} has no plan.json: what else was planned is not known", dir.string()));
    return run;
  }
  auto text = ReadWholeFile(dir / "plan.json");
  if (!text) return tl::unexpected(text.error());
  auto plan = ParsePlanJson(*text);
  if (!plan) {
    return UsageError(fmt::format("{}: {}; without the file the records alone are reported",
                                  (dir / "plan.json").string(), plan.error().message));
  }
  auto offers = ReadOffers(dir / kOffersFile, run.records);
  if (!offers) {
    Note(offers.error().message);
    offers = OffersIn(run.records);
  }
  for (Record& missing : MissingRecords(*plan, *offers, run.records)) run.records.push_back(std::move(missing));
  const auto in_shard = [&](const PlanEntry& entry) { return InShard(entry.id, plan->shard); };
  if (std::ranges::none_of(plan->entries, in_shard)) run.empty = EmptyShardText(plan->shard, plan->entries.size());
  return run;
}

int Report(const ReportOptions& options) {
  auto run = ReadRun(options.dir);
  if (!run) return Complain(kExitUsage, run.error().message);
  if (run->records.empty() && !run->empty.empty()) return Complain(kExitOk, run->empty);
  if (run->records.empty()) {
    return Complain(kExitNothing, fmt::format("{} has no records", (options.dir / "results.jsonl").string()));
  }
  auto written = WriteReports(options.dir, run->records);
  Print(ConsoleReport(run->records, {UseColour(options.color, STDOUT_FILENO), options.rows}));
  if (!written) return Complain(kExitHarness, written.error().message);
  for (const auto& path : *written) Print(fmt::format("report: {}\n", path.string()));
  ExitFlags flags;
  flags.strict = options.strict;
  return ExitCodeOfRecords(run->records, flags);
}

}  // namespace

void AddReportVerb(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb =
      app.add_subcommand("report", "Print and write the reports of a run again; exits as its verdicts say");
  verb->add_option("DIR", options->dir, "output folder of a run")->required();
  verb->add_flag("--strict", options->strict, "untrusted and suspect results fail too");
  verb->add_option("--color", options->color)->check(CLI::IsMember({"auto", "always", "never"}))->capture_default_str();
  AddNumber<size_t>(*verb, "--rows", options->rows, {0, 1'000'000}, "rows of the performance table");
  verb->callback([options, &action] { action = [options] { return Report(*options); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay report DIR: every report again, from the records alone.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/base/record.h"
#include "harness/cli/number_option.h"
#include "harness/cli/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "reports/console.h"

namespace assay::cli {
namespace {

struct ReportOptions {
  std::filesystem::path dir;
  std::string color = "auto";
  size_t rows = 24;
};

int Report(const ReportOptions& options) {
  auto records = ReadRecords(options.dir / "results.jsonl");
  if (!records) return Complain(kExitUsage, records.error().message);
  if (records->empty()) {
    return Complain(kExitNothing, fmt::format("{} has no records yet", (options.dir / "results.jsonl").string()));
  }
  fmt::print("{}", ConsoleReport(*records, {UseColour(options.color, STDOUT_FILENO), options.rows}));
  auto written = WriteReports(options.dir, *records);
  if (!written) return Complain(kExitHarness, written.error().message);
  for (const auto& path : *written) fmt::print("report: {}\n", path.string());
  return kExitOk;
}

}  // namespace

void AddReportVerb(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand("report", "Print and write the reports of a finished run again");
  verb->add_option("DIR", options->dir, "output folder of a run")->required();
  verb->add_option("--color", options->color)->check(CLI::IsMember({"auto", "always", "never"}))->capture_default_str();
  AddNumber<size_t>(*verb, "--rows", options->rows, {0, 1'000'000}, "rows of the performance table");
  verb->callback([options, &action] { action = [options] { return Report(*options); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
// assay history DIR...: in which of several runs results changed, and what those runs differ in.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/run_pair.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/missing.h"
#include "reports/compare/run_history.h"
#include "reports/incomplete.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct HistoryOptions {
  std::vector<fs::path> dirs;
  double minimum_effect = 5;  // percent
  bool strict = false, json = false;
  fs::path html;
  std::string color = "auto";
  size_t rows = 50;
};

Result<RunOfHistory> ReadRunOfHistory(const fs::path& dir) {
  auto run = ReadRunToCompare(dir);
  if (!run) return tl::unexpected(run.error());
  const std::string environment = ReadWholeFile(dir / "environment.json").value_or("");
  return RunOfHistory{std::move(*run), ReadRunProperties(environment), TextIn(ParseJson(environment), "timestamp")};
}

// A folder that is given twice would count as two runs.
Status CheckFolders(const std::vector<fs::path>& dirs) {
  if (dirs.size() < 2) {
    return UsageError("a history takes two runs or more: assay history OLD ... NEW; out/* gives all folders of out");
  }
  for (auto it = dirs.begin(); it != dirs.end(); ++it) {
    const auto is_same = [&](const fs::path& other) {
      std::error_code error;
      return fs::equivalent(*it, other, error);
    };
    if (std::any_of(dirs.begin(), it, is_same)) {
      return UsageError(fmt::format("{} is given twice; give each run once", it->string()));
    }
  }
  return {};
}

int TellHistory(const HistoryOptions& options) {
  if (auto fine = CheckFolders(options.dirs); !fine) return Complain(kExitUsage, fine.error().message);
  std::vector<RunOfHistory> runs;
  for (const fs::path& dir : options.dirs) {
    auto run = ReadRunOfHistory(dir);
    if (!run) return Complain(kExitUsage, run.error().message);
    runs.push_back(std::move(*run));
  }
  std::string order;
  SortByStart(runs, order);
  const CompareSettings settings{
      .policy = {}, .harness_backend = kHarnessBackend, .minimum_effect = options.minimum_effect / 100};
  auto history = FindHistory(runs, settings);
  if (!history) return Complain(kExitUsage, history.error().message);
  if (!order.empty()) history->notes.push_back(order);
  for (const RunOfHistory& r : runs) {
    if (const std::string line = IncompleteLine(r.run.records); !line.empty()) {
      history->notes.push_back(fmt::format("{}: {}", r.run.name, line));
    }
  }
  if (!options.html.empty()) {
    const std::string page = HistoryPage(*history);
    if (auto written = WriteFileAtomically(options.html, {{page.data(), page.size()}}); !written) {
      return Complain(kExitHarness, written.error().message);
    }
  }
  const int code = options.strict && history->IsNewestWorse() ? kExitFailed : kExitOk;
  Print(options.json ? HistoryJson(*history, code)
                     : HistoryConsole(*history, {UseColour(options.color, STDOUT_FILENO), options.rows,
                                                 TextWidth(STDOUT_FILENO)}));
  return code;
}

}  // namespace

void AddHistoryVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<HistoryOptions>();
  CLI::App* verb = app.add_subcommand(
      "history", "Tell in which of several runs the bits, verdict, margin or time of a result changed");
  verb->add_option("DIR", o->dirs, "output folders of runs, or their results.jsonl; sorted by their start")->required();
  AddNumber<double>(*verb, "--min-effect", o->minimum_effect, {0.1, 1e6},
                    "smallest difference that counts as SLOWER or FASTER, in percent");
  verb->add_flag("--strict", o->strict, "exit 1 if a result got worse with the newest run");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->add_option("--html", o->html, "also write a page with a part for each backend to this file")->type_name("FILE");
  AddOptionFor(*verb, "--color", o->color);
  AddNumber<size_t>(*verb, "--rows", o->rows, {0, 1'000'000}, "most rows of each run");
  verb->callback([o, &action] { action = [o] { return TellHistory(*o); }; });
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
#include "reports/markdown.h"

#include <fmt/format.h>

#include "reports/deciding.h"
#include "reports/fault.h"
#include "reports/incomplete.h"
#include "reports/known.h"
#include "reports/profile.h"
#include "reports/run_notes.h"
#include "reports/summary.h"
#include "reports/sweep.h"

namespace assay {
namespace {

constexpr size_t kMaxFailures = 200;
constexpr size_t kMaxPerformanceRows = 500, kMaxLimitsRows = 100;
constexpr size_t kMostSummaryBytes = 1'000'000;  // GitHub shows no step summary beyond 1 MiB

}  // namespace

std::string MarkdownReport(const RecordView& records, const std::string& environment_json,
                           const std::string& profile_json) {
  std::string out = fmt::format("# assay\n\n**{}**\n\n", OutcomeLine(records));
  const EnvironmentRows environment = FlattenEnvironment(environment_json);
  if (const std::string fault = FaultLine(records, environment); !fault.empty()) out += MarkdownText(fault) + "\n\n";
  for (const std::string& note : RunNotes(records, environment_json)) out += "- " + MarkdownText(note) + "\n";
  if (const std::string incomplete = IncompleteLine(records); !incomplete.empty()) {
    out += fmt::format("**{}**\n\n## Missing\n\n{}\n", incomplete, AsMarkdown(MissingTable(records)));
  }
  const Columns columns(records);
  size_t failures = 0;
  for (const Record& r : records) {
    if (!IsFailure(r) || IsMissing(r)) continue;
    if (failures++ == 0) out += "## Failures\n\n";
    if (failures > kMaxFailures) continue;
    const std::string check = DecidingText(DecidingCheckOf(r));
    out += fmt::format("- **{}** {} `{}`{}: {}\n  ```\n  {}\n  ```\n", MarkdownText(r.outcome),
                       MarkdownText(columns.NameOf(r)), r.case_id, check.empty() ? "" : " (" + check + ")",
                       MarkdownText(r.reason), r.reproduce);
  }
  if (failures > kMaxFailures) out += fmt::format("- and {} more, see results.jsonl\n", failures - kMaxFailures);
  if (const Table known = KnownTable(records); !known.rows.empty()) {
    out += "\n## Known failures\n\nA line of an expectation file explains each.\n\n" + AsMarkdown(known);
  }
  out += "\n## Verdicts\n\nWith the largest margin of the bound of what passed.\n\n" +
         AsMarkdown(VerdictMatrix(records)) + "\n" + AsMarkdown(ImplementationTable(records));
  const Table performance = PerformanceTable(records, kMaxPerformanceRows);
  if (!performance.rows.empty()) {
    out +=
        "\n## Performance\n\nThe fastest implementation of each backend that passed, and of a weaker contract a faster "
        "one; median time per execution.\n\n" +
        AsMarkdown(performance);
    out +=
        "\n### Limits\n\nCold caches, the roofline of the cold time, the share of the wall clock that the smallest "
        "launch takes, transfers.\n\n" +
        AsMarkdown(LimitsTable(records, kMaxLimitsRows));
  }
  for (const std::string& line : InvalidTimes(records)) {
    out += fmt::format("\n- **cannot be true** {}\n", MarkdownText(line));
  }
  for (const SweepGroup& group : SweepsOf(records)) {
    out += fmt::format("\n## Sweep over {} of {}\n\n", MarkdownText(group.key), MarkdownText(group.title));
    for (const std::string& line : SweepAdvice(group)) out += "- " + MarkdownText(line) + "\n";
  }
  const Table inconclusive = InconclusiveTable(records);
  if (!inconclusive.rows.empty())
    out += "\n## Inconclusive\n\nA wrong result would pass.\n\n" + AsMarkdown(inconclusive);
  const Table reasons = ReasonsTable(records);
  if (!reasons.rows.empty()) out += "\n## Not run\n\n" + AsMarkdown(reasons);
  const Table profile = ProfileTable(profile_json);
  if (!profile.rows.empty()) {
    out += fmt::format("\n## Profile\n\n{}.\n\n{}", ProfileLine(profile_json), AsMarkdown(profile));
  }
  return FitMarkdown(std::move(out), kMostSummaryBytes, "report.html and results.jsonl");
}

}  // namespace assay

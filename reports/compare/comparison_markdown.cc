// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/compare/comparison.h"

namespace assay {
namespace {

constexpr size_t kMostChangeRows = 1000;
constexpr size_t kMostBytes = 65'000;  // GitHub takes no comment of more than 65,536 characters

std::string ChangesSection(const char* title, const std::vector<const ResultComparison*>& results) {
  size_t left_out = 0;
  std::string out;
  for (const ChangesOfKind& kind : ChangesByKind(results, kMostChangeRows, left_out)) {
    out += fmt::format("\n## {}: {}\n\n{}", title, kind.heading, AsMarkdown(kind.table));
  }
  if (left_out > 0) out += fmt::format("\n{} more: see `assay compare --json`.\n", left_out);
  return out;
}

}  // namespace

std::string ComparisonMarkdown(const RunComparison& comparison) {
  std::string out = fmt::format("{}\n**{}**\n\nbase: {}, new: {}\n", kComparisonHeading, ComparisonLine(comparison),
                                MarkdownText(comparison.base), MarkdownText(comparison.now));
  for (const std::string& note : comparison.notes) out += fmt::format("\n- {}", MarkdownText(note));
  if (!comparison.notes.empty()) out += "\n";
  std::vector<const ResultComparison*> grave, other;
  for (const ResultComparison* r : ChangedResults(comparison)) (IsGrave(*r) ? grave : other).push_back(r);
  out += ChangesSection("Regressions and lost results", grave);
  out += "\n## By backend and operator\n\n" + AsMarkdown(ComparisonSummary(comparison));
  if (!comparison.groups.empty()) out += "\n## Times of groups, in turns\n\n" + AsMarkdown(GroupsTable(comparison));
  return FitMarkdown(out + ChangesSection("No regression", other), kMostBytes, "`assay compare --json`");
}

}  // namespace assay

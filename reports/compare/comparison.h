// SPDX-License-Identifier: Apache-2.0
// Comparison of two runs, for people, programs and pull requests: pure functions of a RunComparison.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/run_comparison.h"
#include "reports/table.h"

namespace assay {

// The gravest first: regressions and lost results, what got worse, then the rest; each in the order of Aspect.
std::vector<const ResultComparison*> ChangedResults(const RunComparison& comparison);

bool IsGrave(const ResultComparison& result);  // a regression, or a lost result that nothing permits

// "12 regressions, 3 lost; of 1178 results in both: 40 changed (5 worse), 1138 the same".
std::string ComparisonLine(const RunComparison& comparison);

// Rows: backend and operator. Columns: what changed, counted.
Table ComparisonSummary(const RunComparison& comparison);

// Rows: groups of results that were timed in turns; the change of the typical one, its interval and the decision.
Table GroupsTable(const RunComparison& comparison);

// One row per change of these results, at most `limit`; `left_out` counts the others.
Table ChangesTable(const std::vector<const ResultComparison*>& results, size_t limit, size_t& left_out);

// One table for each kind of change, so that a column has one unit.
struct ChangesOfKind {
  std::string heading;  // "times"
  Table table;
};
std::vector<ChangesOfKind> ChangesByKind(const std::vector<const ResultComparison*>& results, size_t limit,
                                         size_t& left_out);

// "+12.3 %" for a ratio of 1.123.
std::string PercentText(double ratio);

// By how much it changed, with its detail: "x2.00", "+12.3 % SLOWER".
std::string DescribeAmount(const Change& change);

struct ComparisonStyle {
  bool colour = false;
  size_t rows = 50;
  size_t width = 0;  // of the terminal; 0: lines may have any length
};

std::string ComparisonConsole(const RunComparison& comparison, const ComparisonStyle& style);

// Kept under the 1 MiB limit of a step summary. It begins with the heading.
inline constexpr const char* kComparisonHeading = "# assay compare\n";
std::string ComparisonMarkdown(const RunComparison& comparison);

// Every result in both runs or changed. `exit_code` is that of the program.
std::string ComparisonJson(const RunComparison& comparison, int exit_code);

// Workflow commands of GitHub: one ::error, ::warning or ::notice per backend and operator with changes, the gravest
// first. A step shows ten of each; the tenth speaks for the rest.
std::string ComparisonAnnotations(const RunComparison& comparison);

}  // namespace assay

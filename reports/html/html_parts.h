// SPDX-License-Identifier: Apache-2.0
// Parts of the data that report.html embeds; its script (reports/assets) makes elements of them. A part names a record
// by its place among all records of the run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/record_list.h"
#include "reports/environment.h"
#include "reports/summary.h"

namespace assay::html {

// A page with more rows does not open in a browser.
inline constexpr size_t kMostRows = 50'000;

// Chooses at most `most` records for the table, in their order: all of them, or those that neither passed nor are
// unsupported, and an even sample of the others. Records in `named` are always chosen, whatever `most` says.
std::vector<size_t> ChooseRows(const RecordView& records, size_t most, const std::set<size_t>& named = {});

struct Page {
  RecordView records;
  Columns columns;
  EnvironmentRows environment;
  std::set<size_t> named;  // records that a part names, which the table therefore has
};

// How the run went and what was run where: a headline, counts of verdicts, facts.
void AddHeader(const Page& page, const std::string& environment_json, Json& data);
// Failures by outcome, implementation and operator: one cause often fails many cases.
Json FailuresOf(Page& page);
Json KnownFailuresOf(Page& page);
// Counts for each operator, dtype, backend and implementation.
Json MatrixOf(const Page& page);
// Timed cases of each operator, the largest first.
Json TimedCasesOf(Page& page);
Json SweepCurvesOf(Page& page);

// Adds the records, compact enough for thousands: a value that all share is written once, the others are rows of values
// in which a text is its place in one list.
void AddRows(const Page& page, Json& data);

}  // namespace assay::html

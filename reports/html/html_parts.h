// SPDX-License-Identifier: Apache-2.0
// The sections of report.html, one file each. Each returns "" when it has nothing to say.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/model/record_list.h"
#include "reports/environment.h"
#include "reports/summary.h"

namespace assay::html {

// Chooses at most `most` records for the table, in their order: all of them, or those that neither passed nor are
// unsupported, and an even sample of the others.
std::vector<size_t> ChooseRows(const RecordView& records, size_t most);

struct Page {
  RecordView records;
  Columns columns;
  EnvironmentRows environment;
  std::string profile;                                        // profile.json, or ""
  std::vector<std::string> notes;                             // RunNotes
  std::vector<size_t> rows = ChooseRows(records, kMostRows);  // of the table of all results

  // A page with more does not open in a browser.
  static constexpr size_t kMostRows = 50'000;
};

std::string HeaderSection(const Page& page);
std::string FailuresSection(const Page& page);
std::string KnownSection(const Page& page);
std::string MatrixSection(const Page& page);
std::string CasesSection(const Page& page);
std::string PerformanceSection(const Page& page);
std::string SweepSection(const Page& page);
std::string NotRunSection(const Page& page);
std::string ProfileSection(const Page& page);
std::string EnvironmentSection(const Page& page);
std::string LegendSection();

// The records as JSON for the script, safe inside a <script> element.
std::string EmbeddedData(const Page& page);

// "✗ mismatch" as a coloured label.
std::string Chip(std::string_view outcome, std::string_view text);

// "conv" and the rest of a case id apart, with places where a browser may break the line.
std::string CaseIdHtml(const std::string& case_id);

// A term of the glossary: its definition as a tooltip, and the way to the list. `text`: as it reads here.
std::string Term(std::string_view name, std::string_view text = "");

// The place of results within the page, as the script reads it and writes it into the address:
// "#op=fft&impl=cpu:radix". Values are kept readable; pairs without a value are left out.
using Parameters = std::vector<std::pair<std::string_view, std::string_view>>;
std::string Fragment(const Parameters& parameters);
std::string ResultFragment(const Page& page, const Record& record);  // by its case and implementation

// The one scale of all bars of margins, in percent: logarithmic from 2^-10 to the limit 1, whose bar is full.
double MarginPercent(double margin);

// A box with a command and, where scripts run, a button that copies it.
std::string CopyBox(const std::string& command);

}  // namespace assay::html

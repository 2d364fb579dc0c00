// SPDX-License-Identifier: Apache-2.0
// The sections of report.html, one file each. Each returns "" when it has nothing to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/model/record.h"
#include "reports/environment.h"
#include "reports/summary.h"

namespace assay::html {

struct Page {
  const std::vector<Record>& records;
  std::vector<Column> columns;  // of each record
  EnvironmentRows environment;
  std::string profile;  // profile.json, or ""
};

std::string HeaderSection(const Page& page);
std::string MatrixSection(const Page& page);
std::string FailuresSection(const Page& page);
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

// A box with a command and, where scripts run, a button that copies it.
std::string CopyBox(const std::string& command);

}  // namespace assay::html

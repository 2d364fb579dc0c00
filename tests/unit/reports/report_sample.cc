// SPDX-License-Identifier: Apache-2.0
// report_sample DIR [RECORDS]: every report of a synthetic run, to look at and for tests that need files.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reports/google_benchmark.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "tests/unit/reports/sample.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: report_sample DIR [RECORDS]\n");
    return 2;
  }
  const std::filesystem::path dir = argv[1];
  std::filesystem::create_directories(dir);
  const auto records = assay::sample::SampleRecords(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 300);
  const std::string environment = assay::sample::SampleEnvironment();
  bool good = true;
  const auto write = [&](const char* name, const std::string& content) {
    std::ofstream file(dir / name, std::ios::binary);
    file << content;
    file.close();
    good = good && file;
  };
  std::string lines;
  for (const auto& r : records) lines += assay::ToJsonLine(r) + "\n";
  write("results.jsonl", lines);
  write("environment.json", environment);
  write("report.html", assay::HtmlReport(records, environment));
  write("junit.xml", assay::JunitReport(records, environment));
  write("benchmark.json", assay::GoogleBenchmarkReport(records, environment));
  write("summary.md", assay::MarkdownReport(records, environment));
  return good ? 0 : 1;
}

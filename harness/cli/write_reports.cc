// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/write_reports.h"

#include <fmt/format.h>

#include <iterator>

#include "harness/cli/profile_output.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/parallel.h"
#include "harness/core/base/profile.h"
#include "harness/core/base/whole_file.h"
#include "reports/google_benchmark.h"
#include "reports/html/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"

namespace assay::cli {

Result<std::vector<std::filesystem::path>> WriteReports(const std::filesystem::path& dir, const RecordView& records) {
  const Span span(Phase::kReports);
  const std::string environment = ReadStream(dir / "environment.json").value_or("");
  const std::string profile = ReadStream(dir / kProfileFile).value_or("");
  using Writer = std::function<void(const TextSink&)>;
  // Long ones part by part, so that few of them are in memory.
  const std::pair<const char*, Writer> files[] = {
      {"report.html", [&](const TextSink& write) { write(HtmlReport(records, environment, profile)); }},
      {"summary.md", [&](const TextSink& write) { write(MarkdownReport(records, environment, profile)); }},
      {"junit.xml", [&](const TextSink& write) { WriteJunit(records, environment, write); }},
      {"benchmark.json", [&](const TextSink& write) { WriteGoogleBenchmark(records, environment, write); }},
  };
  Status ends[std::size(files)];
  ParallelFor(std::ssize(files), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // Whole or not at all, so that a CI server that collects files never takes half a report.
      ends[i] = StreamFileAtomically(dir / files[i].first, files[i].second);
    }
  });
  std::vector<std::filesystem::path> written;
  std::string missing;
  for (size_t i = 0; i < std::size(files); ++i) {
    if (ends[i]) {
      written.push_back(dir / files[i].first);
    } else if (missing.empty()) {
      missing = ends[i].error().message;  // the others may be small enough for a full disk
    }
  }
  if (missing.empty()) return written;
  return Fail(ErrorCode::kIo, fmt::format("{}; once it can be written, assay report {} writes the reports again",
                                          missing, dir.string()));
}

}  // namespace assay::cli

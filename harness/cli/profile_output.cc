// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/profile_output.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "harness/cli/replaced_file.h"
#include "harness/cli/terminal/output.h"
#include "harness/core/base/atomic_file.h"
#include "harness/engine/perf/profile_files.h"
#include "reports/profile.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

std::vector<ReadFile> ListReadFiles(const RunRequest& run) {
  std::vector<ReadFile> files{SuiteFile(run.selection)};
  for (const std::string& file : run.expectations) files.push_back({file, "a list of expectations"});
  for (const std::string& plugin : run.backend.plugins) {
    files.push_back({plugin.substr(plugin.find('=') + 1), "a plugin"});
  }
  for (const std::string& kernels : run.backend.kernels) {
    files.push_back({kernels.substr(kernels.find('=') + 1), "a file of kernels"});
  }
  return files;
}

}  // namespace

Result<ProfileOutput> ProfileOutput::Start(const ProfileRequest& request, const RunRequest& run) {
  ProfileOutput output;
  output.table_ = request.table;
  if (request.trace) {
    const ResultKind kind{"trace", [](const fs::path& file) { return FileBeginsWith(file, kChromeTraceBeginning); },
                          true};
    const WrittenFile trace{"--trace", *request.trace, kind, request.folder};
    if (auto fine = CheckMayWrite(trace, ListReadFiles(run)); !fine) return tl::unexpected(fine.error());
    output.trace_path_ = *request.trace;
  }
  output.begin_ = NowNanoseconds();
  if (request.table || request.trace) StartProfile();
  return output;
}

Status ProfileOutput::WriteTotals(const std::filesystem::path& dir) const {
  if (!table_) return {};
  const std::string json = ProfileJson(TotalsOf(TakeProfile(), begin_, NowNanoseconds()));
  return WriteFileAtomically(dir / kProfileFile, {{json.data(), json.size()}});
}

Status ProfileOutput::WriteTrace(const fs::path& dir, const std::vector<ThreadProfile>& threads) const {
  std::error_code error;
  if (fs::exists(trace_path_, error) && fs::equivalent(trace_path_.parent_path(), dir, error)) {
    return Fail(ErrorCode::kIo,
                fmt::format("--trace {}: not written, since the run has a file of that name; give another name",
                            trace_path_.string()));
  }
  std::ofstream trace(trace_path_, std::ios::binary);
  WriteChromeTrace(trace, threads, begin_);
  trace.close();
  if (!trace) return Fail(ErrorCode::kIo, fmt::format("cannot write {}: is the disk full?", trace_path_.string()));
  return {};
}

Status ProfileOutput::Finish(const std::filesystem::path& dir) {
  if (!IsProfiling()) return {};
  const std::vector<ThreadProfile> threads = TakeProfile();
  if (!trace_path_.empty()) {
    if (auto written = WriteTrace(dir, threads); !written) return written;
  }
  if (!table_) return {};
  const std::string json = ProfileJson(TotalsOf(threads, begin_, NowNanoseconds()));
  Note("profile: " + ProfileLine(json));
  std::fputs(AsText(ProfileTable(json)).c_str(), stderr);
  return WriteFileAtomically(dir / kProfileFile, {{json.data(), json.size()}});
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/profile_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "harness/base/atomic_file.h"
#include "harness/cli/output.h"
#include "harness/perf/chrome_trace.h"
#include "harness/perf/profile_totals.h"
#include "reports/profile.h"

namespace assay::cli {

Result<ProfileOutput> ProfileOutput::Start(const RunOptions& options) {
  ProfileOutput output;
  output.table_ = options.profile;
  if (options.trace) {
    output.trace_path_ = *options.trace;
    output.trace_.open(*options.trace, std::ios::binary);
    if (!output.trace_) {
      return UsageError(fmt::format("--trace {}: the file cannot be written: {}; give another one",
                                    options.trace->string(), std::strerror(errno)));
    }
  }
  output.begin_ = NowNanoseconds();
  if (options.profile || options.trace) StartProfile();
  return output;
}

Status ProfileOutput::WriteTotals(const std::filesystem::path& dir) const {
  if (!table_) return {};
  const std::string json = ProfileJson(TotalsOf(TakeProfile(), begin_, NowNanoseconds()));
  return WriteFileAtomically(dir / kProfileFile, {{json.data(), json.size()}});
}

Status ProfileOutput::Finish(const std::filesystem::path& dir) {
  if (!IsProfiling()) return {};
  const std::vector<ThreadProfile> threads = TakeProfile();
  if (trace_.is_open()) {
    WriteChromeTrace(trace_, threads, begin_);
    trace_.close();
    if (!trace_) {
      return Fail(ErrorCode::kIo, fmt::format("cannot write {}: is the disk full?", trace_path_.string()));
    }
  }
  if (!table_) return {};
  const std::string json = ProfileJson(TotalsOf(threads, begin_, NowNanoseconds()));
  Note("profile: " + ProfileLine(json));
  std::fputs(AsText(ProfileTable(json)).c_str(), stderr);
  return WriteFileAtomically(dir / kProfileFile, {{json.data(), json.size()}});
}

}  // namespace assay::cli

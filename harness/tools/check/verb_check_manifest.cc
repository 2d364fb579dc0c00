// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/verb_check_manifest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/cli/write_reports.h"
#include "harness/core/base/json.h"
#include "harness/core/base/parallel.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/run_folder.h"
#include "harness/tools/check/case_files.h"
#include "reports/console.h"

namespace assay::cli {
namespace {

// Judges all that came back: small cases at the same time, large ones one after the other on all threads.
class Judging {
 public:
  Judging(const ManifestOptions& options, const Returned& returned, RunFolder& folder)
      : options_(options),
        returned_(returned),
        folder_(folder),
        records_(returned.cases.size()),
        progress_(Progress::ParseMode(options.progress), returned.cases.size()) {}

  // In the order of the manifest; without those of which nothing came back.
  Result<RecordList> Run() {
    const auto total = static_cast<int64_t>(returned_.cases.size());
    ParallelFor(total, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) JudgeOne(i, false);
    });
    for (int64_t i = 0; i < total; ++i) JudgeOne(i, true);
    RecordList all;
    for (const std::optional<Record>& record : records_) {
      if (record) all.push_back(*record);
    }
    if (!failure_) return tl::unexpected(failure_.error());
    return all;
  }

 private:
  void JudgeOne(int64_t i, bool large) {
    const ReturnedTensors& one = returned_.cases[static_cast<size_t>(i)];
    if (IsLarge(one.planned.Bound()->problem) != large || Interrupted()) return;
    std::optional<Record> record;
    if (HasReturned(one)) record = JudgeReturned(one, options_.contract, options_.backend);
    const std::lock_guard lock(mutex_);
    ++done_;
    if (record) {
      record->plan_hash = returned_.plan.hash;
      failed_ += FailsRun(*record) ? 1 : 0;
      if (auto written = folder_.Append(*record); !written && failure_) failure_ = written;
    }
    progress_.Update(done_, failed_, one.planned.spec.Id());
    records_[static_cast<size_t>(i)] = std::move(record);
  }

  const ManifestOptions& options_;
  const Returned& returned_;
  RunFolder& folder_;
  std::vector<std::optional<Record>> records_;
  std::mutex mutex_;  // guards what follows, and the folder
  Progress progress_;
  size_t done_ = 0, failed_ = 0;
  Status failure_;
};

Json Environment(const ManifestOptions& options) {
  Json environment = DescribeEnvironment();
  environment[kInterruptedKey] = Interrupted();
  environment[kStrictKey] = options.strict;
  return environment;
}

int Report(const ManifestOptions& options, const Returned& returned, RunFolder& folder, RecordList records) {
  if (auto status = folder.Rewrite(records); !status) return Complain(kExitHarness, status.error().message);
  if (auto status = folder.WriteJson("environment.json", Environment(options)); !status) {
    return Complain(kExitHarness, status.error().message);
  }
  records.Append(MakeMissingRecords(returned.plan, {}, records));
  const auto written = WriteReports(folder.path(), records);
  const auto all = folder.path() / (written ? "report.html" : "results.jsonl");
  Print(ConsoleReport(records, {.colour = UseColour(options.color, STDOUT_FILENO),
                                .width = TextWidth(STDOUT_FILENO),
                                .all_file = all.string(),
                                .environment = ReadStream(folder.path() / "environment.json").value_or("")}));
  if (!written) return Complain(kExitHarness, written.error().message);
  Print(fmt::format("records: {}\nreport:  {}\n", (folder.path() / "results.jsonl").string(), all.string()));
  ExitFlags flags;
  flags.interrupted = Interrupted();
  flags.strict = options.strict;
  return ExitCodeOfRecords(records, flags);
}

// Whoever judges may ask for less, or more, than the suite did: plan and records say what was asked for.
void Require(const std::string& requirement, Returned& returned) {
  if (requirement.empty()) return;
  for (ReturnedTensors& one : returned.cases) one.planned.requirement = requirement;
  std::map<std::string, std::string> required;
  for (const ReturnedTensors& one : returned.cases) required[one.planned.spec.Id()] = RequirementOf(one.planned);
  for (PlanEntry& entry : returned.plan.entries) {
    if (const auto it = required.find(entry.id); it != required.end()) entry.requirement = it->second;
  }
  CompletePlan(returned.plan);
}

}  // namespace

int CheckManifest(const ManifestOptions& options) {
  auto returned = ReadManifest(options.manifest);
  if (!returned) return Complain(kExitUsage, returned.error().message);
  if (!options.contract.empty()) {
    if (auto contract = ParseDeclaration(options.contract); !contract) {
      return Complain(kExitUsage, "--contract: " + contract.error().message);
    }
  }
  if (!options.requirement.empty()) {
    if (auto required = ParseRequirement(options.requirement); !required) {
      return Complain(kExitUsage, "--require: " + required.error().message);
    }
  }
  Require(options.requirement, *returned);
  returned->plan.devices = {{options.backend, ""}};
  WatchForInterrupts();
  auto folder = RunFolder::Create(options.out);
  if (!folder) return Complain(kExitUsage, folder.error().message);
  if (auto status = folder->WriteText("plan.json", PlanJson(returned->plan)); !status) {
    return Complain(kExitHarness, status.error().message);
  }
  auto records = Judging(options, *returned, *folder).Run();
  if (!records) return Complain(kExitHarness, records.error().message);
  return Report(options, *returned, *folder, *std::move(records));
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_loop.h"

#include <fmt/format.h>

#include <future>

#include "harness/cli/catalog.h"
#include "harness/cli/failure_folder.h"
#include "harness/cli/record_fields.h"

namespace assay::cli {
namespace {

bool MayBeTimed(const Attempt& attempt) {
  return attempt.verdict == Verdict::kPass;
}

bool IsKnown(const Record& record) {
  return record.outcome == "known_failure" || record.outcome == "known_flake";
}

class Loop {
 public:
  Loop(const std::vector<PlannedCase>& cases, const std::vector<Column>& columns, const LoopSettings& settings,
       RunFolder& folder)
      : cases_(cases),
        columns_(columns),
        settings_(settings),
        folder_(folder),
        failures_(folder.path(), std::filesystem::proximate(ExecutablePath()).string()),
        progress_(settings.progress, cases.size()) {}

  Result<LoopResult> Run() {
    if (!cases_.empty()) Prefetch(0);
    for (size_t i = 0; i < cases_.size() && !settings_.runner.interrupted(); ++i) {
      progress_.Update(i, failed_, cases_[i].spec.Id());
      Result<CaseData> data = next_.get();
      if (i + 1 < cases_.size()) Prefetch(i + 1);
      Status status = data ? RunCase(cases_[i], *data) : CannotBind(cases_[i], data.error());
      if (!status) return tl::unexpected(status.error());
    }
    result_.interrupted = settings_.runner.interrupted();
    return std::move(result_);
  }

 private:
  void Prefetch(size_t index) {
    next_ = std::async(std::launch::async,
                       [this, index] { return PrepareCase(cases_[index].spec, settings_.tier, settings_.store); });
  }

  Status RunCase(const PlannedCase& planned, const CaseData& data) {
    if (!data.note.empty()) fmt::print(stderr, "assay: {}\n", data.note);
    CaseRunner runner(planned, data, settings_.runner);
    std::vector<std::pair<const Column*, Attempt>> attempts;
    for (const Column& column : columns_) {
      for (Attempt& attempt : runner.Judge(column)) attempts.emplace_back(&column, std::move(attempt));
    }
    if (settings_.runner.perf_time_s > 0) {
      if (next_.valid()) next_.wait();  // nothing else may run while timing
      for (auto& [column, attempt] : attempts) {
        if (MayBeTimed(attempt) && !settings_.runner.interrupted()) runner.Time(*column, attempt);
      }
    }
    std::vector<Attempt*> failing;
    for (auto& [column, attempt] : attempts) {
      ApplyExpectations(settings_.expectations, attempt.record);
      if (IsFailingResult(attempt.verdict) && !IsKnown(attempt.record)) failing.push_back(&attempt);
    }
    if (!failing.empty()) {
      if (auto status = failures_.Write(data, runner, failing); !status) {
        fmt::print(stderr, "assay: the failure's tensors are not kept: {}\n", status.error().message);
      }
    }
    for (auto& [column, attempt] : attempts) {
      if (auto status = Keep(std::move(attempt)); !status) return status;
    }
    return {};
  }

  // A case of the suite that its operator refuses: an error of the suite, shown with the case, not the end of a run.
  Status CannotBind(const PlannedCase& planned, const Error& error) {
    Attempt attempt;
    attempt.record = CaseRecord(planned, CaseData{}, Column{});
    attempt.record.backend = "assay";
    attempt.record.reproduce = ReproductionLine(settings_.runner, planned, Column{}, "");
    attempt.verdict = Verdict::kError;
    SetVerdict(attempt.record, Verdict::kError, ResultClass::kNone,
               planned.where.empty() ? error.message : planned.where + ": " + error.message);
    ApplyExpectations(settings_.expectations, attempt.record);
    return Keep(std::move(attempt));
  }

  Status Keep(Attempt attempt) {
    if (auto status = folder_.Append(attempt.record); !status) return status;
    const bool known = IsKnown(attempt.record);
    const bool unexpected = attempt.record.outcome == "unexpected_pass";
    if (known) attempt.verdict = Verdict::kPass;
    failed_ += unexpected || (attempt.verdict != Verdict::kPass && attempt.verdict != Verdict::kUntrusted &&
                              attempt.verdict != Verdict::kUnsupported && attempt.verdict != Verdict::kUnavailable);
    result_.unexpected_passes = result_.unexpected_passes || unexpected;
    result_.suspects = result_.suspects || attempt.record.result_class == Name(ResultClass::kSuspect);
    result_.verdicts.push_back(attempt.verdict);
    result_.records.push_back(std::move(attempt.record));
    return {};
  }

  const std::vector<PlannedCase>& cases_;
  const std::vector<Column>& columns_;
  const LoopSettings& settings_;
  RunFolder& folder_;
  FailureFolders failures_;
  Progress progress_;
  std::future<Result<CaseData>> next_;
  size_t failed_ = 0;
  LoopResult result_;
};

}  // namespace

Result<LoopResult> RunCases(const std::vector<PlannedCase>& cases, const std::vector<Column>& columns,
                            const LoopSettings& settings, RunFolder& folder) {
  return Loop(cases, columns, settings, folder).Run();
}

}  // namespace assay::cli

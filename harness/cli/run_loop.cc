// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <random>
#include <thread>

#include "harness/cli/exit_code.h"
#include "harness/cli/failure_folder.h"
#include "harness/cli/host_memory.h"
#include "harness/cli/output.h"
#include "harness/cli/record_fields.h"
#include "reports/summary.h"

namespace assay::cli {
namespace {

constexpr std::chrono::milliseconds kInterruptPoll{50};

// Attempts that passed, until they were timed.
using Untimed = std::deque<std::pair<const Column*, Attempt>>;

// A result with a time, for further rounds.
struct TimedResult {
  size_t case_index;
  const Column* column;
  size_t record;    // its place in LoopResult::records
  Attempt attempt;  // without its output
};

Attempt WithoutOutput(const Attempt& attempt) {
  Attempt light;
  light.record = attempt.record;
  light.verdict = attempt.verdict;
  light.implementation = attempt.implementation;
  light.contract = attempt.contract;
  light.rounds = attempt.rounds;
  return light;
}

bool MayBeTimed(const Attempt& attempt) {
  return attempt.verdict == Verdict::kPass;
}

class Loop {
 public:
  Loop(const std::vector<PlannedCase>& cases, const std::vector<Column>& columns, const LoopSettings& settings,
       RunFolder& folder)
      : cases_(cases),
        columns_(columns),
        settings_(settings),
        folder_(folder),
        failures_(folder.path(), ProgramWord()),
        progress_(settings.progress, cases.size() * static_cast<size_t>(settings.rounds)) {}

  ~Loop() {
    if (preparing_.joinable()) preparing_.detach();
  }

  LoopResult Run() {
    if (!cases_.empty()) Prefetch(0);
    for (size_t i = 0; i < cases_.size() && result_.write_error.empty(); ++i) {
      progress_.Update(i, failed_, cases_[i].spec.Id());
      if (!AwaitNext()) break;
      preparing_.join();
      Result<CaseData> data = next_.get();
      if (i + 1 < cases_.size()) Prefetch(i + 1);
      data ? RunCase(i, *data) : CannotRun(cases_[i], data.error().message);
    }
    if (settings_.rounds > 1 && !timed_.empty()) TimeFurtherRounds();
    result_.interrupted = settings_.runner.interrupted();
    result_.abandoned = preparing_.joinable();
    return std::move(result_);
  }

 private:
  // The thread owns what it works on, so that an interrupt can leave it behind instead of waiting for a golden value.
  void Prefetch(size_t index) {
    std::packaged_task<Result<CaseData>()> task(
        [spec = cases_[index].spec, tier = settings_.tier, store = settings_.store]() -> Result<CaseData> {
          try {
            return PrepareCase(spec, tier, store);
          } catch (const std::exception& e) {
            return Fail(ErrorCode::kInternal, DescribeException(e));
          }
        });
    next_ = task.get_future();
    preparing_ = std::thread(std::move(task));
  }

  // Whether the next case, if there is one, is ready; false when the user interrupts before.
  bool AwaitNext() const {
    while (!settings_.runner.interrupted()) {
      if (!next_.valid() || next_.wait_for(kInterruptPoll) == std::future_status::ready) return true;
    }
    return false;
  }

  void RunCase(size_t index, const CaseData& data) {
    const PlannedCase& planned = cases_[index];
    if (!data.note.empty()) Note(data.note);
    Untimed untimed;
    std::string broken;
    CaseRunner runner(planned, data, settings_.runner);
    try {
      JudgeAll(planned, runner, untimed);
      TimeAll(index, runner, untimed);
    } catch (const std::exception& e) {
      broken = DescribeException(e);
    }
    for (auto& [column, attempt] : untimed) Keep(std::move(attempt));
    KeepFailing(data, runner);
    if (!broken.empty()) CannotRun(planned, broken);
  }

  // Keeps what is final at once, so that a run that dies has lost no finished result.
  void JudgeAll(const PlannedCase& planned, CaseRunner& runner, Untimed& untimed) {
    for (const Column& column : columns_) {
      if (settings_.runner.interrupted()) return;
      const auto done = [&](Attempt attempt) {
        const bool timed = settings_.runner.perf_time_s > 0 && MayBeTimed(attempt);
        if (timed) {
          untimed.emplace_back(&column, std::move(attempt));
        } else {
          Keep(std::move(attempt));
        }
      };
      runner.Judge(column, done, [&](const std::vector<std::string>& names) {
        result_.offers.push_back({planned.spec.Id(), column.backend, column.device.name, names});
        NoteWriteError(folder_.Append(result_.offers.back()));
      });
    }
  }

  void TimeAll(size_t index, CaseRunner& runner, Untimed& untimed) {
    std::shuffle(untimed.begin(), untimed.end(), random_);
    // Nothing else may run while timing.
    while (!untimed.empty() && AwaitNext()) {
      auto& [column, attempt] = untimed.front();
      runner.Time(*column, attempt);
      // Keep appends a record that passes at once.
      if (settings_.rounds > 1 && attempt.verdict == Verdict::kPass) {
        timed_.push_back({index, column, result_.records.size(), WithoutOutput(attempt)});
      }
      Keep(std::move(attempt));
      untimed.pop_front();
    }
  }

  // The first round came with the judgement. Each of the others is a pass over all cases in random order, in fresh
  // workers, so that rounds see different memory layouts and moments.
  void TimeFurtherRounds() {
    std::map<size_t, std::vector<TimedResult*>> by_case;
    for (TimedResult& timed : timed_) by_case[timed.case_index].push_back(&timed);
    std::vector<size_t> order;
    for (const auto& [index, unused] : by_case) order.push_back(index);
    for (int round = 1; round < settings_.rounds; ++round) {
      for (const Column& column : columns_) {
        if (column.session) column.session->Restart();
      }
      std::shuffle(order.begin(), order.end(), random_);
      for (size_t i = 0; i < order.size() && !settings_.runner.interrupted(); ++i) {
        const size_t done = static_cast<size_t>(round) * cases_.size() + i;
        progress_.Update(done, failed_, fmt::format("round {} {}", round + 1, cases_[order[i]].spec.Id()));
        TimeCaseAgain(cases_[order[i]], by_case[order[i]]);
      }
    }
    NoteWriteError(folder_.Rewrite(result_.records));
  }

  void TimeCaseAgain(const PlannedCase& planned, std::vector<TimedResult*>& results) {
    const Result<CaseData> data = PrepareCase(planned.spec, settings_.tier, settings_.store);
    if (!data) return Note(data.error().message + "; further rounds are left out");
    CaseRunner runner(planned, *data, settings_.runner);
    std::shuffle(results.begin(), results.end(), random_);
    for (TimedResult* timed : results) {
      if (settings_.runner.interrupted()) return;
      if (timed->attempt.verdict != Verdict::kPass) continue;
      runner.Time(*timed->column, timed->attempt);
      if (timed->attempt.verdict != Verdict::kPass) FailLater(*data, runner, *timed);
      result_.records[timed->record] = timed->attempt.record;
      ApplyExpectations(settings_.expectations, timed->attempt.memory_fault, result_.records[timed->record]);
    }
  }

  // What passed in the rounds before.
  void FailLater(const CaseData& data, const CaseRunner& runner, TimedResult& timed) {
    ClearTiming(timed.attempt.record);
    ++failed_;
    if (!IsFailingResult(timed.attempt.verdict)) return;
    if (auto status = failures_.Write(data, runner, {&timed.attempt}); !status) {
      Note("the failure's tensors are not kept: " + status.error().message);
    }
  }

  // A case of the suite that its operator refuses or that is too large: shown with the case, not the end of a run.
  void CannotRun(const PlannedCase& planned, const std::string& why) {
    Attempt attempt;
    attempt.record = CaseRecord(planned, CaseData{}, Column{});
    attempt.record.backend = kHarnessBackend;
    attempt.record.reproduce = ReproductionLine(settings_.runner, planned, Column{}, "");
    attempt.verdict = Verdict::kError;
    SetVerdict(attempt.record, Verdict::kError, ResultClass::kNone,
               planned.where.empty() ? why : planned.where + ": " + why);
    ApplyExpectations(settings_.expectations, attempt.memory_fault, attempt.record);
    Append(std::move(attempt));
  }

  // Writes what is final; a failing result waits for the end of its case, which writes its folder.
  void Keep(Attempt attempt) {
    ApplyExpectations(settings_.expectations, attempt.memory_fault, attempt.record);
    if (IsFailingResult(attempt.verdict) && !IsKnown(attempt.record)) {
      failing_.push_back(std::move(attempt));
    } else {
      Append(std::move(attempt));
    }
  }

  void KeepFailing(const CaseData& data, const CaseRunner& runner) {
    std::vector<Attempt*> failing;
    for (Attempt& attempt : failing_) failing.push_back(&attempt);
    if (!failing.empty()) {
      if (auto status = failures_.Write(data, runner, failing); !status) {
        Note("the failure's tensors are not kept: " + status.error().message);
      }
    }
    for (Attempt& attempt : failing_) Append(std::move(attempt));
    failing_.clear();
  }

  void Append(Attempt attempt) {
    NoteWriteError(folder_.Append(attempt.record));
    failed_ += IsFailure(attempt.record);
    result_.records.push_back(std::move(attempt.record));
  }

  void NoteWriteError(const Status& status) {
    if (!status && result_.write_error.empty()) result_.write_error = status.error().message;
  }

  const std::vector<PlannedCase>& cases_;
  const std::vector<Column>& columns_;
  const LoopSettings& settings_;
  RunFolder& folder_;
  FailureFolders failures_;
  std::vector<Attempt> failing_;  // of the present case
  Progress progress_;
  std::future<Result<CaseData>> next_;
  std::thread preparing_;  // makes next_
  std::vector<TimedResult> timed_;
  std::mt19937_64 random_{std::random_device{}()};  // of orders alone
  size_t failed_ = 0;
  LoopResult result_;
};

}  // namespace

LoopResult RunCases(const std::vector<PlannedCase>& cases, const std::vector<Column>& columns,
                    const LoopSettings& settings, RunFolder& folder) {
  return Loop(cases, columns, settings, folder).Run();
}

}  // namespace assay::cli

// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "harness/core/base/entropy.h"
#include "harness/core/base/parallel.h"
#include "harness/core/base/profile.h"
#include "harness/engine/case_queue.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/cases/prefetch.h"
#include "harness/engine/device/device_queues.h"
#include "harness/engine/device/pool_health.h"
#include "harness/engine/extra_rounds.h"
#include "harness/engine/interleaving.h"
#include "harness/engine/repeated_passes.h"
#include "harness/engine/result_store.h"
#include "harness/engine/side_by_side.h"
#include "harness/engine/timing/timing_fields.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/engine/trial/retries.h"

namespace assay {
namespace {

// A result that passed, until it is timed, or one that is tried again.
struct Untimed {
  RecordPlace place;
  Attempt attempt;
};

// A case while its group is judged and timed.
struct InFlight {
  InFlight(size_t at, const PlannedCase& planned, const PreparedCase& prepared, const RunnerSettings& settings)
      : index(at), data(prepared), runner(planned, prepared, settings) {}

  const size_t index;  // in the plan
  const PreparedCase& data;
  TrialRunner runner;
  std::vector<Untimed> untimed;
  std::vector<Untimed> retried;
  std::string broken;  // why it could not be brought to its end
};

// Nothing is executed then, nor kept of a failure. A backend that is broken fails, and its failures have their inputs.
bool AreAllUnavailable(const std::vector<Device>& devices) {
  return std::ranges::all_of(devices, [](const Device& device) {
    return !device.problem.empty() && device.problem_kind == FailureKind::kUnavailable;
  });
}

class Loop {
 public:
  Loop(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
       const LoopSettings& settings, RunFolder& folder)
      : case_queue_(std::move(cases), source, devices, settings),
        source_(source),
        devices_(devices),
        settings_(settings),
        health_(devices, settings.set_aside_after),
        results_(folder, settings.expectations, *settings.observer, {settings.most_passes, source != nullptr}),
        queues_(devices, settings.devices_at_once),
        prefetch_(case_queue_.cases(), settings.tier, settings.store, !AreAllUnavailable(devices)),
        interleaving_(devices, settings),
        extra_rounds_(case_queue_.cases(), devices, settings, results_),
        passes_(case_queue_.cases(), devices, settings, results_, queues_, health_) {
    folder.SetWait({.say = [&settings](const std::string& text) { settings.observer->Noted(text); },
                    .gives_up = settings.runner.interrupted});
    for (size_t lane = 0; lane < queues_.lanes(); ++lane) {
      const Device& device = queues_.DeviceOf(lane);
      if (device.session) device.session->EndWhen(settings.runner.interrupted);
    }
    if (settings.resumed) results_.Restore(*settings.resumed, case_queue_.cases(), devices);
    failed_before_ = results_.failed();
  }

  LoopResult Run() {
    std::optional<CaseGroup> group = case_queue_.Next();
    if (group) prefetch_.Begin(*group);
    while (group && results_.write_error().empty() && !HasFailedEnough() &&
           prefetch_.Await(settings_.runner.interrupted)) {
      PreparedCases data = prefetch_.Take();
      std::optional<CaseGroup> next = case_queue_.Next();
      const bool beside = next && case_queue_.FitTogether(*group, *next);
      if (beside) prefetch_.Begin(*next);
      RunGroup(group->begin, std::move(data));
      if (!next) next = case_queue_.Next();  // what the judgement of the last ones led to
      if (next && !beside) prefetch_.Begin(*next);
      group = next;
    }
    LoopResult result;
    result.stopped = group.has_value() && HasFailedEnough();
    if (!result.stopped) {
      extra_rounds_.TimeAll(random_, [this](size_t done, const std::string& current) { TellProgress(done, current); });
      Repeat();
    }
    std::tie(result.records, result.offers) = results_.Finish();
    result.forgotten = results_.forgotten();
    result.lost = extra_rounds_.lost().empty() ? passes_.lost() : extra_rounds_.lost();
    if (result.lost.empty()) result.lost = CloseAll();
    result.write_error = results_.write_error();
    result.interrupted = settings_.runner.interrupted();
    result.abandoned = prefetch_.at_work();
    return result;
  }

 private:
  const PlannedCase& CaseAt(size_t index) const { return case_queue_.cases()[index]; }

  bool HasFailedEnough() const {
    return settings_.most_failures > 0 && results_.failed() - failed_before_ >= settings_.most_failures;
  }

  // How the first of the devices failed in it that are not closed without harm; "": none did.
  std::string CloseAll() {
    std::string first;
    for (size_t lane = 0; lane < queues_.lanes() && !settings_.runner.interrupted(); ++lane) {
      const Device& device = queues_.DeviceOf(lane);
      if (!device.session) continue;
      const Call<void> closed = device.session->Close();
      if (closed || closed.error().kind == FailureKind::kInterrupted) continue;
      const std::string text = fmt::format("{} failed when it was closed, after all cases: {}: {}", device.selector,
                                           Name(closed.error().kind), closed.error().message);
      settings_.observer->Noted(text);
      if (first.empty()) first = text;
    }
    return first;
  }

  void Repeat() {
    const auto ends = [this] { return HasFailedEnough() || !results_.write_error().empty(); };
    passes_.RunAll(random_, ends, [this](int64_t pass, size_t done, const std::string& current) {
      TellProgress(done, fmt::format("pass {} {}", pass, current));
    });
    if (const std::string text = passes_.SummaryText(); !text.empty()) settings_.observer->Noted(text);
  }

  // Consumes the prepared cases.
  void RunGroup(size_t first, PreparedCases prepared) {
    std::deque<InFlight> group;
    for (size_t i = 0; i < prepared.size(); ++i) {
      if (!prepared[i]) {
        AddUnrunCase(first + i, prepared[i].error().message);
        continue;
      }
      group.emplace_back(first + i, CaseAt(first + i), *prepared[i], settings_.runner);
      NoteStore(*prepared[i]);
    }
    JudgeAndTime(group);
    if (source_ == nullptr && (settings_.rounds > 1 || settings_.repetition.passes > 1)) return;
    std::vector<std::string> ids;
    for (size_t i = 0; i < prepared.size(); ++i) {
      if (source_ != nullptr) ids.push_back(CaseAt(first + i).spec.Id());
      case_queue_.Forget(first + i);
    }
    if (source_ != nullptr && !settings_.runner.interrupted()) source_->Judged(ids, results_.TakeNewRecords(), health_);
  }

  void JudgeAndTime(std::deque<InFlight>& group) {
    if (group.empty()) return;
    JudgeAll(group);
    for (InFlight& work : group) {
      const SpanContext context(work.data.problem.spec.Id(), "", "");
      if (work.broken.empty()) Retry(work);
      for (auto& [place, attempt] : work.retried) {
        if (!attempt.interrupted) {
          results_.Add(place, std::move(attempt));  // else it is missing: it has not all its tries
        }
      }
      if (work.broken.empty()) TimeAll(work);
      for (auto& [place, attempt] : work.untimed) results_.Add(place, std::move(attempt));
      results_.EndCase(work.index, work.data, work.runner);
      if (!work.broken.empty()) AddUnrunCase(work.index, work.broken);
    }
  }

  void TellProgress(size_t done, const std::string& current) {
    const size_t rounds = static_cast<size_t>(settings_.rounds);
    const size_t total = source_ != nullptr ? source_->total() : case_queue_.cases().size() * rounds;
    const std::string status = source_ != nullptr ? source_->StatusText() + "  " : "";
    settings_.observer->Progressed(done, total, results_.failed(), status + current);
  }

  void NoteStore(const PreparedCase& data) {
    if (!data.note.empty()) settings_.observer->Noted(data.note);
    // A full disk refuses all of them.
    if (data.unsaved.empty() || std::exchange(said_unsaved_, true)) return;
    settings_.observer->Noted(data.unsaved + ", or use --no-store");
  }

  bool IsTimed(const InFlight& work) const { return settings_.runner.perf_time_s > 0 && CaseAt(work.index).timed; }

  // All devices at once, as far as there are threads and memory, and of cases that are not timed several on one device
  // that has the workers. Keeps what is final at once.
  void JudgeAll(std::deque<InFlight>& group) {
    const bool beside = std::ranges::none_of(group, [&](const InFlight& work) { return IsTimed(work); });
    size_t at_once = beside ? queues_.lanes() : devices_.size();
    for (const InFlight& work : group) {
      at_once = std::min(at_once, CountParallelDevices(work.data.problem, settings_.tier, at_once));
    }
    std::mutex mutex;  // guards what is not of one device alone
    std::vector<size_t> left(group.size(), queues_.queues());
    const auto judge = [&](size_t item, size_t lane) {
      if (settings_.runner.interrupted()) return;
      InFlight& work = group[item];
      {
        const std::lock_guard lock(mutex);
        const auto ended = static_cast<size_t>(std::ranges::count(left, size_t{0}));
        TellProgress(group[0].index + ended, CaseAt(work.index).spec.Id());
      }
      try {
        JudgeOnDevice(work, lane, mutex);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        work.broken = DescribeException(e);
      }
      const std::lock_guard lock(mutex);
      --left[item];
    };
    const auto takes = [&](size_t item, size_t lane) {
      return health_.AcceptsCases(queues_.IndexOf(lane), group[item].data.problem.spec.op);
    };
    queues_.ForEach(at_once, group.size(), judge, beside, takes);
    worked_beside_ = worked_beside_ || beside;
  }

  // Threads of workers that are not timed may still wait for work by spinning. Some never cease to.
  void AwaitIdleWorkers() {
    constexpr double kMost = 0.2;
    for (size_t lane = devices_.size(); worked_beside_ && lane < queues_.lanes(); ++lane) {
      const std::shared_ptr<Session>& session = queues_.DeviceOf(lane).session;
      if (!session->AwaitIdle(kMost)) session->Restart();  // they would spin beside all that is timed
    }
    worked_beside_ = false;
  }

  // `mutex` guards the case's list of what is to be timed.
  void JudgeOnDevice(InFlight& work, size_t lane, std::mutex& mutex) {
    const Device& device = queues_.DeviceOf(lane);
    const size_t index = queues_.IndexOf(lane);
    if (case_queue_.IsDone(work.index, device)) return;
    const Problem& problem = work.data.problem;
    const ResumedRun::Begun* begun = case_queue_.FindBegun(work.index, device);
    size_t next = begun != nullptr ? begun->offered.size() : 0;  // place of what was not offered before
    const std::string& op = problem.spec.op;
    const uint64_t seen = settings_.retries.reset ? settings_.retries.reset->Resets(device) : 0;
    const auto done = [&](Attempt attempt) {
      if (attempt.interrupted) return;  // it is missing
      ResetDevice(settings_.retries, device, attempt, seen);
      const std::string end = DescribeEnd(attempt);
      const bool is_refusal = attempt.implementation.empty() && end.empty();  // says nothing of how the device is
      if (!is_refusal) health_.Note(index, op, end);
      const bool known = begun != nullptr && begun->Has(attempt.implementation);
      const RecordPlace place{work.index, index, known ? begun->PlaceOf(attempt.implementation) : next++};
      std::unique_lock lock(mutex);
      if (IsRetried(device, attempt, settings_.retries)) {
        work.retried.push_back({place, std::move(attempt)});
      } else if (IsTimed(work) && attempt.holds_as_declared) {
        if (IsLarge(problem)) attempt.outputs.clear();  // their hash tells equal bits too
        work.untimed.push_back({place, std::move(attempt)});
      } else {
        lock.unlock();
        results_.Add(place, std::move(attempt));
      }
      if (IsLarge(problem)) ReturnFreedMemory();
    };
    try {
      const std::string why_not = health_.ExplainAbsence(index, op);
      const std::optional<Device> aside = why_not.empty() ? std::nullopt : std::optional(SetAside(device, why_not));
      const auto offered = [&](const std::vector<std::string>& names) {
        results_.Add(Offer{CaseAt(work.index).spec.Id(), device.backend, device.PlannedName(), names});
      };
      work.runner.Judge(aside ? *aside : device, done, offered,
                        begun != nullptr ? begun->judged : std::set<std::string>());
    } catch (const std::exception& e) {
      results_.Add({work.index, index, next}, work.runner.Faulted(device, e));
    }
  }

  // Alone, as timing is.
  void Retry(InFlight& work) {
    const std::string& op = work.data.problem.spec.op;
    try {
      for (auto& [place, attempt] : work.retried) {
        attempt.interrupted = !prefetch_.Await(settings_.runner.interrupted);
        if (attempt.interrupted) continue;
        const std::optional<size_t> on = health_.FindFor(place.device, op);
        if (!on) continue;
        TryAgain(work.runner, devices_[*on], attempt, settings_.retries, false);
        if (attempt.verdict == Verdict::kFlaky) health_.Note(*on, op, "");
      }
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  void TimeAll(InFlight& work) {
    try {
      TimeInRandomOrder(work);
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  void TimeInRandomOrder(InFlight& work) {
    std::vector<Untimed>& untimed = work.untimed;
    const auto name = [this](const Untimed& u) { return interleaving_.TurnOf(u.attempt); };
    ShuffleSideBySide(untimed, name, random_);
    if (!untimed.empty()) AwaitIdleWorkers();
    // Nothing else may run while timing.
    while (!untimed.empty() && prefetch_.Await(settings_.runner.interrupted)) {
      std::vector<TrialRunner::Timed> group;
      const size_t begin =
          interleaving_.CanHoldAll(work.data.problem) ? FindLastGroup(untimed, name) : untimed.size() - 1;
      for (size_t i = begin; i < untimed.size(); ++i) {
        group.push_back({.device = &devices_[untimed[i].place.device], .attempt = &untimed[i].attempt});
      }
      Interleaving::Time(work.runner, group);
      for (size_t i = 0; i < group.size(); ++i) {
        auto& [place, attempt] = untimed.back();
        if (attempt.interrupted) ClearTiming(attempt.record);  // that it passed stands
        interleaving_.Retry(work.runner, devices_[place.device], attempt);
        extra_rounds_.Add(place, attempt);
        results_.Add(place, std::move(attempt));
        untimed.pop_back();
      }
    }
  }

  // A case of the suite that its operator refuses or that is too large: shown with the case, not the end of a run.
  void AddUnrunCase(size_t index, const std::string& why) {
    const PlannedCase& planned = CaseAt(index);
    Attempt attempt;
    attempt.record = MakeCaseRecord(planned, PreparedCase{}, Device{});
    attempt.record.backend = kHarnessBackend;
    attempt.record.reproduce = ReproductionLine(settings_.runner, planned, Device{}, "");
    attempt.SetVerdict(Verdict::kError, ResultClass::kNone, planned.where.empty() ? why : planned.where + ": " + why);
    results_.Add({index, devices_.size()}, std::move(attempt));
  }

  CaseQueue case_queue_;
  CaseSource* source_;  // null: there is none
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
  PoolHealth health_;
  ResultStore results_;
  DeviceQueues queues_;
  Prefetch prefetch_;
  size_t failed_before_ = 0;  // results of a run that is continued
  bool said_unsaved_ = false;
  bool worked_beside_ = false;  // further workers, since they were last waited for
  Interleaving interleaving_;
  ExtraRounds extra_rounds_;
  RepeatedPasses passes_;
  std::mt19937_64 random_{DrawEntropy()};  // of orders alone
};

}  // namespace

LoopResult RunCases(std::vector<PlannedCase> cases, const std::vector<Device>& devices, const LoopSettings& settings,
                    RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop(std::move(cases), nullptr, devices, settings, folder).Run();
}

LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const LoopSettings& settings,
                    RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop({}, &source, devices, settings, folder).Run();
}

}  // namespace assay

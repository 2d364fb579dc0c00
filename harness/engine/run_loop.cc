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
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/cases/prefetch.h"
#include "harness/engine/device/device_queues.h"
#include "harness/engine/device/health.h"
#include "harness/engine/interleaving.h"
#include "harness/engine/later_passes.h"
#include "harness/engine/timing/timing_fields.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/reproduction.h"

namespace assay {
namespace {

// A case while its group is judged and timed.
struct InFlight {
  InFlight(size_t at, const PlannedCase& planned, const PreparedCase& prepared, const RunnerSettings& settings)
      : index(at), data(prepared), runner(planned, prepared, settings) {}

  const size_t index;  // in the plan
  const PreparedCase& data;
  TrialRunner runner;
  std::vector<PlacedAttempt> untimed;  // what passed, until it is timed
  std::vector<PlacedAttempt> retried;
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
  Loop(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices, const RunPolicy& policy,
       RunFolder& folder)
      : schedule_(std::move(cases), source, devices, policy, random_),
        devices_(devices),
        policy_(policy),
        health_(devices, policy.set_aside_after),
        results_(folder, policy.expectations, *policy.observer, {policy.most_passes, source != nullptr}),
        queues_(devices, policy.devices_at_once),
        prefetch_(policy.tier, policy.store, !AreAllUnavailable(devices)),
        interleaving_(devices, policy, random_, [this] { return prefetch_.Await(policy_.runner.interrupted); }),
        later_(schedule_, devices, policy, results_, queues_, health_, interleaving_) {
    folder.SetWait({.say = [&policy](const std::string& text) { policy.observer->Noted(text); },
                    .gives_up = policy.runner.interrupted});
    for (size_t lane = 0; lane < queues_.lanes(); ++lane) {
      const Device& device = queues_.DeviceOf(lane);
      if (device.session) device.session->EndWhen(policy.runner.interrupted);
    }
    if (policy.resumed) results_.Restore(*policy.resumed, schedule_.cases(), devices);
    failed_before_ = results_.failed();
  }

  LoopResult Run() {
    std::optional<Step> step = schedule_.Next(results_);
    if (step) Prepare(*step);
    while (step && !IsOver(*step) && prefetch_.Await(policy_.runner.interrupted)) {
      PreparedCases data = prefetch_.Take();
      std::optional<Step> next = schedule_.NextAhead();
      const bool beside = next && schedule_.FitTogether(*step, *next);
      if (beside) Prepare(*next);
      step->IsFirst() ? RunFirst(*step, std::move(data)) : later_.Run(*step, data[0]);
      if (!next) {
        results_.Flush();
        next = schedule_.Next(results_);
      }
      if (next && !beside && !IsOver(*next)) Prepare(*next);
      step = std::move(next);
    }
    LoopResult result;
    result.stopped = step && step->IsFirst() && HasFailedEnough();
    results_.Flush();
    if (const std::string text = later_.SummaryText(); !text.empty()) policy_.observer->Noted(text);
    std::tie(result.records, result.offers) = results_.Finish();
    result.forgotten = results_.forgotten();
    result.lost = later_.lost().empty() ? CloseAll() : later_.lost();
    result.write_error = results_.write_error();
    result.interrupted = policy_.runner.interrupted();
    result.abandoned = prefetch_.at_work();
    return result;
  }

 private:
  const PlannedCase& CaseAt(size_t index) const { return schedule_.cases()[index]; }

  void Prepare(const Step& step) {
    std::vector<PrefetchRequest> cases;
    for (size_t i = step.begin; i < step.end; ++i) cases.push_back({CaseAt(i).Bound(), LimitsOf(policy_, CaseAt(i))});
    prefetch_.Begin(std::move(cases));
  }

  bool HasFailedEnough() const {
    return policy_.most_failures > 0 && results_.failed() - failed_before_ >= policy_.most_failures;
  }

  // A round of timing that has begun is for all: it ends where records cannot be written, or by an interrupt.
  bool IsOver(const Step& step) const {
    const double most_s = policy_.repetition.seconds;
    if (step.pass > 1 && most_s > 0 && since_start_.Seconds() >= most_s) return true;
    return !results_.write_error().empty() || (step.round == 1 && HasFailedEnough());
  }

  // How the first of the devices failed in it that are not closed without harm; "": none did.
  std::string CloseAll() {
    std::string first;
    for (size_t lane = 0; lane < queues_.lanes() && !policy_.runner.interrupted(); ++lane) {
      const Device& device = queues_.DeviceOf(lane);
      if (!device.session) continue;
      const Call<void> closed = device.session->Close();
      if (closed || closed.error().kind == FailureKind::kInterrupted) continue;
      const std::string text = fmt::format("{} failed when it was closed, after all cases: {}: {}", device.selector,
                                           Name(closed.error().kind), closed.error().message);
      policy_.observer->Noted(text);
      if (first.empty()) first = text;
    }
    return first;
  }

  // Consumes the prepared cases.
  void RunFirst(const Step& step, PreparedCases prepared) {
    std::deque<InFlight> works;
    for (size_t i = step.begin; i < step.end; ++i) {
      const auto& data = prepared[i - step.begin];
      if (!data) {
        AddUnrunCase(i, data.error());
        continue;
      }
      works.emplace_back(i, CaseAt(i), *data, policy_.runner);
      NoteStore(*data);
    }
    if (!works.empty()) JudgeAndTime(step, works);
    schedule_.End(step, results_, health_);
  }

  void JudgeAndTime(const Step& step, std::deque<InFlight>& works) {
    JudgeAll(step, works);
    for (InFlight& work : works) {
      const SpanContext context(work.data.executed().spec.Id(), "", "");
      if (work.broken.empty()) Retry(work);
      for (auto& [place, attempt] : work.retried) {
        if (!attempt.interrupted) {
          results_.Add(place, std::move(attempt));  // else it is missing: it has not all its tries
        }
      }
      if (work.broken.empty()) TimeAll(step, work);
      for (auto& [place, attempt] : work.untimed) results_.Add(place, std::move(attempt));
      results_.EndCase(work.index, work.data, work.runner);
      if (!work.broken.empty()) AddUnrunCase(work.index, {ErrorCode::kInternal, work.broken});
    }
  }

  void NoteStore(const PreparedCase& data) {
    if (!data.note.empty()) policy_.observer->Noted(data.note);
    // A full disk refuses all of them.
    if (data.unsaved.empty() || std::exchange(said_unsaved_, true)) return;
    policy_.observer->Noted(data.unsaved + ", or use --no-store");
  }

  bool IsTimed(const InFlight& work) const {
    const bool is_large_sample = work.data.whole && work.data.executed().bytes > kMostTimedSampleBytes;
    return policy_.runner.perf_time_s > 0 && CaseAt(work.index).timed && !is_large_sample;
  }

  // All devices at once, as far as there are threads and memory, and of cases that are not timed several on one device
  // that has the workers. Keeps what is final at once.
  void JudgeAll(const Step& step, std::deque<InFlight>& works) {
    const bool beside = std::ranges::none_of(works, [&](const InFlight& work) { return IsTimed(work); });
    size_t at_once = beside ? queues_.lanes() : devices_.size();
    for (const InFlight& work : works) {
      at_once = std::min(at_once, CountParallelDevices(work.data.executed(), policy_.tier, at_once));
    }
    std::mutex mutex;  // guards what is not of one device alone
    std::vector<size_t> left(works.size(), queues_.queues());
    const auto judge = [&](size_t item, size_t lane) {
      if (policy_.runner.interrupted()) return;
      InFlight& work = works[item];
      {
        const std::lock_guard lock(mutex);
        const auto ended = static_cast<size_t>(std::ranges::count(left, size_t{0}));
        const size_t unrun = works[0].index - step.begin;
        schedule_.TellProgress(step, unrun + ended, results_.failed(), CaseAt(work.index));
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
      return health_.AcceptsCases(queues_.IndexOf(lane), works[item].data.executed().spec.op);
    };
    queues_.ForEach(at_once, works.size(), judge, beside, takes);
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
    if (schedule_.IsDone(work.index, device)) return;
    const Problem& problem = work.data.executed();
    const ResumedRun::Begun* begun = schedule_.FindBegun(work.index, device);
    size_t next = begun != nullptr ? begun->offered.size() : 0;  // place of what was not offered before
    const std::string& op = problem.spec.op;
    const uint64_t seen = policy_.retries.reset ? policy_.retries.reset->Resets(device) : 0;
    const auto done = [&](Attempt attempt) {
      if (attempt.interrupted) return;  // it is missing
      ResetDevice(policy_.retries, device, attempt, seen);
      const std::string end = DescribeEnd(attempt);
      const bool is_refusal = attempt.implementation.empty() && end.empty();  // says nothing of how the device is
      if (!is_refusal) health_.Note(index, op, end);
      const bool known = begun != nullptr && begun->Has(attempt.implementation);
      const RecordPlace place{work.index, index, known ? begun->PlaceOf(attempt.implementation) : next++};
      std::unique_lock lock(mutex);
      if (IsRetried(device, attempt, policy_.retries)) {
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
    const std::string& op = work.data.executed().spec.op;
    try {
      for (auto& [place, attempt] : work.retried) {
        attempt.interrupted = !prefetch_.Await(policy_.runner.interrupted);
        if (attempt.interrupted) continue;
        const std::optional<size_t> on = health_.FindFor(place.device, op);
        if (!on) continue;
        TryAgain(work.runner, devices_[*on], attempt, policy_.retries, false);
        if (attempt.verdict == Verdict::kFlaky) health_.Note(*on, op, "");
      }
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  void TimeAll(const Step& step, InFlight& work) {
    const auto done = [&](PlacedAttempt& result) {
      auto& [place, attempt] = result;
      if (attempt.interrupted) ClearTiming(attempt.record);  // that it passed stands
      later_.NoteTimed(step, place, attempt);
      results_.Add(place, std::move(attempt));
    };
    try {
      if (!work.untimed.empty()) AwaitIdleWorkers();
      interleaving_.TimeAll(work.runner, work.untimed, done);
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  // A case of the suite that its operator refuses or that is too large: shown with the case, not the end of a run.
  void AddUnrunCase(size_t index, const Error& error) {
    const PlannedCase& planned = CaseAt(index);
    Attempt attempt;
    attempt.record = MakeCaseRecord(planned, PreparedCase{}, Device{});
    attempt.record.backend = kHarnessBackend;
    attempt.record.reproduce = ReproductionLine(policy_.runner, planned, Device{}, "");
    const bool is_left_out = error.code == ErrorCode::kUnsupported;
    attempt.SetVerdict(is_left_out ? Verdict::kUnsupported : Verdict::kError, ResultClass::kNone,
                       planned.where.empty() ? error.message : planned.where + ": " + error.message);
    results_.Add({index, devices_.size()}, std::move(attempt));
  }

  std::mt19937_64 random_{DrawEntropy()};  // of orders alone
  Schedule schedule_;
  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
  PoolHealth health_;
  ResultStore results_;
  DeviceQueues queues_;
  Prefetch prefetch_;
  size_t failed_before_ = 0;  // results of a run that is continued
  bool said_unsaved_ = false;
  bool worked_beside_ = false;  // further workers, since they were last waited for
  const Stopwatch since_start_;
  Interleaving interleaving_;
  LaterPasses later_;
};

}  // namespace

LoopResult RunCases(std::vector<PlannedCase> cases, const std::vector<Device>& devices, const RunPolicy& policy,
                    RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop(std::move(cases), nullptr, devices, policy, folder).Run();
}

LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const RunPolicy& policy,
                    RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop({}, &source, devices, policy, folder).Run();
}

}  // namespace assay

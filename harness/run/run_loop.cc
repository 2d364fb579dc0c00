// SPDX-License-Identifier: Apache-2.0
#include "harness/run/run_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <tuple>

#include "harness/base/entropy.h"
#include "harness/base/parallel.h"
#include "harness/base/profile.h"
#include "harness/cases/case_groups.h"
#include "harness/cases/cases_ahead.h"
#include "harness/cases/host_memory.h"
#include "harness/run/device/device_queues.h"
#include "harness/run/device/health.h"
#include "harness/run/kept_records.h"
#include "harness/run/side_by_side.h"
#include "harness/run/timing/timing_fields.h"
#include "harness/run/trial/record_fields.h"
#include "harness/run/trial/reproduction.h"
#include "harness/run/trial/second_try.h"

namespace assay {
namespace {

// A result that passed, until it is timed, or one that ended with its worker.
struct Untimed {
  RecordPlace place;
  Attempt attempt;
};

// A case while its group is judged and timed.
struct CaseAtWork {
  CaseAtWork(size_t at, const PlannedCase& planned, const CaseData& prepared, const RunnerSettings& settings)
      : index(at), data(prepared), runner(planned, prepared, settings) {}

  const size_t index;  // in the plan
  const CaseData& data;
  CaseRunner runner;
  std::vector<Untimed> untimed;
  std::vector<Untimed> ended;  // with their worker: for a second try
  std::string broken;          // why it could not be brought to its end
};

// A result with a time, for further rounds.
struct TimedResult {
  RecordPlace place;
  Attempt attempt;  // without its output
};

Attempt WithoutOutput(const Attempt& attempt) {
  Attempt light;
  light.record = attempt.record;
  light.verdict = attempt.verdict;
  light.result_class = attempt.result_class;
  light.reason = attempt.reason;
  light.implementation = attempt.implementation;
  light.contract_text = attempt.contract_text;
  light.contract = attempt.contract;
  light.output_hash = attempt.output_hash;
  light.second_set = attempt.second_set;
  light.rounds = attempt.rounds;
  light.fastest_s = attempt.fastest_s;
  light.second_hash = attempt.second_hash;
  return light;
}

bool MayBeTimed(const Attempt& attempt) {
  return attempt.verdict == Verdict::kPass;
}

class Loop {
 public:
  Loop(std::vector<PlannedCase> cases, CaseSource* source, const std::vector<Device>& devices,
       const LoopSettings& settings, RunFolder& folder)
      : cases_(std::move(cases)),
        source_(source),
        devices_(devices),
        settings_(settings),
        health_(devices.size(), DeviceHealth(settings.set_aside_after)),
        kept_(folder, settings.expectations, *settings.observer, {settings.most_passes, source != nullptr}),
        queues_(devices, settings.devices_at_once),
        ahead_(cases_, settings.tier, settings.store) {
    folder.SetWait({.say = [&settings](const std::string& text) { settings.observer->Noted(text); },
                    .gives_up = settings.runner.interrupted});
    for (size_t lane = 0; lane < queues_.lanes(); ++lane) {
      const Device& device = queues_.DeviceOf(lane);
      if (device.session) device.session->EndWhen(settings.runner.interrupted);
    }
    if (settings.resumed) Restore(*settings.resumed);
    failed_before_ = kept_.failed();
    AddGroups(0);
  }

  LoopResult Run() {
    std::optional<CaseGroup> group = BeginNext();
    while (group && kept_.write_error().empty() && !HasFailedEnough() && ahead_.Await(settings_.runner.interrupted)) {
      const PreparedCases data = ahead_.Take();
      std::optional<CaseGroup> next = BeginNext();
      RunGroup(group->begin, data);
      if (!next) next = BeginNext();  // what the judgement of the last ones led to
      group = next;
    }
    LoopResult result;
    result.stopped = group.has_value() && HasFailedEnough();
    if (settings_.rounds > 1 && !timed_.empty() && !result.stopped) TimeFurtherRounds();
    std::tie(result.records, result.offers) = kept_.Finish();
    result.forgotten = kept_.forgotten();
    result.lost = lost_;
    result.write_error = kept_.write_error();
    result.interrupted = settings_.runner.interrupted();
    result.abandoned = ahead_.at_work();
    return result;
  }

 private:
  bool HasFailedEnough() const {
    return settings_.most_failures > 0 && kept_.failed() - failed_before_ >= settings_.most_failures;
  }

  // In the places that they would have, had they been run now.
  void Restore(const ResumedRun& resumed) {
    std::map<std::string, size_t> case_index;
    for (size_t i = 0; i < cases_.size(); ++i) case_index.emplace(cases_[i].spec.Id(), i);
    std::map<std::pair<std::string, std::string>, size_t> device_index;
    for (size_t i = 0; i < devices_.size(); ++i) device_index[{devices_[i].backend, devices_[i].device.name}] = i;
    std::map<std::pair<size_t, size_t>, size_t> implementations;
    for (const Record& record : resumed.records) {
      const auto at = case_index.find(record.case_id);
      const auto on = device_index.find({record.backend, record.device});
      if (at == case_index.end() || on == device_index.end()) continue;  // the plan has them: see ReadResumedRun
      const RecordPlace place{at->second, on->second, implementations[{at->second, on->second}]++};
      kept_.Restore(place, record);
    }
    for (const Offer& offer : resumed.offers) kept_.Restore(offer);
  }

  bool IsDone(size_t index, const Device& device) const {
    return settings_.resumed && settings_.resumed->Has(cases_[index].spec.Id(), device.backend, device.device.name);
  }

  bool IsDone(size_t index) const {
    return settings_.resumed &&
           std::ranges::all_of(devices_, [&](const Device& device) { return IsDone(index, device); });
  }

  void AddGroups(size_t first) {
    for (size_t begin = first; begin < cases_.size();) {
      size_t end = begin;
      while (end < cases_.size() && !IsDone(end)) ++end;
      const std::span<const PlannedCase> pending = std::span(cases_).subspan(begin, end - begin);
      for (const CaseGroup& group : pending.empty() ? std::vector<CaseGroup>() : GroupCases(pending)) {
        groups_.push_back({begin + group.begin, begin + group.end});
      }
      begin = end + 1;
    }
  }

  // The next group, whose data are then being prepared. Nothing may refer to a case meanwhile: there may be new ones.
  std::optional<CaseGroup> BeginNext() {
    if (groups_.empty() && source_ != nullptr) {
      const size_t first = cases_.size();
      std::ranges::move(source_->Next(), std::back_inserter(cases_));
      AddGroups(first);
    }
    if (groups_.empty()) return std::nullopt;
    const CaseGroup group = groups_.front();
    groups_.pop_front();
    ahead_.Begin(group);
    return group;
  }

  void RunGroup(size_t first, const PreparedCases& prepared) {
    std::deque<CaseAtWork> group;
    for (size_t i = 0; i < prepared.size(); ++i) {
      if (!prepared[i]) {
        CannotRun(first + i, prepared[i].error().message);
        continue;
      }
      group.emplace_back(first + i, cases_[first + i], *prepared[i], settings_.runner);
      NoteStore(*prepared[i]);
    }
    JudgeAndTime(group);
    if (source_ == nullptr) return;
    std::vector<std::string> ids;
    for (size_t i = 0; i < prepared.size(); ++i) {
      ids.push_back(cases_[first + i].spec.Id());
      cases_[first + i] = PlannedCase();  // such a run may last for days
    }
    if (!settings_.runner.interrupted()) source_->Judged(ids, kept_.TakeJudged());
  }

  void JudgeAndTime(std::deque<CaseAtWork>& group) {
    if (group.empty()) return;
    JudgeAll(group);
    for (CaseAtWork& work : group) {
      const SpanContext context(work.data.problem.spec.Id(), "", "");
      if (work.broken.empty()) TryAgain(work);
      for (auto& [place, attempt] : work.ended) kept_.Add(place, std::move(attempt));
      if (work.broken.empty()) TimeAll(work);
      for (auto& [place, attempt] : work.untimed) kept_.Add(place, std::move(attempt));
      kept_.EndCase(work.index, work.data, work.runner);
      if (!work.broken.empty()) CannotRun(work.index, work.broken);
    }
  }

  void TellProgress(size_t done, const std::string& current) {
    const size_t total = source_ != nullptr ? source_->total() : cases_.size() * static_cast<size_t>(settings_.rounds);
    const std::string status = source_ != nullptr ? source_->StatusText() + "  " : "";
    settings_.observer->Progressed(done, total, kept_.failed(), status + current);
  }

  void NoteStore(const CaseData& data) {
    if (!data.note.empty()) settings_.observer->Noted(data.note);
    // A full disk refuses all of them.
    if (data.unsaved.empty() || std::exchange(said_unsaved_, true)) return;
    settings_.observer->Noted(data.unsaved + ", or use --no-store");
  }

  bool IsTimed(const CaseAtWork& work) const { return settings_.runner.perf_time_s > 0 && cases_[work.index].timed; }

  // All devices at once, as far as there are threads and memory, and of cases that are not timed several on one device
  // that has the workers. Keeps what is final at once.
  void JudgeAll(std::deque<CaseAtWork>& group) {
    const bool beside = std::ranges::none_of(group, [&](const CaseAtWork& work) { return IsTimed(work); });
    size_t at_once = beside ? queues_.lanes() : devices_.size();
    for (const CaseAtWork& work : group) at_once = std::min(at_once, DevicesAtOnce(work.data.problem, at_once));
    std::mutex mutex;  // guards what is not of one device alone
    std::vector<size_t> left(group.size(), devices_.size());
    const auto judge = [&](size_t item, size_t lane) {
      if (settings_.runner.interrupted()) return;
      CaseAtWork& work = group[item];
      {
        const std::lock_guard lock(mutex);
        const auto ended = static_cast<size_t>(std::ranges::count(left, size_t{0}));
        TellProgress(group[0].index + ended, cases_[work.index].spec.Id());
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
    queues_.ForEach(at_once, group.size(), judge, beside);
    worked_beside_ = worked_beside_ || beside;
  }

  // Threads of workers that are not timed may still wait for work by spinning.
  void AwaitThoseBeside() {
    constexpr double kMost = 0.2;
    for (size_t lane = devices_.size(); worked_beside_ && lane < queues_.lanes(); ++lane) {
      queues_.DeviceOf(lane).session->AwaitIdle(kMost);
    }
    worked_beside_ = false;
  }

  // `mutex` guards the case's list of what is to be timed, and the health of devices.
  void JudgeOnDevice(CaseAtWork& work, size_t lane, std::mutex& mutex) {
    const Device& device = queues_.DeviceOf(lane);
    const size_t index = queues_.IndexOf(lane);
    if (IsDone(work.index, device)) return;
    const Problem& problem = work.data.problem;
    RecordPlace place{work.index, index};
    DeviceHealth& health = health_[index];
    const std::string& op = problem.spec.op;
    const auto done = [&](Attempt attempt) {
      if (attempt.interrupted) return;  // it is missing
      std::unique_lock lock(mutex);
      health.Note(op, HowItEnded(attempt));
      if (EndedWithItsWorker(device, attempt)) {
        work.ended.push_back({place, std::move(attempt)});
      } else if (IsTimed(work) && MayBeTimed(attempt)) {
        if (IsLarge(problem)) attempt.outputs.clear();  // their hash tells equal bits too
        work.untimed.push_back({place, std::move(attempt)});
      } else {
        lock.unlock();
        kept_.Add(place, std::move(attempt));
      }
      ++place.implementation;
      if (IsLarge(problem)) ReturnFreedMemory();
    };
    try {
      const std::string why_not = [&] {
        const std::lock_guard lock(mutex);
        return health.WhySetAside(op);
      }();
      const std::optional<Device> aside = why_not.empty() ? std::nullopt : std::optional(SetAside(device, why_not));
      work.runner.Judge(aside ? *aside : device, done, [&](const std::vector<std::string>& names) {
        kept_.Add(Offer{cases_[work.index].spec.Id(), device.backend, device.device.name, names});
      });
    } catch (const std::exception& e) {
      kept_.Add(place, work.runner.Faulted(device, e));
    }
  }

  // Alone, as timing is.
  void TryAgain(CaseAtWork& work) {
    const std::string& op = work.data.problem.spec.op;
    try {
      for (auto& [place, attempt] : work.ended) {
        if (!ahead_.Await(settings_.runner.interrupted)) return;
        DeviceHealth& health = health_[place.device];
        if (!health.WhySetAside(op).empty()) continue;
        TryOnceMore(work.runner, devices_[place.device], attempt, false);
        if (attempt.verdict == Verdict::kFlaky) health.Note(op, "");
      }
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  void TimeAll(CaseAtWork& work) {
    try {
      TimeInRandomOrder(work);
    } catch (const std::exception& e) {
      work.broken = DescribeException(e);
    }
  }

  // After a round of timing. One that ended with its worker is judged and timed once more.
  void TryAgainTimed(CaseRunner& runner, const Device& device, Attempt& attempt) const {
    if (settings_.runner.interrupted() || !EndedWithItsWorker(device, attempt)) return;
    TryOnceMore(runner, device, attempt, true);
  }

  // Results with one name take turns.
  std::string TurnOf(const Attempt& attempt) const { return settings_.all_in_turns ? "" : attempt.implementation; }

  void TimeInRandomOrder(CaseAtWork& work) {
    std::vector<Untimed>& untimed = work.untimed;
    const auto name = [this](const Untimed& u) { return TurnOf(u.attempt); };
    ShuffleSideBySide(untimed, name, random_);
    if (!untimed.empty()) AwaitThoseBeside();
    // Nothing else may run while timing.
    while (!untimed.empty() && ahead_.Await(settings_.runner.interrupted)) {
      std::vector<CaseRunner::Timed> group;
      const size_t begin = InTurns(work.data) ? BeginOfLast(untimed, name) : untimed.size() - 1;
      for (size_t i = begin; i < untimed.size(); ++i) {
        group.push_back({.device = &devices_[untimed[i].place.device], .attempt = &untimed[i].attempt});
      }
      TimeGroup(work.runner, group);
      for (size_t i = 0; i < group.size(); ++i) {
        auto& [place, attempt] = untimed.back();
        if (attempt.interrupted) ClearTiming(attempt.record);  // that it passed stands
        TryAgainTimed(work.runner, devices_[place.device], attempt);
        if (settings_.rounds > 1 && attempt.verdict == Verdict::kPass) {
          timed_.push_back({place, WithoutOutput(attempt)});
        }
        kept_.Add(place, std::move(attempt));
        untimed.pop_back();
      }
    }
  }

  // Whether builds of one plugin, which offer the same implementation, take turns: the memory of all is there then.
  bool InTurns(const CaseData& data) const {
    return settings_.rounds > 1 && DevicesAtOnce(data.problem, devices_.size()) == devices_.size();
  }

  static void TimeGroup(CaseRunner& runner, std::vector<CaseRunner::Timed>& group) {
    try {
      if (group.size() > 1) return runner.TimeInTurns(group);
      for (const CaseRunner::Timed& timed : group) runner.Time(*timed.device, *timed.attempt);
    } catch (const std::exception& fault) {
      for (const CaseRunner::Timed& timed : group) timed.attempt->SetFault(fault);
    }
  }

  // The first round came with the judgement. Each of the others is a pass over all cases in random order, in fresh
  // workers, so that rounds see different memory layouts and moments.
  void TimeFurtherRounds() {
    std::map<size_t, std::vector<TimedResult*>> by_case;
    for (TimedResult& timed : timed_) by_case[timed.place.case_index].push_back(&timed);
    std::vector<size_t> order;
    for (const auto& [index, unused] : by_case) order.push_back(index);
    for (int round = 1; round < settings_.rounds; ++round) {
      for (const Device& device : devices_) {
        if (device.session) device.session->Restart();
      }
      std::shuffle(order.begin(), order.end(), random_);
      for (size_t i = 0; i < order.size() && !settings_.runner.interrupted(); ++i) {
        const size_t done = static_cast<size_t>(round) * cases_.size() + i;
        TellProgress(done, fmt::format("round {} {}", round + 1, cases_[order[i]].spec.Id()));
        try {
          TimeCaseAgain(cases_[order[i]], by_case[order[i]]);
        } catch (const std::exception& e) {
          NoteNoMoreRounds(cases_[order[i]], DescribeException(e));
        }
      }
      kept_.Flush();  // what ends the process now takes this round from nobody
    }
  }

  void NoteNoMoreRounds(const PlannedCase& planned, const std::string& why) {
    settings_.observer->Noted(fmt::format("{}: {}; further rounds of it are left out", planned.spec.Id(), why));
  }

  void TimeCaseAgain(const PlannedCase& planned, std::vector<TimedResult*> results) {
    const Result<CaseData> data = PrepareCase(*planned.bound, settings_.tier, settings_.store);
    if (!data) return NoteNoMoreRounds(planned, data.error().message);
    CaseRunner runner(planned, *data, settings_.runner);
    std::erase_if(results, [&](const TimedResult* timed) {
      return timed->attempt.verdict != Verdict::kPass || lost_devices_.contains(timed->place.device);
    });
    const auto name = [this](const TimedResult* timed) { return TurnOf(timed->attempt); };
    ShuffleSideBySide(results, name, random_);
    while (!results.empty() && !settings_.runner.interrupted()) {
      std::vector<CaseRunner::Timed> group;
      const size_t begin = InTurns(*data) ? BeginOfLast(results, name) : results.size() - 1;
      for (TimedResult* timed : std::span(results).subspan(begin)) {
        group.push_back({.device = &devices_[timed->place.device], .attempt = &timed->attempt});
      }
      std::vector<Attempt> before;
      for (const TimedResult* timed : std::span(results).subspan(begin))
        before.push_back(WithoutOutput(timed->attempt));
      TimeGroup(runner, group);
      for (size_t i = begin; i < results.size(); ++i) {
        TimedResult* const timed = results[i];
        const Device& device = devices_[timed->place.device];
        TryAgainTimed(runner, device, timed->attempt);
        if (timed->attempt.interrupted || timed->attempt.device_lost) {
          if (timed->attempt.device_lost && lost_devices_.insert(timed->place.device).second)
            NoteLost(planned, device, timed->attempt.reason);
          timed->attempt = std::move(before[i - begin]);
          continue;
        }
        kept_.Change(timed->place, timed->attempt, *data, runner);
      }
      results.resize(begin);
    }
  }

  // A verdict that stands is not taken back because its device went away afterwards: the run says so instead, and
  // fails.
  void NoteLost(const PlannedCase& planned, const Device& device, const std::string& why) {
    const std::string text =
        fmt::format("{}: {} was lost in a further round of timing: {}", planned.spec.Id(), device.selector, why);
    if (lost_.empty()) lost_ = text;
    settings_.observer->Noted(text);
  }

  // A case of the suite that its operator refuses or that is too large: shown with the case, not the end of a run.
  void CannotRun(size_t index, const std::string& why) {
    const PlannedCase& planned = cases_[index];
    Attempt attempt;
    attempt.record = MakeCaseRecord(planned, CaseData{}, Device{});
    attempt.record.backend = kHarnessBackend;
    attempt.record.reproduce = ReproductionLine(settings_.runner, planned, Device{}, "");
    attempt.SetVerdict(Verdict::kError, ResultClass::kNone, planned.where.empty() ? why : planned.where + ": " + why);
    kept_.Add({index, devices_.size()}, std::move(attempt));
  }

  std::vector<PlannedCase> cases_;  // grows where there is a source
  CaseSource* source_;              // null: there is none
  std::deque<CaseGroup> groups_;    // not yet begun
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
  std::vector<DeviceHealth> health_;  // of each device
  KeptRecords kept_;
  DeviceQueues queues_;
  CasesAhead ahead_;
  size_t failed_before_ = 0;  // results of a run that is continued
  bool said_unsaved_ = false;
  bool worked_beside_ = false;  // further workers, since they were last waited for
  std::vector<TimedResult> timed_;
  std::set<size_t> lost_devices_;          // in further rounds
  std::string lost_;                       // how the first of them was
  std::mt19937_64 random_{DrawEntropy()};  // of orders alone
};

}  // namespace

LoopResult RunCases(const std::vector<PlannedCase>& cases, const std::vector<Device>& devices,
                    const LoopSettings& settings, RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop(cases, nullptr, devices, settings, folder).Run();
}

LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const LoopSettings& settings,
                    RunFolder& folder) {
  const Span span(Phase::kRun);
  return Loop({}, &source, devices, settings, folder).Run();
}

}  // namespace assay

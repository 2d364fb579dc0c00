// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/extra_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/side_by_side.h"

namespace assay {
namespace {

Attempt CopyWithoutOutput(const Attempt& attempt) {
  Attempt light;
  light.record = attempt.record;
  light.verdict = attempt.verdict;
  light.holds_as_declared = attempt.holds_as_declared;
  light.result_class = attempt.result_class;
  light.reason = attempt.reason;
  light.implementation = attempt.implementation;
  light.contract_text = attempt.contract_text;
  light.contract = attempt.contract;
  light.output_hash = attempt.output_hash;
  light.second_set = attempt.second_set;
  light.layouts = attempt.layouts;
  light.rounds = attempt.rounds;
  light.fastest_s = attempt.fastest_s;
  light.second_hash = attempt.second_hash;
  return light;
}

}  // namespace

void ExtraRounds::Add(const RecordPlace& place, const Attempt& attempt) {
  if (settings_.rounds > 1 && attempt.holds_as_declared) timed_.push_back({place, CopyWithoutOutput(attempt)});
}

void ExtraRounds::TimeAll(std::mt19937_64& random, const Progress& progress) {
  if (timed_.empty()) return;
  std::map<size_t, std::vector<TimedResult*>> by_case;
  for (TimedResult& timed : timed_) by_case[timed.place.case_index].push_back(&timed);
  std::vector<size_t> order;
  for (const auto& [index, unused] : by_case) order.push_back(index);
  for (int round = 1; round < settings_.rounds; ++round) {
    for (const Device& device : devices_) {
      if (device.session) device.session->Restart();
    }
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < order.size() && !settings_.runner.interrupted(); ++i) {
      const PlannedCase& planned = cases_[order[i]];
      progress(static_cast<size_t>(round) * cases_.size() + i,
               fmt::format("round {} {}", round + 1, planned.spec.Id()));
      try {
        TimeCase(planned, by_case[order[i]], random);
      } catch (const std::exception& e) {
        NoteNoMore(planned, DescribeException(e));
      }
    }
    results_.Flush();  // what ends the process now takes this round from nobody
  }
}

void ExtraRounds::TimeCase(const PlannedCase& planned, std::vector<TimedResult*> results, std::mt19937_64& random) {
  const Result<PreparedCase> data = PrepareCase(*planned.Bound(), settings_.tier, settings_.store);
  if (!data) return NoteNoMore(planned, data.error().message);
  TrialRunner runner(planned, *data, settings_.runner);
  std::erase_if(results, [&](const TimedResult* timed) {
    return !timed->attempt.holds_as_declared || lost_devices_.contains(timed->place.device);
  });
  const auto name = [this](const TimedResult* timed) { return interleaving_.TurnOf(timed->attempt); };
  ShuffleSideBySide(results, name, random);
  while (!results.empty() && !settings_.runner.interrupted()) {
    const size_t begin = interleaving_.CanHoldAll(data->problem) ? FindLastGroup(results, name) : results.size() - 1;
    TimeLast(planned, *data, runner, results, begin);
    results.resize(begin);
  }
}

// Times the results from `begin` on as one group.
void ExtraRounds::TimeLast(const PlannedCase& planned, const PreparedCase& data, TrialRunner& runner,
                           std::vector<TimedResult*>& results, size_t begin) {
  std::vector<TrialRunner::Timed> group;
  std::vector<Attempt> before;
  for (TimedResult* timed : std::span(results).subspan(begin)) {
    group.push_back({.device = &devices_[timed->place.device], .attempt = &timed->attempt});
    before.push_back(CopyWithoutOutput(timed->attempt));
  }
  Interleaving::Time(runner, group);
  for (size_t i = begin; i < results.size(); ++i) {
    TimedResult* const timed = results[i];
    interleaving_.Retry(runner, devices_[timed->place.device], timed->attempt);
    if (timed->attempt.interrupted || timed->attempt.device_lost) {
      if (timed->attempt.device_lost) NoteLost(planned, timed->place.device, timed->attempt.reason);
      timed->attempt = std::move(before[i - begin]);
      continue;
    }
    results_.Change(timed->place, timed->attempt, data, runner);
  }
}

void ExtraRounds::NoteNoMore(const PlannedCase& planned, const std::string& why) {
  settings_.observer->Noted(fmt::format("{}: {}; further rounds of it are left out", planned.spec.Id(), why));
}

// A verdict that stands is not taken back because its device went away afterwards: the run says so instead, and fails.
void ExtraRounds::NoteLost(const PlannedCase& planned, size_t device, const std::string& why) {
  if (!lost_devices_.insert(device).second) return;
  const std::string text = fmt::format("{}: {} was lost in a further round of timing: {}", planned.spec.Id(),
                                       devices_[device].selector, why);
  if (lost_.empty()) lost_ = text;
  settings_.observer->Noted(text);
}

}  // namespace assay

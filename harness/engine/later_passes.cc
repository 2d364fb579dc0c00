// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/later_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/base/amounts.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/trial/tries.h"

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

bool HasAnswer(const Record& record) {
  return !record.implementation.empty() && record.verdict != Name(Verdict::kUnsupported) &&
         record.verdict != Name(Verdict::kUnavailable);
}

template <class T>
std::vector<size_t> KeysOf(const std::map<size_t, T>& by_case) {
  std::vector<size_t> keys;
  for (const auto& [index, unused] : by_case) keys.push_back(index);
  return keys;
}

}  // namespace

void LaterPasses::NoteTimed(const RecordPlace& place, const Attempt& attempt) {
  if (policy_.rounds < 2 || !attempt.holds_as_declared) return;
  timed_[place.case_index].push_back({place, CopyWithoutOutput(attempt)});
}

// One time over these cases, in random order. What ends the process then takes it from nobody.
void LaterPasses::Repeat(std::vector<size_t> cases, const std::function<bool()>& is_over,
                         const std::function<void(size_t, const PlannedCase&, size_t)>& take) {
  std::ranges::shuffle(cases, random_);
  for (size_t i = 0; i < cases.size() && !is_over(); ++i) take(i, cases_[cases[i]], cases[i]);
  results_.Flush();
}

// Does `work` with the prepared case; else it is said what is left out of the case, and why.
template <class Work>
void LaterPasses::WithCase(const PlannedCase& planned, const std::string& left_out, const Work& work) {
  std::string why;
  try {
    const Result<PreparedCase> data =
        PrepareCase(*planned.Bound(), policy_.tier, policy_.store, MemoryUse::kRun, LimitsOf(policy_, planned));
    if (data) {
      TrialRunner runner(planned, *data, policy_.runner);
      return work(runner, *data);
    }
    why = data.error().message;
  } catch (const std::exception& e) {
    why = DescribeException(e);
  }
  policy_.observer->Noted(fmt::format("{}: {}; {}", planned.spec.Id(), why, left_out));
}

void LaterPasses::TimeAgain(const Progress& progress) {
  for (int64_t round = 2; round <= policy_.rounds && !timed_.empty() && !policy_.runner.interrupted(); ++round) {
    for (const Device& device : devices_) {
      if (device.session) device.session->Restart();
    }
    Repeat(KeysOf(timed_), policy_.runner.interrupted, [&](size_t done, const PlannedCase& planned, size_t index) {
      progress(round, done, fmt::format("round {} {}", round, planned.spec.Id()));
      TimeCase(planned, timed_[index]);
    });
    std::erase_if(timed_, [](const auto& one) { return one.second.empty(); });
  }
}

void LaterPasses::TimeCase(const PlannedCase& planned, std::vector<PlacedAttempt>& results) {
  WithCase(planned, "further rounds of it are left out", [&](TrialRunner& runner, const PreparedCase& data) {
    std::erase_if(results, [&](const PlacedAttempt& r) { return lost_devices_.contains(r.place.device); });
    std::vector<PlacedAttempt> passed;
    const auto done = [&](PlacedAttempt& result) {
      auto& [place, attempt] = result;
      if (attempt.device_lost) NoteLost(planned, place.device, "in a further round of timing", attempt.reason);
      if (attempt.interrupted || attempt.device_lost) return;
      results_.Change(place, attempt, data, runner);
      if (attempt.holds_as_declared) passed.push_back(std::move(result));
    };
    interleaving_.TimeAll(
        runner, results, random_, [this] { return !policy_.runner.interrupted(); }, done);
    results = std::move(passed);
  });
}

void LaterPasses::JudgeAgain(const std::function<bool()>& ends, const Progress& progress) {
  if (policy_.repetition.passes < 2) return;
  const std::map<size_t, Places> repeated = FindRepeated();
  const auto is_over = [&] {
    const bool is_late = policy_.repetition.seconds > 0 && since_start_.Seconds() >= policy_.repetition.seconds;
    return policy_.runner.interrupted() || is_late || ends();
  };
  while (!repeated.empty() && passes_ < policy_.repetition.passes && !is_over()) {
    ++passes_;
    Repeat(KeysOf(repeated), is_over, [&](size_t done, const PlannedCase& planned, size_t index) {
      progress(passes_, done, fmt::format("pass {} {}", passes_, planned.spec.Id()));
      JudgeCase(planned, repeated.at(index));
      results_.FlushWhenDue();
    });
  }
}

std::map<size_t, LaterPasses::Places> LaterPasses::FindRepeated() const {
  std::map<size_t, Places> repeated;
  results_.ForEach([&](const RecordPlace& place, const Record& record) {
    if (place.device < devices_.size() && HasAnswer(record)) repeated[place.case_index].push_back(place);
  });
  return repeated;
}

// On all devices at once, as far as there are threads and memory. No two devices of a pool have a case at once.
void LaterPasses::JudgeCase(const PlannedCase& planned, const Places& places) {
  const std::string left_out = fmt::format("pass {} leaves it out", passes_);
  WithCase(planned, left_out, [&](TrialRunner& runner, const PreparedCase& data) {
    const auto judge = [&](size_t, size_t lane) {
      for (const RecordPlace& place : places) {
        // No other device of the queue is at work: it has this case alone.
        if (queues_.QueueOf(place.device) != queues_.QueueOf(lane) || policy_.runner.interrupted()) continue;
        try {
          JudgeOne(runner, data, place);
        } catch (const std::exception& e) {
          const std::lock_guard lock(mutex_);
          policy_.observer->Noted(fmt::format("{}: {}; {}", planned.spec.Id(), DescribeException(e), left_out));
        }
      }
    };
    queues_.ForEach(CountParallelDevices(data.executed(), policy_.tier, devices_.size()), 1, judge, false);
  });
}

void LaterPasses::JudgeOne(TrialRunner& runner, const PreparedCase& data, const RecordPlace& place) {
  const Record record = results_.At(place);      // nobody else changes this one
  if (Tries(record).count() >= passes_) return;  // a run that is continued has it already
  const std::string& op = data.problem.spec.op;
  // The device that the record names as long as it is there, else another of its pool.
  const std::optional<size_t> on = [&] {
    const std::lock_guard lock(mutex_);
    return health_.FindFor(place.device, op, lost_devices_);
  }();
  if (!on) return;
  const Device& device = devices_[*on];
  const auto& reset = policy_.retries.reset;
  const uint64_t seen = reset ? reset->Resets(device) : 0;
  Attempt attempt = runner.JudgeAgain(device, record.implementation);
  if (attempt.interrupted) return;
  health_.Note(*on, op, DescribeEnd(attempt));
  ResetDevice(policy_.retries, device, attempt, seen);
  if (attempt.device_lost && (!reset || reset->Resets(device) == seen)) {
    const std::lock_guard lock(mutex_);
    return NoteLost(cases_[place.case_index], *on, fmt::format("in pass {} over the cases", passes_), attempt.reason);
  }
  Keep(attempt, data, runner, place);
}

void LaterPasses::Keep(Attempt& attempt, const PreparedCase& data, const TrialRunner& runner,
                       const RecordPlace& place) {
  const Record record = results_.At(place);
  Tries tries(record);
  tries.Add(attempt.verdict);
  if (!tries.Differ() || record.verdict == Name(Verdict::kFlaky)) {
    return results_.Amend(place, [&](Record& amended) { tries.Describe(amended); });
  }
  const std::string first = record.verdict + (record.reason.empty() ? "" : ": " + record.reason);
  const std::string on = attempt.record.device == record.device ? "" : fmt::format(" on {},", attempt.record.device);
  const std::string reason = fmt::format("it ends differently from try to try. First {}. Try {},{} {}", first,
                                         tries.count(), on, EndOf(attempt));
  if (attempt.verdict == Verdict::kPass || attempt.verdict == Verdict::kInconclusive) {  // what failed is told
    return results_.Amend(place, [&](Record& amended) {
      amended.verdict = amended.outcome = Name(Verdict::kFlaky);
      amended.result_class = Name(ResultClass::kNone);
      amended.reason = reason;
      tries.Describe(amended);
    });
  }
  attempt.SetVerdict(Verdict::kFlaky, ResultClass::kNone, reason);
  tries.Describe(attempt.record);
  results_.Change(place, attempt, data, runner);
}

// A verdict that stands is not taken back because its device went away afterwards: the run says so instead, and fails.
void LaterPasses::NoteLost(const PlannedCase& planned, size_t device, const std::string& when, const std::string& why) {
  if (!lost_devices_.insert(device).second) return;
  const std::string text =
      fmt::format("{}: {} was lost {}: {}", planned.spec.Id(), devices_[device].selector, when, why);
  if (lost_.empty()) lost_ = text;
  policy_.observer->Noted(text);
}

std::string LaterPasses::SummaryText() const {
  if (passes_ < 2) return "";
  int64_t tries = 0, results = 0, flaky = 0;
  results_.ForEach([&](const RecordPlace& place, const Record& record) {
    if (place.device >= devices_.size() || !HasAnswer(record)) return;
    ++results;
    tries += Tries(record).count();
    flaky += record.verdict == Name(Verdict::kFlaky);
  });
  return fmt::format("{} passes: {} tries of {}, {} of them flaky", passes_, tries, Counted(results, "result"), flaky);
}

}  // namespace assay

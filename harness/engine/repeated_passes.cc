// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/repeated_passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/trial/tries.h"

namespace assay {
namespace {

bool HasAnswer(const Record& record) {
  return !record.implementation.empty() && record.verdict != Name(Verdict::kUnsupported) &&
         record.verdict != Name(Verdict::kUnavailable);
}

}  // namespace

void RepeatedPasses::RunAll(std::mt19937_64& random, const std::function<bool()>& ends, const Progress& progress) {
  if (settings_.repetition.passes < 2) return;
  const std::map<size_t, Places> repeated = FindRepeated();
  std::vector<size_t> order;
  for (const auto& [index, places] : repeated) order.push_back(index);
  const auto is_over = [&] { return settings_.runner.interrupted() || IsTimeOver() || ends(); };
  while (!order.empty() && passes_ < settings_.repetition.passes && !is_over()) {
    ++passes_;
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i = 0; i < order.size() && !is_over(); ++i) {
      progress(passes_, i, cases_[order[i]].spec.Id());
      JudgeCase(cases_[order[i]], repeated.at(order[i]), passes_);
      results_.FlushWhenDue();
    }
    results_.Flush();  // what ends the process now takes this pass from nobody
  }
}

std::map<size_t, RepeatedPasses::Places> RepeatedPasses::FindRepeated() const {
  std::map<size_t, Places> repeated;
  results_.ForEach([&](const RecordPlace& place, const Record& record) {
    if (place.device < devices_.size() && HasAnswer(record)) repeated[place.case_index].push_back(place);
  });
  return repeated;
}

bool RepeatedPasses::IsTimeOver() const {
  return settings_.repetition.seconds > 0 && since_start_.Seconds() >= settings_.repetition.seconds;
}

// On all devices at once, as far as there are threads and memory. No two devices
// of a pool have a case at once.
void RepeatedPasses::JudgeCase(const PlannedCase& planned, const Places& places, int64_t pass) {
  const Result<PreparedCase> data = PrepareCase(*planned.Bound(), settings_.tier, settings_.store);
  if (!data) {
    return settings_.observer->Noted(
        fmt::format("{}: {}; pass {} leaves it out", planned.spec.Id(), data.error().message, pass));
  }
  TrialRunner runner(planned, *data, settings_.runner);
  const auto judge = [&](size_t, size_t lane) {
    for (const RecordPlace& place : places) {
      // No other device of the queue is at work: it has this case alone.
      if (queues_.QueueOf(place.device) != queues_.QueueOf(lane) || settings_.runner.interrupted()) continue;
      try {
        JudgeOne(runner, *data, place, pass);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex_);
        settings_.observer->Noted(
            fmt::format("{}: {}; pass {} leaves it out", planned.spec.Id(), DescribeException(e), pass));
      }
    }
  };
  queues_.ForEach(CountParallelDevices(data->problem, settings_.tier, devices_.size()), 1, judge, false);
}

// The one that the record names as long as it is there, else another of its pool.
std::optional<size_t> RepeatedPasses::DeviceFor(const RecordPlace& place, const std::string& op) {
  const std::lock_guard lock(mutex_);
  return health_.FindFor(place.device, op, lost_devices_);
}

void RepeatedPasses::JudgeOne(TrialRunner& runner, const PreparedCase& data, const RecordPlace& place, int64_t pass) {
  const Record record = results_.At(place);   // nobody else changes this one
  if (Tries(record).count() >= pass) return;  // a run that is continued has it already
  const std::string& op = data.problem.spec.op;
  const std::optional<size_t> on = DeviceFor(place, op);
  if (!on) return;
  const Device& device = devices_[*on];
  const auto& reset = settings_.retries.reset;
  const uint64_t seen = reset ? reset->Resets(device) : 0;
  Attempt attempt = runner.JudgeAgain(device, record.implementation);
  if (attempt.interrupted) return;
  health_.Note(*on, op, DescribeEnd(attempt));
  ResetDevice(settings_.retries, device, attempt, seen);
  if (attempt.device_lost && (!reset || reset->Resets(device) == seen)) {
    const std::lock_guard lock(mutex_);
    return NoteLost(cases_[place.case_index], *on, attempt.reason);
  }
  Keep(attempt, data, runner, place);
}

void RepeatedPasses::Keep(Attempt& attempt, const PreparedCase& data, const TrialRunner& runner,
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
void RepeatedPasses::NoteLost(const PlannedCase& planned, size_t device, const std::string& why) {
  if (!lost_devices_.insert(device).second) return;
  const std::string text = fmt::format("{}: {} was lost in pass {} over the cases: {}", planned.spec.Id(),
                                       devices_[device].selector, passes_, why);
  if (lost_.empty()) lost_ = text;
  settings_.observer->Noted(text);
}

std::string RepeatedPasses::SummaryText() const {
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

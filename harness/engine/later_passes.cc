// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/later_passes.h"

#include <fmt/format.h>

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

}  // namespace

void LaterPasses::NoteTimed(const Step& step, const RecordPlace& place, const Attempt& attempt) {
  if (step.round >= policy_.rounds || !attempt.holds_as_declared) return;
  timed_.insert_or_assign(place, CopyWithoutOutput(attempt));
  schedule_.TimeAgain(place);
}

void LaterPasses::Run(const Step& step, const Result<PreparedCase>& data) {
  const PlannedCase& planned = schedule_.cases()[step.begin];
  schedule_.TellProgress(step, 0, results_.failed(), planned);
  pass_ = step.pass;
  if (step.round > 1 && step.done == 0) {
    for (const Device& device : devices_) {
      if (device.session) device.session->Restart();
    }
  }
  const std::string left_out =
      step.pass > 1 ? fmt::format("pass {} leaves it out", pass_) : "further rounds of it are left out";
  std::string why = data ? "" : data.error().message;
  try {
    if (data) {
      TrialRunner runner(planned, *data, policy_.runner);
      step.pass > 1 ? JudgeCase(step, left_out, runner, *data) : TimeCase(step, runner, *data);
    }
  } catch (const std::exception& e) {
    why = DescribeException(e);
  }
  if (!why.empty()) policy_.observer->Noted(fmt::format("{}: {}; {}", planned.spec.Id(), why, left_out));
}

void LaterPasses::TimeCase(const Step& step, TrialRunner& runner, const PreparedCase& data) {
  std::vector<PlacedAttempt> results;
  for (const RecordPlace& place : step.due) {
    Attempt timed = std::move(timed_.extract(place).mapped());
    if (!lost_devices_.contains(place.device)) results.push_back({place, std::move(timed)});
  }
  interleaving_.TimeAll(runner, results, [&](PlacedAttempt& result) {
    auto& [place, attempt] = result;
    if (attempt.HasLostDevice()) NoteLost(step, place.device, "in a further round of timing", attempt.reason);
    if (attempt.interrupted || attempt.HasLostDevice()) return;
    results_.Change(place, attempt, data, runner);
    NoteTimed(step, place, attempt);
  });
}

// On all devices at once, as far as there are threads and memory. No two devices of a pool have a case at once.
void LaterPasses::JudgeCase(const Step& step, const std::string& left_out, TrialRunner& runner,
                            const PreparedCase& data) {
  const auto judge = [&](size_t, size_t lane) {
    for (const RecordPlace& place : step.due) {
      // No other device of the queue is at work: it has this case alone.
      if (queues_.QueueOf(place.device) != queues_.QueueOf(lane) || policy_.runner.interrupted()) continue;
      try {
        JudgeOne(step, runner, data, place);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex_);
        policy_.observer->Noted(fmt::format("{}: {}; {}", data.problem.spec.Id(), DescribeException(e), left_out));
      }
    }
  };
  queues_.ForEach(CountParallelDevices(data.executed(), policy_.tier, devices_.size()), 1, judge, false);
  results_.FlushWhenDue();
}

void LaterPasses::JudgeOne(const Step& step, TrialRunner& runner, const PreparedCase& data, const RecordPlace& place) {
  const Record record = results_.At(place);        // nobody else changes this one
  if (Tries(record).count() >= step.pass) return;  // a run that is continued has it already
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
  if (attempt.HasLostDevice() && (!reset || reset->Resets(device) == seen)) {
    const std::lock_guard lock(mutex_);
    return NoteLost(step, *on, fmt::format("in pass {} over the cases", step.pass), attempt.reason);
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
void LaterPasses::NoteLost(const Step& step, size_t device, const std::string& when, const std::string& why) {
  if (!lost_devices_.insert(device).second) return;
  const std::string text = fmt::format("{}: {} was lost {}: {}", schedule_.cases()[step.begin].spec.Id(),
                                       devices_[device].selector, when, why);
  if (lost_.empty()) lost_ = text;
  policy_.observer->Noted(text);
}

std::string LaterPasses::SummaryText() const {
  if (pass_ < 2) return "";
  int64_t tries = 0, flaky = 0;
  const std::vector<RecordPlace> results = results_.ListAnswered();
  for (const RecordPlace& place : results) {
    const Record record = results_.At(place);
    tries += Tries(record).count();
    flaky += record.verdict == Name(Verdict::kFlaky);
  }
  return fmt::format("{} passes: {} tries of {}, {} of them flaky", pass_, tries,
                     Counted(static_cast<int64_t>(results.size()), "result"), flaky);
}

}  // namespace assay

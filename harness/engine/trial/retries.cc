// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/retries.h"

#include <fmt/format.h>

#include "harness/engine/trial/tries.h"

namespace assay {
namespace {

std::string DescribeRetryCount(int64_t times) {
  if (times == 1) return "once more, alone in a fresh worker";
  return fmt::format("{} more times, each alone in a fresh worker", times);
}

// Names a further try.
std::string NameRetry(int64_t number) {
  if (number == 1) return "Once more, alone in a fresh worker";
  return fmt::format("In further try {}, each alone in a fresh worker", number);
}

// A result that no call ended is tried again where another try may give another one.
Retry RetryOf(const Attempt& attempt) {
  if (attempt.failed_by) return RuleOf(*attempt.failed_by).retry;
  const bool may_change = attempt.verdict == Verdict::kError || attempt.verdict == Verdict::kNondeterministic;
  return may_change ? Retry::kOnRequest : Retry::kNever;
}

}  // namespace

bool IsRetried(const Device& device, const Attempt& attempt, const RetrySettings& settings) {
  if (!device.problem.empty() || settings.most < 1) return false;
  switch (RetryOf(attempt)) {
    case Retry::kOnce:
      return true;
    case Retry::kAfterReset:
      return settings.reset || settings.of_answers;
    case Retry::kOnRequest:
      return settings.of_answers;
    case Retry::kNever:
      return false;
  }
  return false;
}

std::string EndOf(const Attempt& attempt) {
  return fmt::format("{}{}{}", Name(attempt.verdict), attempt.reason.empty() ? "" : ": ", attempt.reason);
}

std::string DescribeEnd(const Attempt& attempt) {
  return attempt.failed_by && RuleOf(*attempt.failed_by).counts ? EndOf(attempt) : "";
}

void ResetDevice(const RetrySettings& settings, const Device& device, const Attempt& attempt, uint64_t seen) {
  if (!settings.reset || attempt.interrupted) return;
  if (!attempt.HasLostDevice()) return settings.reset->SetBack(device);
  if (settings.reset->Reset(device, attempt.reason, seen)) device.session->Restart();
}

void TryAgain(TrialRunner& runner, const Device& device, Attempt& attempt, const RetrySettings& settings, bool timed) {
  Tries tries;
  tries.Add(attempt.verdict);
  std::string other;      // end
  std::string no_worker;  // why a try is none
  while (other.empty() && tries.count() <= settings.most) {
    const uint64_t seen = settings.reset ? settings.reset->Resets(device) : 0;
    device.session->Restart();
    const uint64_t started = device.session->workers_started();
    Attempt next = runner.JudgeAgain(device, attempt.implementation);
    if (next.interrupted) {
      attempt.interrupted = true;
      break;
    }
    ResetDevice(settings, device, next, seen);
    if (device.session->workers_started() == started) {
      no_worker = next.reason;
      break;
    }
    if (timed && next.holds_as_declared) runner.Time(device, next);
    tries.Add(next.verdict);
    if (next.verdict != attempt.verdict) other = EndOf(next);
  }
  if (tries.count() < 2) {
    if (no_worker.empty() || no_worker == attempt.reason) return;
    return attempt.SetVerdict(
        attempt.verdict, attempt.result_class,
        fmt::format("{} [it could not be tried again in a fresh worker: {}]", attempt.reason, no_worker));
  }
  const std::string& name = device.device.name;
  const bool elsewhere = !device.pool.empty() && attempt.record.device != name;
  if (other.empty()) {
    attempt.SetVerdict(attempt.verdict, attempt.result_class,
                       fmt::format("{} [so {}{}]", attempt.reason, DescribeRetryCount(tries.count() - 1),
                                   elsewhere ? " of " + name : ""));
  } else if (elsewhere) {  // it says who is at fault, and nothing of whether this device does the same again
    attempt.SetVerdict(attempt.verdict, attempt.result_class,
                       fmt::format("{} [alone in a fresh worker of {}: {}]", attempt.reason, name, other));
  } else {
    attempt.SetVerdict(Verdict::kFlaky, ResultClass::kNone,
                       fmt::format("it ends differently from try to try. First {}. {}, {}", EndOf(attempt),
                                   NameRetry(tries.count() - 1), other));
  }
  tries.Describe(attempt.record);
}

}  // namespace assay

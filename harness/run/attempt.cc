// SPDX-License-Identifier: Apache-2.0
#include "harness/run/attempt.h"

#include "harness/cases/host_memory.h"
#include "harness/results/missing.h"
#include "harness/results/record_case.h"

namespace assay {

Verdict VerdictOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kUnsupported:
      return Verdict::kUnsupported;
    case Outcome::kUnavailable:
      return Verdict::kUnavailable;
    case Outcome::kCrash:
      return Verdict::kCrash;
    case Outcome::kTimeout:
      return Verdict::kTimeout;
    default:
      return Verdict::kError;
  }
}

bool IsFailingResult(Verdict verdict) {
  return verdict == Verdict::kMismatch || verdict == Verdict::kBelowContract || verdict == Verdict::kNondeterministic;
}

void Attempt::SetVerdict(Verdict of, ResultClass of_class, const std::string& why) {
  verdict = of;
  result_class = of_class;
  reason = why;
  assay::SetVerdict(record, of, of_class, why);
}

void Attempt::SetFailure(const WorkerFailure& failure) {
  memory_fault = memory_fault || failure.outcome == Outcome::kMemoryFault;
  SetVerdict(VerdictOf(failure.outcome), ResultClass::kNone, failure.message);
}

void Attempt::SetFault(const std::exception& fault) {
  findings.reset();  // of a judgement that has no end
  kept.clear();
  harness_failed = true;
  record.fault = kHarnessBackend;
  SetVerdict(Verdict::kError, ResultClass::kNone, DescribeException(fault));
}

}  // namespace assay

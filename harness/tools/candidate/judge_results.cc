// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/judge_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "harness/core/model/pooled_test.h"
#include "harness/engine/results/exit_code.h"

namespace assay {
namespace {

constexpr size_t kMostFailures = 20;  // that are described

struct ComparedRecords {
  std::vector<const Record*> candidate, reference;
};

std::map<std::string, ComparedRecords> RecordGroups(std::span<const Record> records) {
  std::map<std::string, ComparedRecords> all;
  for (const Record& r : records) {
    if (r.backend == kCandidate) all[r.case_id].candidate.push_back(&r);
    if (r.backend == kReference) all[r.case_id].reference.push_back(&r);
  }
  return all;
}

bool Has(const std::vector<const Record*>& records, std::string_view outcome) {
  return std::ranges::any_of(records, [&](const Record* r) { return r->outcome == outcome; });
}

bool Fails(const Record* r) {
  return FailsRun(*r);
}

// Why no weaker arithmetic is named for a failure.
std::string ExplainUnknownArithmetic(const Record& r, std::string_view what) {
  if (what == "below_contract") return "the kernel declares less than the case requires";
  if (what != "mismatch") return kNoFailureOfValues;
  if (r.decided_by == "memory") return "memory was written or read that is not the kernel's";
  if (r.nonfinite_mismatch.value_or(0) > 0) return "values are wrong among NaN and infinities";
  if (!r.decided_by.empty()) return "other executions than the first one failed: " + r.decided_by;
  return "no known weaker arithmetic gives these values";
}

class Judging {
 public:
  explicit Judging(const JudgedRun& run) : run_(run), by_case_(RecordGroups(run.records)) {}

  Ruling Judge() {
    for (const PlannedCase& planned : run_.visible) JudgeCase(planned, "visible", out_.visible);
    for (const PlannedCase& planned : run_.hidden) JudgeCase(planned, "hidden", out_.hidden);
    AddPooled();
    if (run_.timed) {
      out_.speed = CompareSpeed(pairs_);
    } else {
      out_.speed.why = run_.has_reference ? "nothing was timed (--no-perf)" : "there is no reference (--against)";
    }
    Decide();
    return std::move(out_);
  }

 private:
  void JudgeCase(const PlannedCase& planned, const char* set, VerdictCounts& counts) {
    ++counts.cases;
    const auto found = by_case_.find(planned.spec.Id());
    const ComparedRecords none, &of = found == by_case_.end() ? none : found->second;
    if (of.candidate.empty() || (run_.has_reference && of.reference.empty())) {
      ++counts.not_run;
    } else if (run_.has_reference && !Has(of.reference, "pass") && !Has(of.reference, "inconclusive")) {
      ++counts.disputed;
    } else {
      JudgeResults(of, set, counts);
    }
  }

  void JudgeResults(const ComparedRecords& of, const char* set, VerdictCounts& counts) {
    bool failed = false;
    for (const Record* r : of.candidate) {
      out_.suspects += r->result_class == "suspect";
      const bool invalid = !r->timing_invalid.empty();
      out_.times_invalid += invalid;
      if (Fails(r)) {
        AddFailure(*r, set, r->verdict, r->reason);
      } else if (r->outcome == "unsupported") {
        AddFailure(*r, set, "unsupported", r->reason);
      } else if (invalid) {
        AddFailure(*r, set, "timing_invalid", r->timing_invalid);
      } else {
        continue;
      }
      failed = true;
    }
    if (failed) {
      ++counts.failed;
    } else if (Has(of.candidate, "pass")) {
      ++counts.passed;
      if (run_.has_reference) pairs_.push_back({FastestOf(of.candidate), FastestOf(of.reference)});
    } else if (Has(of.candidate, "inconclusive")) {
      ++counts.inconclusive;
    } else {
      ++counts.not_run;  // set aside, or missing
    }
  }

  void AddFailure(const Record& r, const char* set, std::string_view what, const std::string& reason) {
    ++out_.failures_in_all;
    if (out_.failures.size() == kMostFailures) return;
    CandidateFailure& failure = out_.failures.emplace_back();
    failure.set = set, failure.what = what, failure.reason = reason;
    failure.case_id = r.case_id, failure.implementation = r.implementation;
    failure.where = r.where, failure.arithmetic = r.lower_class_name;
    if (failure.arithmetic.empty()) failure.why_unexplained = ExplainUnknownArithmetic(r, what);
    failure.worst_elements = r.worst_elements, failure.reproduce = r.reproduce;
  }

  // Adds findings of all results together, which single results are too small to show.
  void AddPooled() {
    std::vector<Record> counted;
    for (const auto& [id, of] : by_case_) {
      for (const Record* r : of.candidate) counted.push_back(*r);
    }
    for (const PooledAnswer& found : FindPooled(counted)) {
      if (!found.proves) continue;
      ++out_.failures_in_all;
      CandidateFailure& failure = out_.failures.emplace_back();
      failure.what = "pooled", failure.implementation = found.implementation;
      failure.reason = fmt::format("{} {}: {}", found.op, found.dtype, found.Text());
    }
  }

  void Decide() {
    const VerdictCounts &v = out_.visible, &h = out_.hidden;
    if (out_.failures_in_all > 0) {
      out_.verdict = RulingVerdict::kRejected;
      out_.reason = RejectedLine(out_);
      out_.explanation = ExplainRejection(out_);
      return;
    }
    const std::string why = !run_.broken.empty()        ? run_.broken
                            : v.not_run + h.not_run > 0 ? "not all cases have run"
                            : v.passed + h.passed == 0  ? "no case passed by which a wrong kernel would fail"
                                                        : "";
    if (!why.empty()) {
      out_.reason = why;
      out_.explanation = ExplainError(out_);
      return;
    }
    out_.verdict = RulingVerdict::kAccepted;
    out_.reason = AcceptedLine(out_);
    out_.explanation = ExplainAcceptance(out_);
  }

  const JudgedRun& run_;
  const std::map<std::string, ComparedRecords> by_case_;
  std::vector<SpeedPair> pairs_;
  Ruling out_;
};

}  // namespace

Ruling JudgeCandidate(const JudgedRun& run) {
  return Judging(run).Judge();
}

Ruling MakeUnloadedRuling(const std::string& reason) {
  Ruling ruling;
  ruling.verdict = RulingVerdict::kRejected;
  ruling.failures_in_all = 1;
  CandidateFailure& failure = ruling.failures.emplace_back();
  failure.what = "load", failure.reason = reason;
  ruling.reason = RejectedLine(ruling);
  ruling.explanation = ExplainRejection(ruling);
  ruling.speed.why = "nothing ran";
  return ruling;
}

Ruling MakeUnjudgedRuling(const std::string& reason) {
  Ruling ruling;
  ruling.reason = reason;
  ruling.explanation = ExplainError(ruling);
  ruling.speed.why = "nothing ran";
  return ruling;
}

}  // namespace assay

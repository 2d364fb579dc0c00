// SPDX-License-Identifier: Apache-2.0
// Ruling on a candidate, a written kernel that is compared with a reference: plain data, shown as text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/model/run_comparison.h"

namespace assay {

enum class RulingVerdict : uint8_t {
  kAccepted,
  kRejected,
  kError,  // nothing can be said of the candidate, for a reason that is none of its own
};
const char* Name(RulingVerdict verdict);  // "accepted"

// Counts of the visible or of the hidden cases.
struct VerdictCounts {
  size_t cases = 0;
  size_t passed = 0;
  size_t inconclusive = 0;  // nothing is wrong, but zeros would have passed as well
  size_t failed = 0;
  size_t disputed = 0;  // the reference fails too, so that nothing is held against the candidate
  size_t not_run = 0;
};

inline constexpr const char* kNoFailureOfValues = "it is no failure of values";

struct CandidateFailure {
  std::string set;   // "visible" or "hidden"; "": of the file or all results together
  std::string what;  // a verdict, "unsupported", "timing_invalid", "pooled" or "load"
  std::string case_id, implementation, reason, where, worst_elements, reproduce;
  std::string arithmetic;  // a weaker one that explains the errors; "": why_unexplained says why there is none
  std::string why_unexplained = kNoFailureOfValues;
};

struct SpeedRatios {
  std::string case_id, candidate, reference;  // implementations
  double candidate_s = 0, reference_s = 0;
  double candidate_wall_s = 0, reference_wall_s = 0;  // by the host's clock around the calls; 0: not known
  TimeComparison time;                                // ratio: candidate's time over the reference's
};

struct CandidateSpeed {
  std::vector<SpeedRatios> cases;
  TimeComparison all;              // of the typical case; of a single one, of that
  TimeComparison wall;             // the same by the host's clock around the calls; kNotTimed: not known
  std::string why;                 // there is no ratio; "": there is
  std::vector<std::string> notes;  // what a reader of the ratio must know
};

struct Ruling {
  RulingVerdict verdict = RulingVerdict::kError;
  std::string reason;       // in one line
  std::string explanation;  // in words, with what to try
  VerdictCounts visible, hidden;
  std::vector<CandidateFailure> failures;  // in the order of the cases; the first one explains
  size_t failures_in_all = 0;
  size_t suspects = 0;       // results that pass, and whose errors are larger than usual
  size_t times_invalid = 0;  // of the candidate
  CandidateSpeed speed;
};

}  // namespace assay

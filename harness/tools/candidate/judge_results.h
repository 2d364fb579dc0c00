// SPDX-License-Identifier: Apache-2.0
// From the records of candidate and reference to what became of the candidate.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/plan/suite.h"
#include "harness/tools/candidate/ruling.h"

namespace assay {

// The names under which both files run.
inline constexpr const char* kCandidate = "candidate";
inline constexpr const char* kReference = "reference";

struct JudgedRun {
  std::span<const PlannedCase> visible, hidden;
  std::span<const Record> records;
  bool timed = true;
  bool has_reference = true;  // else the golden values alone say what is right
  std::string broken;         // why the run did not come to its end; "": it did
};

// A case on which every implementation of a reference fails is disputed. Of all others the candidate must have one
// that passes, and none that fails.
Ruling JudgeCandidate(const JudgedRun& run);

// Rulings for a candidate or a reference that could not be loaded.
Ruling MakeUnloadedRuling(const std::string& reason);
Ruling MakeUnjudgedRuling(const std::string& reason);

// A judgement in words, for people and for programs that write kernels.
//
// In one line each.
std::string RejectedLine(const Ruling& ruling);
std::string AcceptedLine(const Ruling& ruling);

std::string ExplainRejection(const Ruling& ruling);
std::string ExplainAcceptance(const Ruling& ruling);
std::string ExplainError(const Ruling& ruling);

// "1.42 times as fast as the reference (1.38 to 1.47)", or why that is not known.
std::string SpeedText(const CandidateSpeed& speed);

// How fast a candidate is beside the reference, of what was timed in turns.
struct SpeedPair {
  const Record *candidate = nullptr, *reference = nullptr;
};

// The fastest implementation that has a time; null if none has.
const Record* FastestOf(const std::vector<const Record*>& records);

CandidateSpeed CompareSpeed(const std::vector<SpeedPair>& pairs);

}  // namespace assay

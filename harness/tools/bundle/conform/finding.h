// SPDX-License-Identifier: Apache-2.0
// Whether a run conforms to a profile, in one sentence. It follows from records alone, so that whoever verifies a
// bundle comes to the same.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/record_list.h"
#include "harness/plan/plan.h"
#include "harness/tools/bundle/conform/profile.h"

namespace assay {

inline constexpr const char* kConformanceFile = "conformance.json";
inline constexpr const char* kControlFile = "control/results.jsonl";
inline constexpr const char* kControlBackend = "corpus";
// Keys in environment.json: the profile (written at the start) and the conformance sentence.
inline constexpr const char *kProfileKey = "profile", *kConformanceKey = "conformance";
inline constexpr size_t kConformanceSample = 1000;  // results whose outputs a bundle has, or all

// Result of one case over all implementations that were offered for it.
enum class ResultEnd { kMet, kWaived, kInconclusive, kUnsupported, kWeaker, kSuspect, kWrong };

struct FeatureFinding {
  std::string name;  // "matmul/f32"
  bool mandatory = false;
  size_t cases = 0, met = 0, waived = 0, inconclusive = 0, unsupported = 0, weaker = 0, suspect = 0, wrong = 0;
  std::string open_case, wrong_case;  // the first that is neither met nor waived, and the first that is wrong

  // A feature holds if at least 1 case passes, at most ceil(10 %) are waived and at most ceil(1 %) are inconclusive.
  // Some seeds make data of a case inconclusive for any implementation. Declaring a weaker contract does not help,
  // since it is counted before.
  bool Holds() const;
  bool Hurts() const;        // so that nothing conforms: something is wrong, or it is mandatory and does not hold
  std::string Text() const;  // "12 of 206 cases unsupported, such as ..."
};

struct ControlFinding {
  std::vector<std::string> accepted;  // of the faulty kernels: no result of theirs was found wrong
  std::vector<std::string> rejected;  // of the sound ones: not all of their results passed, or there is none
  size_t faulty = 0, sound = 0;       // as the profile has them
  bool Holds() const { return accepted.empty() && rejected.empty(); }
  std::string Text() const;
};

struct ConformanceFinding {
  std::string profile;
  std::vector<FeatureFinding> features;  // by name, mandatory ones first
  std::set<std::string> waivers;
  std::set<std::string> devices;  // that records are of; a sentence is about one
  std::string sandbox;            // of the workers, if it was not "full"
  ControlFinding control;

  bool Conforms() const;
  // "CONFORMANT conformance-1.0: ... " or "NOT CONFORMANT ...: why".
  std::string Sentence() const;
};

ControlFinding JudgeControl(const Profile& profile, const RecordView& records);

// `plan`: its ids are the cases; `records` those of the one backend that was handed in.
ConformanceFinding JudgeConformance(const Profile& profile, const Plan& plan, const RecordView& records,
                                    ControlFinding control);

// With the profile's hash and the seed.
Json ConformanceJson(const Profile& profile, const ConformanceFinding& finding, uint64_t seed);

}  // namespace assay

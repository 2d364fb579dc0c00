// SPDX-License-Identifier: Apache-2.0
// Counts of `assay power` (harness/tools/power/README.md): which faults each rule catches, and how often it rejects a
// correct result. Rule 0 is assay's own verdict, the others are peers.h's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/tools/power/peers.h"

namespace assay {

inline constexpr size_t kRules = 5;
inline constexpr size_t kAssayRule = 0;
std::string_view RuleName(size_t rule);  // "assay", "torch", ...
using Opinions = std::array<Opinion, kRules>;

// The floor that a release keeps: with a smaller share of effective faults caught, or any false alarm, the verb fails.
inline constexpr double kLeastCaught = 0.99;

// Number of correct tensors of held-back seeds that a claim about false alarms needs.
inline constexpr int64_t kLeastHeldBack = 2000;

// A pair counts as effective where the fault changes some element by more than this many times the largest error of
// any correct schedule there.
inline constexpr double kEffective = 2;

// One fault on one case. A rule that rejects it has caught it.
struct FaultPair {
  std::string fault, case_id;
  double effect = 0;        // max over elements of |effect| / envelope of the whole legal corpus; may be infinite
  double class_effect = 0;  // as `effect`, over the schedules alone that meet the contract which the fault declares
  Opinions opinions{};
  std::string reason;              // why assay missed it, or by what it caught it
  uint32_t channels = 0;           // that reject it, see power_groups.h
  double tensor_effect = 0;        // max |effect| / max envelope, at whatever elements
  std::vector<std::string> named;  // by its explanation, where one is asked for: see ListNames()
};

// A correct schedule that assay rejected.
struct FalseAlarm {
  std::string implementation, case_id, reason;
  bool held_back = false;
};

struct LegalCounts {
  int64_t tensors = 0;
  std::array<int64_t, kRules> judged{}, alarms{};
  void Add(const Opinions& opinions);
  void Add(const LegalCounts& other);
};

// Counts of one case, or of all together.
struct PowerTally {
  std::vector<FaultPair> pairs;
  LegalCounts legal;        // every legal tensor
  LegalCounts legal_whole;  // of them, those that went through the whole flow of `assay run`
  LegalCounts held_back;    // of these, those of seeds that nothing was tuned on
  std::vector<FalseAlarm> false_alarms;
  std::vector<std::string> could_not_run;  // implementations of the corpus, with the case and the reason
  std::vector<std::string> unsupported;    // cases for which the corpus has nothing

  void Add(PowerTally other);
};

struct RuleSummary {
  int64_t effective_pairs = 0, effective_caught = 0;  // pairs where the rule has an opinion
  int64_t tensor_pairs = 0, tensor_caught = 0;        // effective by tensor_effect
  int64_t class_pairs = 0, class_caught = 0;          // by class_effect
  int64_t all_pairs = 0, all_caught = 0;
  int64_t not_applicable_pairs = 0;
  int64_t legal_tensors = 0, false_alarms = 0, not_applicable_tensors = 0;
  int64_t whole_tensors = 0;  // in the whole flow
  int64_t held_back_tensors = 0, held_back_alarms = 0;

  double CaughtFraction() const;  // 1 when there are no pairs
  double TensorCaughtFraction() const;
  double ClassCaughtFraction() const;
  double CaughtAllFraction() const;
};

RuleSummary SummariseRule(const PowerTally& tally, size_t rule);

}  // namespace assay

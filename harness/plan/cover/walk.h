// SPDX-License-Identifier: Apache-2.0
// A search for a combination of levels that comes to an end: all values of the knobs that decide it, small to large.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/plan/cover/candidates.h"

namespace assay {

// Cache of the answers that walks need repeatedly.
class WalkMemo {
 public:
  // `candidates` outlives this and gets no further values.
  explicit WalkMemo(const Candidates& candidates);

  const Candidates& candidates() const { return candidates_; }
  int LevelOf(int dimension, const Choice& choice);
  // Why the choice is no case; "": it is one.
  const std::string& Refusal(const Choice& choice);

 private:
  int FindRefusal(const Choice& choice);

  const Candidates& candidates_;
  std::vector<std::vector<int8_t>> levels_;  // of dimensions that several knobs decide, for each of their values
  std::unordered_map<std::u16string, int> refusal_of_;  // by choice; index into refusals_
  std::vector<std::string> refusals_;
  std::map<std::string, int> refusal_index_;
};

// The values of each knob that may stand in a case with the combination.
using AllowedValues = std::vector<std::vector<int>>;

struct WalkEnd {
  std::optional<Choice> found;
  // Nothing was found, and no value of the knobs that decide the combination is left.
  bool ended = false;
  // Choices refused by the operator or as useless, by the reason without its numbers. Other knobs may make them valid.
  std::map<std::string, std::vector<Choice>> refused;
  std::map<std::string, int> refusals;  // how often each reason was given
};

// Each size has its smallest value. Any other knob has the value with which a case of middling sizes has the fewest
// elements and, among those, the fewest operations.
Choice CheapestChoice(const Candidates& candidates);

inline constexpr int kNoLimit = std::numeric_limits<int>::max();

// Finds the first valid choice with the combination, small sizes first. All knobs that do not decide it stay as in
// `others`. If one size makes a case too large, so does every larger one; the same holds for a level that grows with
// it. Stops after `most_refused` choices that were refused for other reasons, since the operator may need other values
// of the other knobs. A few sizes that are refused alike then stand for all, but not with kNoLimit.
WalkEnd WalkSmallToLarge(WalkMemo& memo, const Tuple& tuple, const AllowedValues& allowed, const Choice& others,
                         int most_refused);

// Merges the reasons of many cases into one: "conv: k=N has N axes, but i=N has N".
std::string WithoutNumbers(const std::string& text);

// The knobs that decide some level of the combination.
std::vector<bool> FindDecidingKnobs(const Candidates& candidates, const Tuple& tuple);

}  // namespace assay

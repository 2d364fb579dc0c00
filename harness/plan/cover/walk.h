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

// What walks ask for again and again.
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
  // By the operator or as useless, by reason without its numbers: another choice of the other knobs may do.
  std::map<std::string, std::vector<Choice>> refused;
  std::map<std::string, int> refusals;  // how often each reason was given
};

// Of what is no size, the value with which a case of middling sizes has the fewest elements, and of those the fewest
// operations; of a size the smallest.
Choice CheapestChoice(const Candidates& candidates);

inline constexpr int kNoLimit = std::numeric_limits<int>::max();

// The first choice with the combination that is a case, all knobs that do not decide it as in `others`. What is too
// large with one size is so with every larger one, and so is a level that grows with it.
// Stops after so many choices that were refused otherwise: the operator may want other values of the other knobs. A few
// sizes that are refused alike then stand for all; with kNoLimit none does.
WalkEnd WalkSmallToLarge(WalkMemo& memo, const Tuple& tuple, const AllowedValues& allowed, const Choice& others,
                         int most_refused);

// "conv: k=N has N axes, but i=N has N": what an operator says of many cases is one reason.
std::string WithoutNumbers(const std::string& text);

// The knobs that decide some level of the combination.
std::vector<bool> KnobsThatDecide(const Candidates& candidates, const Tuple& tuple);

}  // namespace assay

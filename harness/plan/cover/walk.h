// SPDX-License-Identifier: Apache-2.0
// A search for a combination of levels that comes to an end: all values of the knobs that decide it, small to large.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/cover/candidates.h"

namespace assay {

// The values of each knob that may stand in a case with the combination.
using AllowedValues = std::vector<std::vector<int>>;

struct WalkEnd {
  std::optional<Choice> found;
  // Nothing was found, and no value of the knobs that decide the combination is left.
  bool ended = false;
  std::vector<Choice> refused;          // by the operator or as useless; another choice of the other knobs may do
  std::map<std::string, int> refusals;  // how often each reason was given
};

// Of what is no size, the value with which a case of middling sizes has the fewest elements, and of those the fewest
// operations; of a size the smallest.
Choice CheapestChoice(const Candidates& candidates);

// The first choice with the combination that is a case, all knobs that do not decide it as in `others`. What is too
// large with one size is so with every larger one.
WalkEnd WalkSmallToLarge(const Candidates& candidates, const Tuple& tuple, const AllowedValues& allowed,
                         const Choice& others);

// The knobs that decide some level of the combination.
std::vector<bool> KnobsThatDecide(const Candidates& candidates, const Tuple& tuple);

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Random search for a case that has a combination of levels, which finds most of those that a case can have.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/plan/cover/candidates.h"

namespace assay {

struct Candidate {
  Choice choice;
  CaseSpec spec;
  Levels levels;
};

// Binds the choice; returns "" or why there is no such case.
std::string Complete(const Candidates& candidates, Candidate& candidate);

// Returns a plain choice: small values, which the operator takes.
Choice FindBase(const Candidates& candidates, std::mt19937_64& random);

// The values of each knob that may stand in a case with the combination.
using AllowedValues = std::vector<std::vector<int>>;
// Narrows the values by those dimensions that one knob decides.
AllowedValues FindAllowed(const Candidates& candidates, const Tuple& tuple);

// The knobs that decide some level of the combination.
std::vector<bool> FindDecidingKnobs(const Candidates& candidates, const Tuple& tuple);

// Draws some hundred choices and returns the first that is a case with the combination. Knobs that do not decide it
// stay as in `base`, but for one in three; in the first draw all of them do, if `begin_plain`.
std::optional<Candidate> DrawCase(const Candidates& candidates, const Choice& base, const Tuple& tuple,
                                  bool begin_plain, std::mt19937_64& random);

}  // namespace assay

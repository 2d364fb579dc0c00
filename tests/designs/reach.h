// SPDX-License-Identifier: Apache-2.0
// Searches for a case that has a combination of levels: at random (harness/plan/cover/draws.h), and by a walk over all
// values that decide it, which comes to an end.
#pragma once

#include <random>
#include <string>

#include "tests/designs/walk.h"

namespace assay {

struct Reached {
  std::optional<Candidate> candidate;
  std::string why;             // where there is none and that is sure: the most frequent reason
  bool is_impossible = false;  // all values that decide it were tried; else this search did not find it
};

class Reach {
 public:
  // Both outlive this. Searches for a plain case first.
  Reach(const Candidates& candidates, std::mt19937_64& random);

  // Calls a combination impossible only where no value of some knob gives both levels.
  Reached SearchAtRandom(const Tuple& tuple);
  // To the end. What the operator refuses with the cheapest values of the other knobs is tried with others of these.
  Reached Walk(const Tuple& tuple);

 private:
  std::optional<Reached> FindEmptyKnob(const AllowedValues& allowed) const;

  const Candidates& candidates_;
  WalkMemo memo_;
  std::mt19937_64& random_;
  Choice base_;      // what knobs stay at that nothing turns
  Choice cheapest_;  // the same, where only the limits count
};

}  // namespace assay

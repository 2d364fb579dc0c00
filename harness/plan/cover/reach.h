// SPDX-License-Identifier: Apache-2.0
// Searches for a case that has a combination of levels: at random, which finds most of them at little cost, and by a
// walk over all values that decide it, which comes to an end.
#pragma once

#include <random>
#include <string>

#include "harness/plan/cover/walk.h"

namespace assay {

struct Candidate {
  Choice choice;
  CaseSpec spec;
  Levels levels;
};

struct Reached {
  std::optional<Candidate> candidate;
  std::string why;             // where there is none: the most frequent reason
  bool is_impossible = false;  // all values that decide it were tried; else this search did not find it
};

class Reach {
 public:
  // Both outlive this. Searches for a plain case first.
  Reach(const Candidates& candidates, std::mt19937_64& random);

  // A plain case: small values, which the operator takes.
  const Choice& base() const { return base_; }
  // Binds the choice; "" or why there is no such case.
  std::string Complete(Candidate& candidate) const;

  // Some hundred random choices. Calls a combination impossible only where no value of some knob gives both levels.
  Reached SearchAtRandom(const Tuple& tuple);
  // To the end. What the operator refuses with the cheapest values of the other knobs is tried with others of these.
  Reached Walk(const Tuple& tuple);

 private:
  // Modulo is not quite uniform, but the same everywhere, which std::uniform_int_distribution is not.
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  void FindBase();
  AllowedValues AllowedBy(const Tuple& tuple) const;
  std::optional<Reached> FindEmptyKnob(const AllowedValues& allowed) const;
  Choice Draw(const AllowedValues& allowed, const std::vector<bool>& decides, int tried);

  const Candidates& candidates_;
  WalkMemo memo_;
  std::mt19937_64& random_;
  Choice base_;      // what knobs stay at that nothing turns
  Choice cheapest_;  // the same, where only the limits count
};

}  // namespace assay

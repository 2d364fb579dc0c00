// SPDX-License-Identifier: Apache-2.0
// Cases of one operator without end, each once: some with combinations that no case had, random ones, and neighbours of
// those whose results came closest to their limits. The sequence follows from the declaration, the limits, the seed and
// what Judged() is told, and from nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/cover/draws.h"

namespace assay {

// Combinations of two or three.
struct Explored {
  int strength = 2;
  int64_t possible = 0;  // all but those for which some hundred draws gave no case
  int64_t covered = 0;   // a backend took a case with it
  int64_t refused = 0;   // there was such a case, and no backend took it
};

class Exploration {
 public:
  // Precondition: the operator declares dimensions, and has cases of these types. It outlives this.
  Exploration(const Operator& op, const CoverLimits& limits, uint64_t seed,
              const std::vector<std::string>& dtypes = {});
  // Canonical, with a seed of its own; nothing where many tries gave only cases that were there before.
  std::optional<CaseSpec> Next();

  // Takes the result of a case that Next gave. `margin` is the largest one among its passing results, 1 being the
  // limit. Without it none passed, and no neighbours of the case are tried.
  void Judged(const CaseSpec& spec, bool taken, std::optional<double> margin);

  // Pairs; and threes, once each pair was tried.
  std::vector<Explored> Coverage() const;

 private:
  struct Near {
    int64_t margin = 0;  // in steps, so that a last bit changes nothing
    std::string dtypes;
    Choice choice;
  };
  struct Set {
    int strength;
    TupleSet tuples;
    std::vector<uint8_t> state;  // of each tuple
  };
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool IsSize(size_t knob) const;
  // Begins with the combinations of so many dimensions.
  void Open(int strength);
  // The levels for which draws give no case.
  std::set<DimensionLevel> FindUnreachable();
  // Whether a pair of the three was given up.
  bool HasPairNotFound(const Tuple& three) const;
  std::optional<int64_t> NextMissing();
  std::optional<Choice> WithMissing();
  std::optional<Choice> Neighbour();
  Choice RandomChoice();
  int RandomValue(size_t knob);
  int ValueNear(size_t knob, int value);
  // With this choice, unless there is no such case or it was there before.
  std::optional<CaseSpec> Take(const Choice& choice);
  void Mark(const Levels& levels, uint8_t state);

  Candidates candidates_;
  Candidates declared_;  // without the values that are added to candidates_
  std::mt19937_64 random_;
  std::vector<int64_t> largest_;  // of each knob that is a size; 0: it is none
  int turn_ = 0;
  Choice base_;                                     // a plain case
  std::vector<Set> sets_;                           // pairs, then threes
  std::vector<int64_t> missing_;                    // of the last set, with some that are no longer
  std::vector<std::pair<Levels, uint8_t>> before_;  // until threes are counted
  std::vector<Near> near_;                          // largest margin first
  std::set<std::string> seen_;                      // ids
  std::map<std::string, Choice> open_;              // not yet judged, by id
};

}  // namespace assay

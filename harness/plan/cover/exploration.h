// SPDX-License-Identifier: Apache-2.0
// Cases of one operator without end, each once: those of covering designs, random ones, and neighbours of those whose
// results came closest to their limits. The sequence follows from the declaration, the limits, the seed and what
// Judged() is told, and from nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/cover/cover.h"

namespace assay {

// Combinations of two or three, of those that a case can have.
struct Explored {
  int strength = 2;
  int64_t possible = 0;
  int64_t covered = 0;  // a backend took a case with it
  int64_t refused = 0;  // there was such a case, and no backend took it
};

class Exploration {
 public:
  // Precondition: the operator declares dimensions, and has cases of these types. It outlives this.
  Exploration(const Operator& op, const CoverLimits& limits, uint64_t seed,
              const std::vector<std::string>& dtypes = {});
  // The first of the designs that supply half of the cases.
  static CoverOptions FirstDesign(const CoverLimits& limits, uint64_t seed, const std::vector<std::string>& dtypes);

  // Canonical, with a seed of its own; nothing where many tries gave only cases that were there before.
  std::optional<CaseSpec> Next();

  // Takes the result of a case that Next gave. `margin` is the largest one among its passing results, 1 being the
  // limit. Without it none passed, and no neighbours of the case are tried.
  void Judged(const CaseSpec& spec, bool taken, std::optional<double> margin);

  // Pairs; and threes, once all pairs have been tried.
  std::vector<Explored> Coverage() const;

 private:
  struct Near {
    int64_t margin = 0;  // in steps, so that a last bit changes nothing
    std::string dtypes;
    Choice choice;
  };
  struct Set {
    CoveredSet of;
    std::vector<uint8_t> state;  // of each tuple
  };
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool IsSize(size_t knob) const;
  std::optional<Choice> FromDesign();
  void MakeNextDesign();
  std::optional<Choice> Neighbour();
  Choice RandomChoice();
  int RandomValue(size_t knob);
  int ValueNear(size_t knob, int value);
  // With this choice, unless there is no such case or it was there before.
  std::optional<CaseSpec> Take(const Choice& choice);
  void Mark(const Levels& levels, uint8_t state);
  bool BringsNew(const Levels& levels) const;

  const Operator* op_;
  CoverLimits limits_;
  uint64_t seed_;
  std::vector<std::string> dtypes_;
  Candidates candidates_;
  std::mt19937_64 random_;
  std::vector<int64_t> largest_;  // of each knob that is a size; 0: it is none
  std::vector<int> declared_;     // of each knob, how many values its list has before any is added
  int turn_ = 0;
  int designs_ = 0;
  Cover design_;
  size_t next_of_design_ = 0;
  std::vector<Set> sets_;
  std::vector<std::pair<Levels, uint8_t>> before_;  // until threes are counted
  std::vector<Near> near_;                          // largest margin first
  std::set<std::string> seen_;                      // ids
  std::map<std::string, Choice> open_;              // not yet judged, by id
};

}  // namespace assay

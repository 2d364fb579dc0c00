// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/walk.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr int kMostSteps = 400000;  // choices looked at, until a walk gives up

class Walk {
 public:
  Walk(const Candidates& candidates, const Tuple& tuple, const AllowedValues& allowed, const Choice& others)
      : candidates_(candidates), tuple_(tuple), allowed_(allowed), choice_(others) {
    const std::vector<bool> decides = KnobsThatDecide(candidates, tuple);
    for (const bool sizes : {false, true}) {  // sizes last: what is too large ends their values
      for (size_t knob = 0; knob < decides.size(); ++knob) {
        if (!decides[knob] || candidates.IsSize(knob) != sizes) continue;
        knobs_.push_back(knob);
        choice_[knob] = allowed[knob][0];
      }
    }
    for (const DimensionLevel& part : tuple) {
      size_t last = 0;
      for (const int knob : candidates.KnobsOf(part.dimension)) {
        const auto at = std::ranges::find(knobs_, static_cast<size_t>(knob)) - knobs_.begin();
        last = std::max(last, static_cast<size_t>(at));
      }
      known_after_.push_back(last);
    }
  }

  WalkEnd Go() {
    Descend(0);
    end_.ended = !IsOver();
    return std::move(end_);
  }

 private:
  bool IsOver() const { return end_.found || steps_ > kMostSteps; }

  void Descend(size_t at) {
    const size_t knob = knobs_[at];
    const bool is_last = at + 1 == knobs_.size();
    for (const int value : allowed_[knob]) {
      choice_[knob] = value;
      if (!Fits(at)) continue;
      const std::string refusal = is_last || candidates_.IsSize(knob) ? Refusal() : "";
      const bool too_large = candidates_.IsLimit(refusal);
      if (too_large) ++end_.refusals[refusal];
      if (too_large && candidates_.IsSize(knob)) break;
      if (!is_last) Descend(at + 1);
      if (is_last && !too_large) Meet(refusal);
      if (IsOver()) return;
    }
    choice_[knob] = allowed_[knob][0];
  }

  // Whether the levels are the wanted ones that this knob and those before it decide.
  bool Fits(size_t at) {
    std::optional<CaseSpec> written;
    for (size_t i = 0; i < tuple_.size(); ++i) {
      if (known_after_[i] != at) continue;
      ++steps_;
      if (candidates_.LevelOf(tuple_[i].dimension, choice_, written) != tuple_[i].level) return false;
    }
    return true;
  }

  std::string Refusal() {
    ++steps_;
    const Result<CaseSpec> spec = candidates_.CaseOf(choice_);
    return spec ? "" : spec.error().message;
  }

  void Meet(const std::string& refusal) {
    if (refusal.empty()) {
      end_.found = choice_;
      return;
    }
    ++end_.refusals[refusal];
    end_.refused.push_back(choice_);
  }

  const Candidates& candidates_;
  const Tuple& tuple_;
  const AllowedValues& allowed_;
  Choice choice_;
  std::vector<size_t> knobs_;        // that decide the combination
  std::vector<size_t> known_after_;  // of each level of it, the last of these knobs that decides it
  int steps_ = 0;
  WalkEnd end_;
};

}  // namespace

std::vector<bool> KnobsThatDecide(const Candidates& candidates, const Tuple& tuple) {
  std::vector<bool> decides(candidates.knobs());
  for (const DimensionLevel& part : tuple) {
    for (const int knob : candidates.KnobsOf(part.dimension)) decides[static_cast<size_t>(knob)] = true;
  }
  return decides;
}

Choice CheapestChoice(const Candidates& candidates) {
  Choice choice(candidates.knobs());
  for (size_t knob = 0; knob < choice.size(); ++knob) {
    if (candidates.IsSize(knob)) choice[knob] = candidates.values(knob) / 2;
  }
  CoverLimits least = candidates.CostOf(choice);
  for (size_t knob = 0; knob < choice.size(); ++knob) {
    for (int value = 1; !candidates.IsSize(knob) && value < candidates.values(knob); ++value) {
      const int before = std::exchange(choice[knob], value);
      const CoverLimits cost = candidates.CostOf(choice);
      if (cost < least) {
        least = cost;
      } else {
        choice[knob] = before;
      }
    }
  }
  for (size_t knob = 0; knob < choice.size(); ++knob) {
    if (candidates.IsSize(knob)) choice[knob] = 0;
  }
  return choice;
}

WalkEnd WalkSmallToLarge(const Candidates& candidates, const Tuple& tuple, const AllowedValues& allowed,
                         const Choice& others) {
  return Walk(candidates, tuple, allowed, others).Go();
}

}  // namespace assay

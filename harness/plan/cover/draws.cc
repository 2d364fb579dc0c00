// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/draws.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace assay {
namespace {

constexpr int kDraws = 300;     // cases drawn for one combination
constexpr int kSureDraws = 25;  // of them, when one knob decides each level and all were refused for one reason
constexpr int kTriesForBase = 1000;

// Modulo is not quite uniform, but the same everywhere, which std::uniform_int_distribution is not.
int Below(int bound, std::mt19937_64& random) {
  return static_cast<int>(random() % static_cast<uint64_t>(bound));
}

// Small values come first: half of the draws prefer them for the knobs that decide.
Choice Draw(const Choice& base, const AllowedValues& allowed, const std::vector<bool>& decides, bool prefers_small,
            bool is_plain, std::mt19937_64& random) {
  Choice choice = base;
  for (size_t knob = 0; knob < allowed.size(); ++knob) {
    const int count = static_cast<int>(allowed[knob].size());
    if (decides[knob]) {
      const int at = Below(count, random);
      choice[knob] = allowed[knob][static_cast<size_t>(prefers_small ? std::min(at, Below(count, random)) : at)];
    } else if (!is_plain && Below(3, random) == 0) {
      choice[knob] = allowed[knob][static_cast<size_t>(Below(count, random))];
    }
  }
  return choice;
}

}  // namespace

std::string Complete(const Candidates& candidates, Candidate& candidate) {
  Result<CaseSpec> spec = candidates.CaseOf(candidate.choice);
  if (!spec) return std::move(spec.error().message);
  candidate.spec = *std::move(spec);
  candidate.levels = candidates.LevelsOf(candidate.choice, candidate.spec);
  return "";
}

Choice FindBase(const Candidates& candidates, std::mt19937_64& random) {
  const Choice smallest(candidates.knobs());
  for (int tried = 0; tried < kTriesForBase; ++tried) {
    Candidate candidate{smallest, {}, {}};
    for (size_t knob = 0; tried > 0 && knob < smallest.size(); ++knob) {
      const int count = std::min(candidates.values(knob), 4);
      const int one = Below(count, random);
      candidate.choice[knob] = std::min(one, Below(count, random));
    }
    if (Complete(candidates, candidate).empty()) return std::move(candidate.choice);
  }
  return smallest;
}

AllowedValues FindAllowed(const Candidates& candidates, const Tuple& tuple) {
  AllowedValues allowed(candidates.knobs());
  for (size_t knob = 0; knob < allowed.size(); ++knob) {
    allowed[knob].resize(static_cast<size_t>(candidates.values(knob)));
    std::iota(allowed[knob].begin(), allowed[knob].end(), 0);
  }
  Choice choice(candidates.knobs());
  for (const auto& [dimension, level] : tuple) {
    const std::vector<int>& knobs = candidates.KnobsOf(dimension);
    if (knobs.size() > 1) continue;
    int& value = choice[static_cast<size_t>(knobs[0])];
    std::erase_if(allowed[static_cast<size_t>(knobs[0])], [&, d = dimension, l = level](int possible) {
      value = possible;
      return candidates.LevelOf(d, choice) != l;
    });
  }
  return allowed;
}

std::vector<bool> FindDecidingKnobs(const Candidates& candidates, const Tuple& tuple) {
  std::vector<bool> decides(candidates.knobs());
  for (const DimensionLevel& part : tuple) {
    for (const int knob : candidates.KnobsOf(part.dimension)) decides[static_cast<size_t>(knob)] = true;
  }
  return decides;
}

std::optional<Candidate> DrawCase(const Candidates& candidates, const Choice& base, const Tuple& tuple,
                                  bool begin_plain, std::mt19937_64& random) {
  const AllowedValues allowed = FindAllowed(candidates, tuple);
  if (std::ranges::any_of(allowed, [](const std::vector<int>& values) { return values.empty(); })) return std::nullopt;
  const std::vector<bool> decides = FindDecidingKnobs(candidates, tuple);
  const bool one_knob_each = std::ranges::all_of(
      tuple, [&](const DimensionLevel& part) { return candidates.KnobsOf(part.dimension).size() == 1; });
  std::set<std::string> refusals;
  for (int tried = 0; tried < kDraws; ++tried) {
    Candidate candidate{Draw(base, allowed, decides, tried % 2 == 0, begin_plain && tried == 0, random), {}, {}};
    std::optional<CaseSpec> written;
    const bool fits = one_knob_each || std::ranges::all_of(tuple, [&](const DimensionLevel& part) {
                        return candidates.LevelOf(part.dimension, candidate.choice, written) == part.level;
                      });
    if (!fits) continue;
    std::string refusal = Complete(candidates, candidate);
    if (refusal.empty()) return candidate;
    refusals.insert(std::move(refusal));
    if (one_knob_each && tried >= kSureDraws && refusals.size() == 1) break;
  }
  return std::nullopt;
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/exploration.h"

#include <algorithm>
#include <cmath>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr int kTries = 200;           // of random choices until a case is new and taken by the operator
constexpr size_t kMostNear = 24;      // cases whose neighbourhood is searched
constexpr size_t kMostNearAlike = 4;  // of one list of types: else the tightest bound would have them all
constexpr double kMarginSteps = 64;
constexpr uint64_t kDataSeeds = 1000000;
// State of a tuple: a case with it was given, and then refused or taken when it was judged.
constexpr uint8_t kGiven = 1, kRefused = 2, kTaken = 3;

}  // namespace

Exploration::Exploration(const Operator& op, const CoverLimits& limits, uint64_t seed,
                         const std::vector<std::string>& dtypes)
    : op_(&op), limits_(limits), seed_(seed), dtypes_(dtypes), candidates_(op, limits, dtypes), random_(seed) {
  for (const Knob& knob : candidates_.space().knobs) {
    largest_.push_back(LargestSize(knob));
    declared_.push_back(static_cast<int>(knob.values.size()));
  }
  MakeNextDesign();
}

CoverOptions Exploration::FirstDesign(const CoverLimits& limits, uint64_t seed,
                                      const std::vector<std::string>& dtypes) {
  return {.strength = 2, .limits = limits, .seed = seed, .dtypes = dtypes};
}

bool Exploration::IsSize(size_t knob) const {
  return largest_[knob] > 0;
}

// Half of the cases are those of a design while it lasts, a quarter lie near large margins, a quarter are random.
std::optional<CaseSpec> Exploration::Next() {
  const int turn = turn_++ % 4;
  for (int tried = 0; tried < kTries; ++tried) {
    std::optional<Choice> choice;
    if (turn % 2 == 0) choice = FromDesign();
    if (turn == 1) choice = Neighbour();
    if (auto spec = Take(choice ? *choice : RandomChoice())) return spec;
  }
  return std::nullopt;
}

// Pairs first; then threes; then pairs over and over, each time in other cases.
void Exploration::MakeNextDesign() {
  CoverOptions options = FirstDesign(limits_, seed_ + static_cast<uint64_t>(designs_), dtypes_);
  if (designs_ == 1) options.strength = 3;
  design_ = MakeCover(*op_, options);
  next_of_design_ = 0;
  if (++designs_ > 2) return;
  for (CoveredSet& set : design_.sets) {
    if (sets_.empty() || set.strength == 3) {
      const auto count = static_cast<size_t>(set.tuples.size());
      sets_.push_back({std::move(set), std::vector<uint8_t>(count)});
    }
  }
  if (designs_ < 2) return;
  for (const auto& [levels, state] : std::exchange(before_, {})) Mark(levels, state);
}

std::optional<Choice> Exploration::FromDesign() {
  for (int designs = 0; designs < 2; ++designs) {
    while (next_of_design_ < design_.choices.size()) {
      const Choice& choice = design_.choices[next_of_design_];
      const CaseSpec& spec = design_.cases[next_of_design_++];
      if (designs_ > 2 || BringsNew(candidates_.LevelsOf(spec))) return choice;
    }
    MakeNextDesign();
  }
  return std::nullopt;
}

// Turns one knob or two of a case that came close to a limit. Those that came closest are taken more often.
std::optional<Choice> Exploration::Neighbour() {
  if (near_.empty()) return std::nullopt;
  const int count = static_cast<int>(near_.size());
  Choice choice = near_[static_cast<size_t>(std::min(Below(count), Below(count)))].choice;
  for (int turns = 1 + Below(2); turns > 0; --turns) {
    const auto knob = static_cast<size_t>(Below(static_cast<int>(candidates_.knobs())));
    choice[knob] = ValueNear(knob, choice[knob]);
  }
  return choice;
}

int Exploration::ValueNear(size_t knob, int value) {
  if (!IsSize(knob) || Below(4) == 0) return RandomValue(knob);
  const int64_t number = *ParseNumber<int64_t>(candidates_.space().knobs[knob].values[static_cast<size_t>(value)][0]);
  const int64_t around[] = {number - 1, number + 1, number + 2, number / 2, 2 * number, 2 * number + 1};
  const int64_t chosen = std::clamp<int64_t>(around[Below(std::size(around))], 1, largest_[knob]);
  return candidates_.Add(knob, std::to_string(chosen));
}

// Half of the knobs stay at plain values: what an operator refuses would else be nearly all.
Choice Exploration::RandomChoice() {
  Choice choice = design_.base;
  for (size_t knob = 0; knob < choice.size(); ++knob) {
    if (Below(2) == 0) choice[knob] = RandomValue(knob);
  }
  return choice;
}

// Random value of a knob. Half of the sizes come from the declared list, half are any number, each magnitude equally
// likely.
int Exploration::RandomValue(size_t knob) {
  const int listed = declared_[knob];
  if (!IsSize(knob)) return Below(listed);
  if (Below(2) == 0) return std::min(Below(listed), Below(listed));
  int bits = 0;
  while (largest_[knob] >> bits > 1) ++bits;
  const int64_t low = int64_t{1} << Below(bits + 1);
  const int64_t number = low + static_cast<int64_t>(random_() % static_cast<uint64_t>(low));
  return candidates_.Add(knob, std::to_string(std::min(number, largest_[knob])));
}

std::optional<CaseSpec> Exploration::Take(const Choice& choice) {
  Result<CaseSpec> spec = candidates_.CaseOf(choice);
  if (!spec) return std::nullopt;
  spec->seed = random_() % kDataSeeds;
  const std::string id = spec->Id();
  if (!seen_.insert(id).second) return std::nullopt;
  open_.emplace(id, choice);
  Mark(candidates_.LevelsOf(*spec), kGiven);
  return *std::move(spec);
}

void Exploration::Judged(const CaseSpec& spec, bool taken, std::optional<double> margin) {
  const auto open = open_.extract(spec.Id());
  if (open.empty()) return;
  Mark(candidates_.LevelsOf(spec), taken ? kTaken : kRefused);
  if (!margin || !std::isfinite(*margin)) return;
  Near near{std::llround(*margin * kMarginSteps), DTypeListText(spec.dtypes), open.mapped()};
  near_.insert(std::ranges::upper_bound(near_, near.margin, std::greater<>(), &Near::margin), std::move(near));
  size_t alike = 0;
  const auto is_too_many = [&, dtypes = DTypeListText(spec.dtypes)](const Near& other) {
    return other.dtypes == dtypes && ++alike > kMostNearAlike;
  };
  near_.erase(std::remove_if(near_.begin(), near_.end(), is_too_many), near_.end());
  if (near_.size() > kMostNear) near_.resize(kMostNear);
}

void Exploration::Mark(const Levels& levels, uint8_t state) {
  for (Set& set : sets_) {
    set.of.tuples.Each(levels, [&](int64_t index) {
      uint8_t& known = set.state[static_cast<size_t>(index)];
      known = std::max(known, state);
    });
  }
  if (designs_ < 2) before_.emplace_back(levels, state);
}

bool Exploration::BringsNew(const Levels& levels) const {
  bool brings = false;
  for (const Set& set : sets_) {
    set.of.tuples.Each(levels, [&](int64_t index) { brings = brings || set.state[static_cast<size_t>(index)] == 0; });
  }
  return brings;
}

std::vector<Explored> Exploration::Coverage() const {
  std::vector<Explored> all;
  for (const Set& set : sets_) {
    Explored explored{.strength = set.of.strength};
    for (size_t index = 0; index < set.state.size(); ++index) {
      const uint8_t state = set.state[index];
      explored.possible += state > 0 || set.of.reason[index] < 0;
      explored.covered += state == kTaken;
      explored.refused += state == kRefused;
    }
    all.push_back(explored);
  }
  return all;
}

}  // namespace assay

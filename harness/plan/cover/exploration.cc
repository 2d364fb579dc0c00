// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/exploration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr int kTries = 200;           // of random choices until a case is new and taken by the operator
constexpr size_t kMostNear = 24;      // cases whose neighbourhood is searched
constexpr size_t kMostNearAlike = 4;  // of one list of types: else the tightest bound would have them all
constexpr double kMarginSteps = 64;
constexpr uint64_t kDataSeeds = 1000000;
constexpr int kGivenUp = 20;  // combinations that a case is sought for and not found, until another one is taken
constexpr int kDrawn = 8;     // cases with a combination, of which the one with most missing ones is taken
// State of a tuple: no case was given; draws found none; one with it was given, and then refused or taken.
constexpr uint8_t kMissing = 0, kNotFound = 1, kGiven = 2, kRefused = 3, kTaken = 4;

}  // namespace

Exploration::Exploration(const Operator& op, const CoverLimits& limits, uint64_t seed,
                         const std::vector<std::string>& dtypes)
    : candidates_(op, limits, dtypes), declared_(candidates_), random_(seed), base_(FindBase(declared_, random_)) {
  for (const Knob& knob : declared_.space().knobs) largest_.push_back(LargestSize(knob));
  Open(2);
}

bool Exploration::IsSize(size_t knob) const {
  return largest_[knob] > 0;
}

// Half of the cases have combinations that none had, while there are any; a quarter lie near large margins, a quarter
// are random.
std::optional<CaseSpec> Exploration::Next() {
  const int turn = turn_++ % 4;
  for (int tried = 0; tried < kTries; ++tried) {
    std::optional<Choice> choice;
    if (turn % 2 == 0) choice = WithMissing();
    if (turn == 1) choice = Neighbour();
    if (auto spec = Take(choice ? *choice : RandomChoice())) return spec;
  }
  return std::nullopt;
}

void Exploration::Open(int strength) {
  const CaseSpace& space = declared_.space();
  std::vector<int> some;
  for (int d = 0; d < std::ssize(space.dimensions); ++d) {
    if (strength == 2 || space.dimensions[static_cast<size_t>(d)].in_triples) some.push_back(d);
  }
  Set set{strength, TupleSet(space, std::move(some), strength), {}};
  const std::set<DimensionLevel> unreachable = sets_.empty() ? FindUnreachable() : std::set<DimensionLevel>();
  missing_.clear();
  for (int64_t index = 0; index < set.tuples.size(); ++index) {
    const Tuple tuple = set.tuples.At(index);
    const bool none = sets_.empty() ? std::ranges::any_of(
                                          tuple, [&](const DimensionLevel& part) { return unreachable.contains(part); })
                                    : HasPairNotFound(tuple);
    set.state.push_back(none ? kNotFound : kMissing);
    missing_.push_back(index);
  }
  sets_.push_back(std::move(set));
  for (const auto& [levels, state] : std::exchange(before_, {})) Mark(levels, state);
}

std::set<DimensionLevel> Exploration::FindUnreachable() {
  std::set<DimensionLevel> unreachable;
  for (int d = 0; d < std::ssize(declared_.space().dimensions); ++d) {
    const auto levels = std::ssize(declared_.space().dimensions[static_cast<size_t>(d)].levels);
    for (int level = 0; level < levels; ++level) {
      if (!DrawCase(declared_, base_, {{d, level}}, true, random_)) unreachable.insert({d, level});
    }
  }
  return unreachable;
}

bool Exploration::HasPairNotFound(const Tuple& three) const {
  Levels levels(declared_.space().dimensions.size(), -1);
  for (const DimensionLevel& part : three) levels[static_cast<size_t>(part.dimension)] = part.level;
  bool has = false;
  sets_[0].tuples.Each(levels, [&](int64_t pair) { has |= sets_[0].state[static_cast<size_t>(pair)] == kNotFound; });
  return has;
}

std::optional<int64_t> Exploration::NextMissing() {
  while (!missing_.empty()) {
    const auto at = static_cast<size_t>(Below(static_cast<int>(missing_.size())));
    if (sets_.back().state[static_cast<size_t>(missing_[at])] == kMissing) return missing_[at];
    missing_[at] = missing_.back();
    missing_.pop_back();
  }
  return std::nullopt;
}

// Pairs first, then threes. Of a few cases with one that is missing, the one with most of them.
std::optional<Choice> Exploration::WithMissing() {
  for (int given_up = 0; given_up < kGivenUp; ++given_up) {
    std::optional<int64_t> index = NextMissing();
    if (!index && sets_.size() == 1) {
      Open(3);
      index = NextMissing();
    }
    if (!index) return std::nullopt;
    Set& set = sets_.back();
    const Tuple tuple = set.tuples.At(*index);
    std::optional<Choice> best;
    int64_t most = 0;
    for (int drawn = 0; drawn < kDrawn; ++drawn) {
      const auto candidate = DrawCase(declared_, base_, tuple, false, random_);
      if (!candidate) break;
      int64_t gain = 0;
      set.tuples.Each(candidate->levels, [&](int64_t at) { gain += set.state[static_cast<size_t>(at)] == kMissing; });
      if (gain > most) best = candidate->choice, most = gain;
    }
    if (best) return best;
    set.state[static_cast<size_t>(*index)] = kNotFound;
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
  Choice choice = base_;
  for (size_t knob = 0; knob < choice.size(); ++knob) {
    if (Below(2) == 0) choice[knob] = RandomValue(knob);
  }
  return choice;
}

// Random value of a knob. Half of the sizes come from the declared list, half are any number, each magnitude equally
// likely.
int Exploration::RandomValue(size_t knob) {
  const int listed = declared_.values(knob);
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
    set.tuples.Each(levels, [&](int64_t index) {
      uint8_t& known = set.state[static_cast<size_t>(index)];
      known = std::max(known, state);
    });
  }
  if (sets_.size() < 2) before_.emplace_back(levels, state);
}

std::vector<Explored> Exploration::Coverage() const {
  std::vector<Explored> all;
  for (const Set& set : sets_) {
    Explored explored{.strength = set.strength};
    for (const uint8_t state : set.state) {
      explored.possible += state != kNotFound;
      explored.covered += state == kTaken;
      explored.refused += state == kRefused;
    }
    all.push_back(explored);
  }
  return all;
}

}  // namespace assay

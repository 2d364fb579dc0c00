// SPDX-License-Identifier: Apache-2.0
#include "tests/designs/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "harness/core/base/check.h"
#include "tests/designs/reach.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 0x636f766572;  // of the design: another one combines otherwise
constexpr int kMissing = -4;              // no case of the design has it yet
constexpr int kPutOff = -5;               // nor did random draws find one
constexpr int kSeeds = 3;                 // combinations that a case is tried to start from
constexpr int kSampledValues = 14;  // of a knob that has more, at each turn: a long list of sizes, small ones first
constexpr int kAcceptTries = 4;     // values that the operator may refuse before a knob stays

class CoverMaker {
 public:
  CoverMaker(const Operator& op, const CoverOptions& options)
      : options_(options),
        candidates_(op, options.limits),
        random_(kSeed),
        reach_(candidates_, random_),
        unreachable_(space().dimensions.size()) {}

  // Defers what random draws do not find: most of it comes by chance with cases that need no walk.
  Cover Make() {
    std::vector<int> all(space().dimensions.size()), in_triples;
    std::iota(all.begin(), all.end(), 0);
    std::ranges::copy_if(all, std::back_inserter(in_triples),
                         [&](int d) { return space().dimensions[static_cast<size_t>(d)].in_triples; });
    FindUnreachableLevels();
    AddSet(2, all);
    CoverSet(cover_.sets[0]);
    if (options_.strength == 3) {
      AddSet(3, in_triples);
      ExcludeByPairs(cover_.sets[0], cover_.sets[1]);
      CoverSet(cover_.sets[1]);
    }
    if (!IsFull()) CoverWhatWasPutOff();
    for (CoveredSet& set : cover_.sets) {
      for (int& reason : set.reason) {
        if (reason == kMissing || reason == kPutOff) reason = kLeftOut;
      }
    }
    return std::move(cover_);
  }

 private:
  const CaseSpace& space() const { return candidates_.space(); }

  bool IsFull() const { return options_.most > 0 && cover_.cases.size() >= options_.most; }

  // Modulo is not quite uniform, but the same everywhere, which std::uniform_int_distribution is not.
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

  void AddSet(int strength, std::vector<int> dimensions) {
    CoveredSet set{strength, TupleSet(space(), std::move(dimensions), strength), {}, {}};
    set.reason.assign(static_cast<size_t>(set.tuples.size()), kMissing);
    cover_.sets.push_back(std::move(set));
    for (const CaseSpec& spec : cover_.cases) MarkCovered(candidates_.LevelsOf(spec));
  }

  void MarkCovered(const Levels& levels) {
    for (CoveredSet& set : cover_.sets) {
      set.tuples.Each(levels, [&](int64_t index) { set.reason[static_cast<size_t>(index)] = kCovered; });
    }
  }

  void CoverWhatWasPutOff() {
    walks_ = true;
    FindUnreachableLevels();
    for (CoveredSet& set : cover_.sets) {
      std::ranges::replace(set.reason, kPutOff, kMissing);
      if (set.strength == 3) ExcludeByPairs(cover_.sets[0], set);
      CoverSet(set);
    }
  }

  // A search for what has no case yet: draws first, and walks once these have found what they can.
  Reached Search(const Tuple& tuple) { return walks_ ? reach_.Walk(tuple) : reach_.SearchAtRandom(tuple); }

  void Exclude(CoveredSet& set, int64_t index, const Reached& none) const {
    int& reason = set.reason[static_cast<size_t>(index)];
    if (!none.is_impossible) {
      reason = walks_ ? kNotFound : kPutOff;
      return;
    }
    const auto known = std::ranges::find(set.reasons, none.why);
    reason = static_cast<int>(known - set.reasons.begin());
    if (known == set.reasons.end()) set.reasons.push_back(none.why);
  }

  // One search for a level that no case has, rather than one for each of its combinations.
  void FindUnreachableLevels() {
    for (int d = 0; d < std::ssize(space().dimensions); ++d) {
      std::map<int, Reached>& none = unreachable_[static_cast<size_t>(d)];
      const auto levels = static_cast<int>(space().dimensions[static_cast<size_t>(d)].levels.size());
      for (int level = 0; level < levels; ++level) {
        if (walks_ && !none.contains(level)) continue;  // a draw had it
        Reached reached = Search({{d, level}});
        none.erase(level);
        if (!reached.candidate) none.emplace(level, std::move(reached));
      }
    }
  }

  // A pair that no case has is in no triple either.
  void ExcludeByPairs(const CoveredSet& pairs, CoveredSet& triples) const {
    Levels levels(space().dimensions.size());
    for (int64_t index = 0; index < triples.tuples.size(); ++index) {
      const Tuple tuple = triples.tuples.At(index);
      for (size_t left_out = 0; left_out < 3 && triples.reason[static_cast<size_t>(index)] == kMissing; ++left_out) {
        std::ranges::fill(levels, -1);
        for (size_t i = 0; i < 3; ++i) {
          if (i != left_out) levels[static_cast<size_t>(tuple[i].dimension)] = tuple[i].level;
        }
        pairs.tuples.Each(levels, [&](int64_t pair) {
          const int reason = pairs.reason[static_cast<size_t>(pair)];
          if (reason == kCovered) return;
          const bool is_impossible = reason >= 0;
          Exclude(triples, index,
                  {std::nullopt, is_impossible ? pairs.reasons[static_cast<size_t>(reason)] : "", is_impossible});
        });
      }
    }
  }

  // Adds cases until no combination of the set is missing that a case could have.
  void CoverSet(CoveredSet& set) {
    std::vector<int64_t> missing(static_cast<size_t>(set.tuples.size()));
    std::iota(missing.begin(), missing.end(), int64_t{0});
    const auto next = [&]() -> std::optional<int64_t> {
      while (!missing.empty()) {
        const auto at = static_cast<size_t>(Below(static_cast<int>(missing.size())));
        if (set.reason[static_cast<size_t>(missing[at])] == kMissing) return missing[at];
        missing[at] = missing.back();
        missing.pop_back();
      }
      return std::nullopt;
    };
    while (!IsFull()) {
      std::optional<Candidate> best;
      int64_t most = 0;
      for (int tried = 0; tried < kSeeds;) {
        const auto index = next();
        if (!index) break;
        std::optional<Candidate> candidate = Start(set, *index);
        if (!candidate) continue;
        ++tried;
        Improve(set, set.tuples.At(*index), *candidate);
        const int64_t gain = Gain(set, candidate->levels);
        ASSAY_CHECK(gain > 0);  // a dimension reads the same from a choice and from the case that it makes
        if (gain > most) best = std::move(candidate), most = gain;
      }
      if (!best) return;
      Shrink(set, most, *best);
      MarkCovered(best->levels);
      cover_.cases.push_back(std::move(best->spec));
    }
  }

  // A case with this combination; excludes the combination where there is none.
  std::optional<Candidate> Start(CoveredSet& set, int64_t index) {
    const Tuple tuple = set.tuples.At(index);
    for (const auto& [dimension, level] : tuple) {
      const std::map<int, Reached>& none = unreachable_[static_cast<size_t>(dimension)];
      const auto found = none.find(level);
      if (found == none.end()) continue;
      Exclude(set, index, found->second);
      return std::nullopt;
    }
    Reached reached = Search(tuple);
    if (!reached.candidate) Exclude(set, index, reached);
    return std::move(reached.candidate);
  }

  static int64_t Gain(const CoveredSet& set, const Levels& levels) {
    int64_t gain = 0;
    set.tuples.Each(levels, [&](int64_t index) { gain += set.reason[static_cast<size_t>(index)] == kMissing; });
    return gain;
  }

  // Turns each knob once, in random order, to the value that brings most missing combinations in.
  void Improve(const CoveredSet& set, const Tuple& keep, Candidate& candidate) {
    std::vector<size_t> order(candidates_.knobs());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<size_t>(Below(static_cast<int>(i) + 1))]);
    for (const size_t knob : order) Turn(set, keep, knob, candidate);
  }

  void Turn(const CoveredSet& set, const Tuple& keep, size_t knob, Candidate& candidate) {
    struct Option {
      int64_t gain;
      int value;
    };
    std::vector<Option> options;
    for (const int value : SomeValues(knob, candidate.choice[knob])) {
      const int64_t gain = GainOf(set, keep, knob, value, candidate);
      if (gain >= 0) options.push_back({gain, value});
    }
    // The largest size has to bring twice as many combinations in as the smallest.
    const int count = candidates_.values(knob), scale = count > kSampledValues ? 2 * count : 0;
    const auto worth = [&](const Option& option) { return option.gain * (scale == 0 ? 1 : scale - option.value); };
    std::ranges::sort(options, [&](const Option& a, const Option& b) {
      return worth(a) != worth(b) ? worth(a) > worth(b) : a.value < b.value;
    });
    for (size_t i = 0; i < options.size() && i < kAcceptTries; ++i) {
      if (options[i].value == candidate.choice[knob]) return;
      Candidate turned{candidate.choice, {}, {}};
      turned.choice[knob] = options[i].value;
      if (!Complete(candidates_, turned).empty()) continue;
      candidate = std::move(turned);
      return;
    }
  }

  // Turns sizes down as long as nothing of what the case brings in is lost.
  void Shrink(const CoveredSet& set, int64_t gain, Candidate& candidate) const {
    for (size_t knob = 0; knob < candidates_.knobs(); ++knob) {
      if (candidates_.values(knob) <= kSampledValues) continue;
      for (int value = 0; value < candidate.choice[knob]; ++value) {
        Candidate smaller{candidate.choice, {}, candidate.levels};
        smaller.choice[knob] = value;
        candidates_.UpdateLevels(smaller.choice, knob, smaller.levels);
        if (Gain(set, smaller.levels) < gain || !Complete(candidates_, smaller).empty()) continue;
        candidate = std::move(smaller);
        break;
      }
    }
  }

  // The present one among them.
  std::vector<int> SomeValues(size_t knob, int present) {
    std::vector<int> values(static_cast<size_t>(candidates_.values(knob)));
    std::iota(values.begin(), values.end(), 0);
    if (std::ssize(values) <= kSampledValues) return values;
    for (int& value : values) value = Below(candidates_.values(knob));
    values.resize(kSampledValues);
    values.push_back(present);
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  // Missing combinations with the dimensions that this knob decides; -1: a combination that must stay would go. One of
  // two such dimensions counts twice, for every value alike.
  int64_t GainOf(const CoveredSet& set, const Tuple& keep, size_t knob, int value, const Candidate& candidate) const {
    Choice choice = candidate.choice;
    choice[knob] = value;
    Levels levels = candidate.levels;
    candidates_.UpdateLevels(choice, knob, levels);
    for (const auto& [dimension, level] : keep) {
      if (levels[static_cast<size_t>(dimension)] != level) return -1;
    }
    int64_t gain = 0;
    for (const int d : candidates_.DimensionsOf(knob)) {
      set.tuples.VisitEachWith(d, levels,
                               [&](int64_t index) { gain += set.reason[static_cast<size_t>(index)] == kMissing; });
    }
    return gain;
  }

  CoverOptions options_;
  Candidates candidates_;
  Cover cover_;
  std::mt19937_64 random_;
  Reach reach_;
  bool walks_ = false;
  std::vector<std::map<int, Reached>> unreachable_;  // of each dimension: levels that no case has, and why
};

}  // namespace

Cover MakeCover(const Operator& op, const CoverOptions& options) {
  CoverMaker maker(op, options);
  return maker.Make();
}

std::string TupleText(const CaseSpace& space, const Tuple& tuple) {
  std::string text;
  for (const auto& [d, level] : tuple) {
    const Dimension& dimension = space.dimensions[static_cast<size_t>(d)];
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", dimension.name, dimension.levels[static_cast<size_t>(level)]);
  }
  return text;
}

}  // namespace assay

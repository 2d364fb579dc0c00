// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>

#include "harness/base/check.h"

namespace assay {
namespace {

constexpr int kMissing = -2;        // no case of the design has it yet
constexpr int kSeeds = 3;           // combinations that a case is tried to start from
constexpr int kReachTries = 300;    // cases tried for one combination before it counts as impossible
constexpr int kSureTries = 25;      // of them, when one knob decides each level and all were refused for one reason
constexpr int kSampledValues = 14;  // of a knob that has more, at each turn: a long list of sizes, small ones first
constexpr int kAcceptTries = 4;     // values that the operator may refuse before a knob stays

// "conv: k=N has N axes, but i=N has N": what an operator says of many cases is one reason. Limits stay.
std::string WithoutNumbers(const std::string& text) {
  if (text.starts_with("more than")) return text;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;  // "13x11" as well as "f32"
    const bool is_number = is_digit(text[i]);
    out += is_number ? "N" : std::string(text.substr(i, std::max<size_t>(end - i, 1)));
    i = std::max(end, i + 1);
  }
  return out;
}

struct Candidate {
  Choice choice;
  CaseSpec spec;
  Levels levels;
};

class CoverMaker {
 public:
  CoverMaker(const Operator& op, const CoverOptions& options)
      : options_(options), candidates_(op, options.limits), random_(options.seed) {}

  Cover Make() {
    std::vector<int> all(space().dimensions.size()), in_triples;
    std::iota(all.begin(), all.end(), 0);
    std::ranges::copy_if(all, std::back_inserter(in_triples),
                         [&](int d) { return space().dimensions[static_cast<size_t>(d)].in_triples; });
    FindBase();
    cover_.base = base_;
    FindUnreachableLevels();
    AddSet(2, all);
    CoverSet(cover_.sets.back());
    if (options_.strength == 3) {
      AddSet(3, in_triples);
      ExcludeImpossiblePairs(cover_.sets[0], cover_.sets[1]);
      CoverSet(cover_.sets.back());
    }
    return std::move(cover_);
  }

 private:
  const CaseSpace& space() const { return candidates_.space(); }

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
      set.tuples.Each(levels, [&](int64_t index) { set.reason[static_cast<size_t>(index)] = -1; });
    }
  }

  static void Exclude(CoveredSet& set, int64_t index, const std::string& why) {
    const auto known = std::ranges::find(set.reasons, why);
    set.reason[static_cast<size_t>(index)] = static_cast<int>(known - set.reasons.begin());
    if (known == set.reasons.end()) set.reasons.push_back(why);
  }

  // A plain case: small values, which the operator takes.
  void FindBase() {
    const std::vector<std::vector<int>> allowed = AllowedValues({});
    base_.assign(allowed.size(), 0);
    for (int tried = 0; tried < 1000; ++tried) {
      Candidate candidate{base_, {}, {}};
      for (size_t knob = 0; tried > 0 && knob < base_.size(); ++knob) {
        const int count = std::min(candidates_.values(knob), 4);
        candidate.choice[knob] = std::min({Below(count), Below(count)});
      }
      if (!Complete(candidate).empty()) continue;
      base_ = std::move(candidate.choice);
      return;
    }
  }

  // One search for a level that no case has, rather than one for each of its combinations.
  void FindUnreachableLevels() {
    for (int d = 0; d < std::ssize(space().dimensions); ++d) {
      const Dimension& dimension = space().dimensions[static_cast<size_t>(d)];
      unreachable_.emplace_back(dimension.levels.size());
      for (int level = 0; level < std::ssize(dimension.levels); ++level) {
        const Tuple one{{d, level}};
        std::string why;
        if (!Reach(one, why)) unreachable_.back()[static_cast<size_t>(level)] = why;
      }
    }
  }

  void ExcludeImpossiblePairs(const CoveredSet& pairs, CoveredSet& triples) {
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
          if (reason >= 0) Exclude(triples, index, pairs.reasons[static_cast<size_t>(reason)]);
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
    while (true) {
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
      cover_.choices.push_back(std::move(best->choice));
    }
  }

  // A case with this combination; excludes the combination where there is none.
  std::optional<Candidate> Start(CoveredSet& set, int64_t index) {
    const Tuple tuple = set.tuples.At(index);
    std::string why;
    for (const auto& [dimension, level] : tuple) {
      if (why.empty()) why = unreachable_[static_cast<size_t>(dimension)][static_cast<size_t>(level)];
    }
    std::optional<Candidate> found = why.empty() ? Reach(tuple, why) : std::nullopt;
    if (!found) Exclude(set, index, why);
    return found;
  }

  // The values of each knob that the dimensions leave which one knob decides; empty: all of them.
  std::vector<std::vector<int>> AllowedValues(const Tuple& tuple) const {
    std::vector<std::vector<int>> allowed(candidates_.knobs());
    for (size_t knob = 0; knob < allowed.size(); ++knob) {
      allowed[knob].resize(static_cast<size_t>(candidates_.values(knob)));
      std::iota(allowed[knob].begin(), allowed[knob].end(), 0);
    }
    Choice choice(candidates_.knobs());
    for (const auto& [dimension, level] : tuple) {
      const std::vector<int>& knobs = candidates_.KnobsOf(dimension);
      if (knobs.size() > 1) continue;
      int& value = choice[static_cast<size_t>(knobs[0])];
      std::erase_if(allowed[static_cast<size_t>(knobs[0])], [&, d = dimension, l = level](int possible) {
        value = possible;
        return candidates_.LevelOf(d, choice) != l;
      });
    }
    return allowed;
  }

  std::optional<Candidate> Reach(const Tuple& tuple, std::string& why) {
    const std::vector<std::vector<int>> allowed = AllowedValues(tuple);
    for (size_t knob = 0; knob < allowed.size(); ++knob) {
      if (!allowed[knob].empty()) continue;
      why = fmt::format("no {} gives both", space().knobs[knob].keys[0]);
      return std::nullopt;
    }
    std::vector<bool> decides(candidates_.knobs());
    for (const DimensionLevel& part : tuple) {
      for (const int knob : candidates_.KnobsOf(part.dimension)) decides[static_cast<size_t>(knob)] = true;
    }
    const bool is_plain = std::ranges::all_of(
        tuple, [&](const DimensionLevel& part) { return candidates_.KnobsOf(part.dimension).size() == 1; });
    std::unordered_map<std::string, int> refusals;
    for (int tried = 0; tried < kReachTries; ++tried) {
      Candidate candidate{Draw(allowed, decides, tried), {}, {}};
      std::optional<CaseSpec> written;
      const bool fits = is_plain || std::ranges::all_of(tuple, [&](const DimensionLevel& part) {
                          return candidates_.LevelOf(part.dimension, candidate.choice, written) == part.level;
                        });
      if (!fits) continue;
      const std::string refusal = Complete(candidate);
      if (refusal.empty()) return candidate;
      ++refusals[refusal];
      if (is_plain && tried >= kSureTries && refusals.size() == 1) break;
    }
    why = WhyNone(decides, refusals);
    return std::nullopt;
  }

  // The most frequent reason.
  std::string WhyNone(const std::vector<bool>& decides, const std::unordered_map<std::string, int>& refusals) const {
    std::string why;
    int most = 0;
    for (const auto& [refusal, count] : refusals) {
      if (count > most || (count == most && refusal < why)) why = refusal, most = count;
    }
    if (most > 0) return WithoutNumbers(why);
    for (size_t knob = 0; knob < decides.size(); ++knob) {
      if (decides[knob]) why += (why.empty() ? "" : ", ") + space().knobs[knob].keys[0];
    }
    return fmt::format("none of {} values of {} gives both", kReachTries, why);
  }

  // Knobs that do not decide the combination stay as in the plain case at first, and later mostly. Small values come
  // first: of those that decide it, half of the draws prefer them.
  Choice Draw(const std::vector<std::vector<int>>& allowed, const std::vector<bool>& decides, int tried) {
    Choice choice = base_;
    for (size_t knob = 0; knob < allowed.size(); ++knob) {
      const int count = static_cast<int>(allowed[knob].size());
      if (decides[knob]) {
        const int at = Below(count);
        choice[knob] = allowed[knob][static_cast<size_t>(tried % 2 == 0 ? std::min(at, Below(count)) : at)];
      } else if (tried > 0 && Below(3) == 0) {
        choice[knob] = allowed[knob][static_cast<size_t>(Below(count))];
      }
    }
    return choice;
  }

  // Binds the choice; "" or why there is no such case.
  std::string Complete(Candidate& candidate) const {
    Result<CaseSpec> spec = candidates_.CaseOf(candidate.choice);
    if (!spec) return std::move(spec.error().message);
    candidate.spec = *std::move(spec);
    candidate.levels = candidates_.LevelsOf(candidate.choice, candidate.spec);
    return "";
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
      if (!Complete(turned).empty()) continue;
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
        if (Gain(set, smaller.levels) < gain || !Complete(smaller).empty()) continue;
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
      set.tuples.EachWith(d, levels,
                          [&](int64_t index) { gain += set.reason[static_cast<size_t>(index)] == kMissing; });
    }
    return gain;
  }

  CoverOptions options_;
  Candidates candidates_;
  Cover cover_;
  Choice base_;                                        // what knobs stay at that nothing turns
  std::vector<std::vector<std::string>> unreachable_;  // of each level why no case has it; "": one does
  std::mt19937_64 random_;
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

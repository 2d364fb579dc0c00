// SPDX-License-Identifier: Apache-2.0
#include "tests/designs/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr int kSmallest = 17;  // of a knob's values: small ones
// Refused choices of a walk that are tried again with other values of the knobs that do not decide.
constexpr size_t kOfOneReason = 8;
constexpr size_t kMostTurned = 40;        // choices of which each other knob is turned
constexpr int kSizeStep = 3;              // of the values of sizes in that
constexpr int kSomeSizes[] = {3, 7, 11};  // of all other sizes at once
constexpr int kFewRefused = 200;          // before the walk goes on, other knobs are tried with these

// The most frequent reason. Limits keep their numbers.
std::string ExplainMissing(const Candidates& candidates, const std::vector<bool>& decides,
                           const std::map<std::string, int>& refusals) {
  std::string why;
  int most = 0;
  for (const auto& [refusal, count] : refusals) {
    if (count > most) why = refusal, most = count;
  }
  if (most > 0) return candidates.IsLimit(why) ? why : WithoutNumbers(why);
  for (size_t knob = 0; knob < decides.size(); ++knob) {
    if (decides[knob]) why += (why.empty() ? "" : ", ") + candidates.space().knobs[knob].keys[0];
  }
  return fmt::format("no values of {} give both", why);
}

// Looks for a case near the refused choices of a walk. Tries each with the first value of every other knob that is no
// size, and with all values of the plain case. Then turns one other knob to each of its values, or all other sizes at
// once. Continues from a choice if the operator refuses it for another reason.
class OtherKnobs {
 public:
  OtherKnobs(const Candidates& candidates, const Choice& base, const std::vector<bool>& decides)
      : candidates_(candidates), base_(base), decides_(decides) {
    for (size_t knob = 0; knob < decides.size(); ++knob) {
      if (decides[knob]) continue;
      const bool is_size = candidates.IsSize(knob);
      const int values = candidates.values(knob), count = is_size ? std::min(kSmallest, values) : values;
      for (int value = 0; value < count; value += is_size ? kSizeStep : 1) turns_.emplace_back(knob, value);
    }
  }

  std::optional<Candidate> Find(const WalkEnd& walk) {
    for (const auto& [reason, choices] : walk.refused) {
      const size_t some = std::min(kOfOneReason, choices.size());
      for (size_t i = 0; i < some && !found_; ++i) {
        const size_t at = i / 2 * choices.size() / some;  // large ones and small ones in turn
        TryPlain(choices[i % 2 == 0 ? choices.size() - 1 - at : at]);
      }
    }
    for (size_t next = 0; next < open_.size() && next < kMostTurned && !found_; ++next) Turn(Choice(open_[next]));
    return std::move(found_);
  }

 private:
  // Whether the search is over.
  bool Try(const Choice& choice) {
    Candidate candidate{choice, {}, {}};
    const std::string refusal = Complete(candidates_, candidate);
    if (refusal.empty()) {
      found_ = std::move(candidate);
    } else if (!candidates_.IsLimit(refusal) && met_[WithoutNumbers(refusal)]++ < kOfOneReason) {
      open_.push_back(choice);
    }
    return found_.has_value();
  }

  void TryPlain(const Choice& choice) {
    Choice first_values = choice, plain = choice;
    for (size_t knob = 0; knob < decides_.size(); ++knob) {
      if (decides_[knob]) continue;
      if (!candidates_.IsSize(knob)) first_values[knob] = 0;
      plain[knob] = base_[knob];
    }
    [[maybe_unused]] const bool over = Try(choice) || Try(first_values) || Try(plain);
  }

  void Turn(const Choice& from) {
    for (const int value : kSomeSizes) {
      Choice choice = from;
      for (size_t knob = 0; knob < decides_.size(); ++knob) {
        if (!decides_[knob] && candidates_.IsSize(knob)) choice[knob] = value;
      }
      if (Try(choice)) return;
    }
    for (const auto& [knob, value] : turns_) {
      Choice choice = from;
      if (std::exchange(choice[knob], value) != value && Try(choice)) return;
    }
  }

  const Candidates& candidates_;
  const Choice& base_;
  const std::vector<bool>& decides_;
  std::vector<std::pair<size_t, int>> turns_;  // a knob that does not decide, and its value
  std::vector<Choice> open_;                   // to go on from
  std::map<std::string, size_t> met_;          // how often each reason was gone on from
  std::optional<Candidate> found_;
};

}  // namespace

Reach::Reach(const Candidates& candidates, std::mt19937_64& random)
    : candidates_(candidates),
      memo_(candidates),
      random_(random),
      base_(FindBase(candidates, random)),
      cheapest_(CheapestChoice(candidates)) {}

std::optional<Reached> Reach::FindEmptyKnob(const AllowedValues& allowed) const {
  for (size_t knob = 0; knob < allowed.size(); ++knob) {
    if (!allowed[knob].empty()) continue;
    return Reached{std::nullopt, fmt::format("no {} gives both", candidates_.space().knobs[knob].keys[0]), true};
  }
  return std::nullopt;
}

Reached Reach::SearchAtRandom(const Tuple& tuple) {
  if (auto none = FindEmptyKnob(FindAllowed(candidates_, tuple))) return *std::move(none);
  return {DrawCase(candidates_, base_, tuple, true, random_), "", false};
}

Reached Reach::Walk(const Tuple& tuple) {
  const AllowedValues allowed = FindAllowed(candidates_, tuple);
  if (auto none = FindEmptyKnob(allowed)) return *std::move(none);
  for (const DimensionLevel& part : tuple) {
    if (std::string why = candidates_.ExplainTooLarge(part); !why.empty()) return {std::nullopt, std::move(why), true};
  }
  const std::vector<bool> decides = FindDecidingKnobs(candidates_, tuple);
  Reached reached;
  WalkEnd walk;
  for (const int most_refused : {kFewRefused, kNoLimit}) {
    walk = WalkSmallToLarge(memo_, tuple, allowed, cheapest_, most_refused);
    if (walk.found) {
      reached.candidate = Candidate{*std::move(walk.found), {}, {}};
      Complete(candidates_, *reached.candidate);
      return reached;
    }
    reached.candidate = OtherKnobs(candidates_, base_, decides).Find(walk);
    if (reached.candidate || walk.ended) break;
  }
  if (reached.candidate) return reached;
  reached.why = ExplainMissing(candidates_, decides, walk.refusals);
  reached.is_impossible = walk.ended;
  return reached;
}

}  // namespace assay

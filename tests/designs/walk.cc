// SPDX-License-Identifier: Apache-2.0
#include "tests/designs/walk.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace assay {
namespace {

constexpr int kMostSteps = 2000000;  // until a walk gives up: levels looked at, and cases, which take longer
constexpr int kStepsOfACase = 20;
constexpr size_t kMostLevels = size_t{1} << 22;  // of a dimension, that are kept
constexpr size_t kMostRefusals = 1000000;        // choices of which is kept why they are refused
constexpr int8_t kUnknown = -2;
constexpr int kFewAlike = 3, kFewSteps = 2000;  // choices, and what is looked at, where sizes seem not to matter

enum class Fit { kYes, kNo, kTooHigh };

class Walk {
 public:
  Walk(WalkMemo& memo, const Tuple& tuple, const AllowedValues& allowed, const Choice& others, int most_refused)
      : most_refused_(most_refused),
        memo_(memo),
        candidates_(memo.candidates()),
        tuple_(tuple),
        allowed_(allowed),
        choice_(others) {
    const std::vector<bool> decides = FindDecidingKnobs(candidates_, tuple);
    for (const bool sizes : {false, true}) {  // sizes last: what is too large ends their values
      for (size_t knob = 0; knob < decides.size(); ++knob) {
        if (!decides[knob] || candidates_.IsSize(knob) != sizes) continue;
        knobs_.push_back(knob);
        choice_[knob] = allowed[knob][0];
        if (!sizes) first_size_ = knobs_.size();
      }
    }
    for (const DimensionLevel& part : tuple) {
      size_t last = 0;
      for (const int knob : candidates_.KnobsOf(part.dimension)) {
        const auto at = std::ranges::find(knobs_, static_cast<size_t>(knob)) - knobs_.begin();
        last = std::max(last, static_cast<size_t>(at));
      }
      known_after_.push_back(last);
    }
  }

  WalkEnd Go() {
    Descend(0);
    end_.ended = !IsOver() && !cut_short_;
    return std::move(end_);
  }

 private:
  bool IsOver() const { return end_.found || steps_ > kMostSteps || refused_ >= most_refused_; }

  void Descend(size_t at) {
    if (at == first_size_ && most_refused_ != kNoLimit)
      few_of_these_ = IsRefusedWhateverSizes() ? End{refused_ + kFewAlike, steps_ + kFewSteps} : kNoEnd;
    const size_t knob = knobs_[at];
    const bool is_last = at + 1 == knobs_.size(), is_size = candidates_.IsSize(knob);
    for (const int value : allowed_[knob]) {
      choice_[knob] = value;
      const Fit fit = FitOf(at);
      if (fit == Fit::kTooHigh && is_size) break;
      if (fit != Fit::kYes) continue;
      const std::string& refusal = is_last || is_size ? Refusal() : kNone;
      const bool too_large = candidates_.IsLimit(refusal);
      if (too_large) ++end_.refusals[refusal];
      if (too_large && is_size) break;
      if (!is_last) Descend(at + 1);
      if (is_last && !too_large) Meet(refusal);
      if (IsOver()) return;
      if (at < first_size_ || (refused_ < few_of_these_.refused && steps_ < few_of_these_.steps)) continue;
      cut_short_ = true;
      break;
    }
    choice_[knob] = allowed_[knob][0];
  }

  // Checks the levels that this knob and earlier ones decide. Levels that grow with sizes are checked too, since all
  // later sizes are at their smallest.
  Fit FitOf(size_t at) {
    Fit fit = Fit::kYes;
    for (size_t i = 0; i < tuple_.size(); ++i) {
      const auto& [dimension, wanted] = tuple_[i];
      const bool is_known = known_after_[i] == at;
      const bool grows = candidates_.space().dimensions[static_cast<size_t>(dimension)].grows && at + 1 >= first_size_;
      if (!is_known && (!grows || known_after_[i] < at)) continue;
      ++steps_;
      const int level = memo_.LevelOf(dimension, choice_);
      if (grows && level > wanted) return Fit::kTooHigh;
      if (is_known && level != wanted) fit = Fit::kNo;
    }
    return fit;
  }

  struct End {
    int refused, steps;
  };
  static constexpr End kNoEnd = {kNoLimit, kNoLimit};

  // Whether the smallest, the middle and the largest sizes are refused for one reason, which is no limit. Then a few
  // choices stand for all sizes.
  bool IsRefusedWhateverSizes() {
    Choice choice = choice_;
    std::string reason;
    for (const size_t part : {size_t{0}, size_t{1}, size_t{2}}) {
      for (size_t at = first_size_; at < knobs_.size(); ++at) {
        const std::vector<int>& values = allowed_[knobs_[at]];
        choice[knobs_[at]] = values[(values.size() - 1) * part / 2];
      }
      ++steps_;
      const std::string& refusal = memo_.Refusal(choice);
      if (refusal.empty() || candidates_.IsLimit(refusal)) return false;
      std::string text = WithoutNumbers(refusal);
      if (part > 0 && text != reason) return false;
      reason = std::move(text);
    }
    ++end_.refusals[reason];
    return true;
  }

  const std::string& Refusal() {
    steps_ += kStepsOfACase;
    return memo_.Refusal(choice_);
  }

  void Meet(const std::string& refusal) {
    if (refusal.empty()) {
      end_.found = choice_;
      return;
    }
    ++refused_;
    std::string reason = WithoutNumbers(refusal);
    ++end_.refusals[reason];
    end_.refused[std::move(reason)].push_back(choice_);
  }

  const std::string kNone;
  bool cut_short_ = false;
  const int most_refused_;
  WalkMemo& memo_;
  const Candidates& candidates_;
  const Tuple& tuple_;
  const AllowedValues& allowed_;
  Choice choice_;
  std::vector<size_t> knobs_;        // that decide the combination
  size_t first_size_ = 0;            // of them
  std::vector<size_t> known_after_;  // of each level of it, the last of these knobs that decides it
  int steps_ = 0, refused_ = 0;
  End few_of_these_ = kNoEnd;
  WalkEnd end_;
};

}  // namespace

std::string WithoutNumbers(const std::string& text) {
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

WalkMemo::WalkMemo(const Candidates& candidates)
    : candidates_(candidates), levels_(candidates.space().dimensions.size()) {}

int WalkMemo::LevelOf(int dimension, const Choice& choice) {
  const std::vector<int>& knobs = candidates_.KnobsOf(dimension);
  if (knobs.size() == 1) return candidates_.LevelOf(dimension, choice);
  size_t index = 0, size = 1;
  for (const int knob : knobs) {
    const auto k = static_cast<size_t>(knob);
    const auto values = static_cast<size_t>(candidates_.values(k));
    index = index * values + static_cast<size_t>(choice[k]);
    size *= values;
  }
  if (size > kMostLevels) return candidates_.LevelOf(dimension, choice);
  std::vector<int8_t>& levels = levels_[static_cast<size_t>(dimension)];
  if (levels.empty()) levels.assign(size, kUnknown);
  if (levels[index] == kUnknown) levels[index] = static_cast<int8_t>(candidates_.LevelOf(dimension, choice));
  return levels[index];
}

const std::string& WalkMemo::Refusal(const Choice& choice) {
  if (refusal_of_.size() > kMostRefusals) refusal_of_.clear();
  const auto [known, is_new] = refusal_of_.try_emplace(std::u16string(choice.begin(), choice.end()), 0);
  if (is_new) known->second = FindRefusal(choice);
  return refusals_[static_cast<size_t>(known->second)];
}

int WalkMemo::FindRefusal(const Choice& choice) {
  const Result<CaseSpec> spec = candidates_.CaseOf(choice);
  const auto [index, is_new] =
      refusal_index_.try_emplace(spec ? "" : spec.error().message, static_cast<int>(refusals_.size()));
  if (is_new) refusals_.push_back(index->first);
  return index->second;
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

WalkEnd WalkSmallToLarge(WalkMemo& memo, const Tuple& tuple, const AllowedValues& allowed, const Choice& others,
                         int most_refused) {
  return Walk(memo, tuple, allowed, others, most_refused).Go();
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace assay {
namespace {

// The better first; what this version does not know counts like an error.
constexpr std::array<std::string_view, 10> kOutcomeRank = {
    "pass",     "inconclusive", "known_flake", "known_failure", "below_contract", "nondeterministic",
    "mismatch", "flaky",        "error",       "timeout"};
constexpr std::array<std::string_view, 4> kClassRank = {"bit_exact", "within_class", "within_lower_class", "suspect"};

template <size_t N>
size_t RankIn(const std::array<std::string_view, N>& order, std::string_view name) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), name) - order.begin());
}

// A pass that was not expected is a pass.
size_t OutcomeRank(std::string_view outcome) {
  return outcome == "unexpected_pass" ? 0 : RankIn(kOutcomeRank, outcome);
}

// A margin of a record or of one of its outputs.
template <class R>
struct MarginField {
  const char* name;
  Number R::*value;
  bool applies_always;  // for equal inputs; the relations that are run depend on the time they take
};
template <class R>
constexpr std::array<MarginField<R>, 6> kMarginFields = {{{"bound_margin", &R::bound_margin, true},
                                                          {"stat_margin", &R::stat_margin, true},
                                                          {"self_margin", &R::self_margin, true},
                                                          {"exact_margin", &R::exact_margin, true},
                                                          {"exceptional_margin", &R::exceptional_margin, true},
                                                          {"metamorphic_margin", &R::metamorphic_margin, false}}};

std::string NumberText(const Number& value) {
  return value ? fmt::format("{:.3g}", *value) : "none";
}

std::string JudgedText(const Record& r) {
  return r.sample_judged ? std::to_string(*r.sample_judged) : "all";
}

class RecordComparer {
 public:
  RecordComparer(const Record& base, const Record& now, const RegressionLimits& limits)
      : base_(base), now_(now), limits_(limits) {}

  std::vector<Change> Run() {
    CompareOutcome();
    CompareClass();
    CompareText("contract", base_.contract, now_.contract);
    CompareText("required_contract", base_.required_contract, now_.required_contract);
    CompareDeterminism();
    if (base_.sample_judged != now_.sample_judged || base_.sample_seed != now_.sample_seed) {
      Add(Aspect::kBits, Trend::kNeutral, "sample_judged", JudgedText(base_), JudgedText(now_)).detail =
          "other elements were judged: margins and output bits are not compared";
      return std::move(changes_);
    }
    if (!base_.input_hash.empty() && !now_.input_hash.empty() && base_.input_hash != now_.input_hash) {
      Change& change = Add(Aspect::kBits, Trend::kNeutral, "input_hash", base_.input_hash, now_.input_hash);
      change.detail = "the inputs differ: margins and output bits are not compared";
      return std::move(changes_);
    }
    // The margins of the record itself are those of its worst output, which may be another one now.
    if (base_.outputs.empty() || now_.outputs.empty()) CompareMargins("", base_, now_);
    for (const OutputRecord& before : base_.outputs) {
      const auto after = std::ranges::find(now_.outputs, before.name, &OutputRecord::name);
      if (after != now_.outputs.end()) CompareMargins(before.name + ".", before, *after);
    }
    CompareEffectiveBits();
    CompareBits();
    return std::move(changes_);
  }

 private:
  Change& Add(Aspect aspect, Trend trend, std::string field, std::string base, std::string now) {
    return changes_.emplace_back(
        Change{aspect, trend, std::move(field), std::move(base), std::move(now), std::nullopt, "", false, false});
  }

  void CompareOutcome() {
    if (base_.outcome == now_.outcome) return;
    const size_t before = OutcomeRank(base_.outcome), after = OutcomeRank(now_.outcome);
    // A sample that passes may lack what fails in the base.
    const bool is_better = after < before && (!now_.sample_judged || now_.sample_judged == base_.sample_judged);
    const Trend trend = after > before ? Trend::kWorse : is_better ? Trend::kBetter : Trend::kNeutral;
    Change& change = Add(Aspect::kVerdict, trend, "outcome", base_.outcome, now_.outcome);
    change.detail = now_.reason;
    const bool expected = now_.outcome == "known_failure" || now_.outcome == "known_flake";
    change.regression = trend == Trend::kWorse && !expected && limits_.verdict_worse;
  }

  void CompareClass() {
    if (base_.result_class == now_.result_class || base_.result_class.empty() || now_.result_class.empty()) return;
    const bool worse = RankIn(kClassRank, now_.result_class) > RankIn(kClassRank, base_.result_class);
    Change& change =
        Add(Aspect::kClass, worse ? Trend::kWorse : Trend::kBetter, "class", base_.result_class, now_.result_class);
    change.regression = worse && limits_.class_worse;
  }

  void CompareText(const char* field, const std::string& before, const std::string& after) {
    if (before != after) Add(Aspect::kContract, Trend::kNeutral, field, before, after);
  }

  void CompareDeterminism() {
    if (!base_.deterministic || !now_.deterministic || *base_.deterministic == *now_.deterministic) return;
    Add(Aspect::kContract, *now_.deterministic ? Trend::kBetter : Trend::kWorse, "deterministic",
        *base_.deterministic ? "true" : "false", *now_.deterministic ? "true" : "false");
  }

  template <class R>
  void CompareMargins(const std::string& prefix, const R& base, const R& now) {
    for (const MarginField<R>& field : kMarginFields<R>) {
      CompareMargin(prefix + field.name, field.applies_always, base.*field.value, now.*field.value);
    }
  }

  void CompareMargin(const std::string& name, bool applies_always, const Number& before, const Number& after) {
    if (!before && !after) return;
    if (!applies_always && (!before || !after)) return;
    if (!before || !after) {
      Change& change = Add(Aspect::kMargin, Trend::kNeutral, name, NumberText(before), NumberText(after));
      change.detail = after ? "the channel applies now" : "the channel does not apply any more";
      return;
    }
    if (*before == *after || (std::isnan(*before) && std::isnan(*after))) return;
    if (std::max(*before, *after) < limits_.margin_floor) return;
    const double growth = *before > 0 ? *after / *before : std::numeric_limits<double>::infinity();
    const bool regression =
        *after >= limits_.margin_floor && limits_.margin_growth && !(growth < *limits_.margin_growth);
    const bool reported = !(growth < kReportedMarginGrowth) || growth <= 1 / kReportedMarginGrowth;
    if (!reported && !regression) return;
    Change& change =
        Add(Aspect::kMargin, growth < 1 ? Trend::kBetter : Trend::kWorse, name, NumberText(before), NumberText(after));
    change.amount = growth;
    change.regression = regression && change.trend == Trend::kWorse;
  }

  void CompareEffectiveBits() {
    if (!base_.effective_bits || !now_.effective_bits) return;
    const double gained = *now_.effective_bits - *base_.effective_bits;
    const bool regression = limits_.effective_bits_lost && gained < 0 && -gained >= *limits_.effective_bits_lost;
    if (!(std::abs(gained) >= kReportedEffectiveBits) && !regression) return;
    Change& change = Add(Aspect::kEffectiveBits, gained < 0 ? Trend::kWorse : Trend::kBetter, "effective_bits",
                         fmt::format("{:.1f}", *base_.effective_bits), fmt::format("{:.1f}", *now_.effective_bits));
    change.amount = gained;
    change.regression = regression;
  }

  // Bits that change from run to run by themselves say nothing.
  void CompareBits() {
    if (base_.output_hash.empty() || now_.output_hash.empty() || base_.output_hash == now_.output_hash) return;
    if (!base_.deterministic.value_or(true) || !now_.deterministic.value_or(true)) return;
    Add(Aspect::kBits, Trend::kNeutral, "output_hash", base_.output_hash, now_.output_hash).regression =
        limits_.bits_changed;
  }

  const Record& base_;
  const Record& now_;
  const RegressionLimits& limits_;
  std::vector<Change> changes_;
};

}  // namespace

bool HasResult(const Record& record) {
  return record.verdict != "unsupported" && record.verdict != "unavailable" && record.verdict != "missing";
}

std::vector<Change> CompareRecords(const Record& base, const Record& now, const RegressionLimits& limits) {
  return RecordComparer(base, now, limits).Run();
}

}  // namespace assay

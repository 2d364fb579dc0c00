// SPDX-License-Identifier: Apache-2.0
// The rules that turn evidence into a decision, in order of weight: what is proven wrong comes before what is only
// weaker than required, and that before what could not be proven.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "harness/core/data/infinity.h"
#include "harness/judge/localise.h"
#include "harness/judge/verdict.h"

namespace assay {
namespace {

// Advice for a kernel whose NaN is intended, although for instance "masked=zero" fixes another value.
std::string MeantNan(const std::string& field) {
  return fmt::format("; a kernel that means NaN there declares {}nan", field.substr(0, field.find('=') + 1));
}

std::string ElementText(const Shape& shape, const WorstElement& w) {
  const std::string part = w.component == 1 ? " (imaginary part)" : "";
  if (w.decided) {
    return fmt::format("element {}{} got {:.9g}, where the contract fixes {:.9g} by {}{}", IndexText(shape, w.index),
                       part, w.got, *w.decided, w.decided_by, std::isnan(w.got) ? MeantNan(w.decided_by) : "");
  }
  const std::string values =
      fmt::format("element {}{} got {:.9g}, golden {:.9g}", IndexText(shape, w.index), part, w.got, w.golden);
  if (!std::isfinite(w.error)) return values;
  return fmt::format("{}, error {:.3g}, tolerance {:.3g}", values, w.error, w.tolerance);
}

std::string StatisticFailure(const JudgeInputs& evidence) {
  if (evidence.user_data && evidence.not_random.value_or("unknown") != "") return "";
  for (const ErrorMetrics& m : evidence.runs) {
    const bool fails = evidence.user_data ? IsFarOff(m) : !m.statistic.Holds();
    if (fails) return "statistic channel: " + m.statistic.reason;
  }
  return "";
}

// Failure on random data of the case's shape, judged when the case's own data are not random; "" if there is none.
std::string RandomFailure(const JudgeInputs& evidence) {
  if (!evidence.random || Holds(*evidence.random)) return "";
  const ErrorMetrics& m = *evidence.random;
  return fmt::format("on {}: {}", evidence.random_id,
                     m.Holds() ? "statistic channel: " + m.statistic.reason : DescribeFailure(m, evidence.shape));
}

// Faults of memory, which can be the cause of all others; "" when there are none.
std::string MemoryFailure(const JudgeInputs& evidence) {
  if (evidence.guard_violations > 0) {
    return fmt::format("memory: {} guard bytes outside the output were overwritten; {}", evidence.guard_violations,
                       evidence.guard_where);
  }
  if (!evidence.changed_inputs.empty()) {
    return fmt::format("memory: {}", fmt::join(evidence.changed_inputs, "; "));
  }
  if (evidence.unwritten > 0) return "memory: " + evidence.unwritten_where;
  return "";
}

// An accumulator that cannot be the declared one, by what is wrong on the twin's data; "" where nothing says so.
std::string FalseAccumulator(const Contract& declared, const TwinResult& twin) {
  if (twin.sum_bits == 0 || twin.sum_bits >= declared.AccExactBits()) return "";
  const auto is_it = [&](DType dtype) { return FormatOf(dtype).precision == twin.sum_bits; };
  const DType narrow = is_it(DType::kF32) ? DType::kF32 : is_it(DType::kF16) ? DType::kF16 : DType::kBF16;
  return fmt::format("declares {}, but sums beyond 2^{} are not exact, as in {}; ", "acc=" + FieldText(declared, "acc"),
                     twin.sum_bits, Name(narrow));
}

struct Failure {
  std::string reason;  // "": there is none
  std::string_view decided_by = "";
};

// The first thing that proves the values wrong.
Failure ValueFailure(const JudgeInputs& evidence) {
  for (const TwinResult& twin : evidence.twins) {
    if (twin.Holds()) continue;
    const std::string narrow = evidence.weaker_arithmetic ? "" : FalseAccumulator(evidence.declared, twin);
    return {"exact channel: " + narrow + twin.Reason(evidence.shape)};
  }
  for (size_t run = 0; run < evidence.runs.size(); ++run) {
    const std::string which = evidence.runs.size() > 1 ? fmt::format(" in run {}", run + 1) : "";
    if (!evidence.runs[run].Holds()) return {DescribeFailure(evidence.runs[run], evidence.shape, which)};
  }
  if (!evidence.second_set.empty()) {
    return {"second input set, after passing with the first: " + evidence.second_set, "second input set"};
  }
  if (const std::string reason = StatisticFailure(evidence); !reason.empty()) return {reason};
  return {RandomFailure(evidence)};
}

// The first relation to another execution that the contract claims and that does not hold.
std::string RelationFailure(const JudgeInputs& evidence) {
  const auto broken = std::ranges::find_if(evidence.properties, &PropertyOutcome::Fails);
  if (broken == evidence.properties.end()) return "";
  return fmt::format("metamorphic channel: {} does not hold, which the contract claims: {}", broken->name,
                     broken->where);
}

// Why errors that only the statistic objects to are no failure in a user's data; "": nothing speaks for that.
std::string DataRemark(const JudgeInputs& evidence, const ErrorMetrics& metrics) {
  if (evidence.not_random.value_or("").empty()) return "";
  return IsFarOff(metrics)
             ? fmt::format("; no failure, as these are no random data ({})", *evidence.not_random)
             : fmt::format("; these are no random data ({}), whose roundings may be alike", *evidence.not_random);
}

// A statistic that advises, or the implementation's own scale.
std::string Suspicion(const JudgeInputs& evidence) {
  for (const ErrorMetrics& m : evidence.runs) {
    if (!m.statistic.Holds() && evidence.weaker_arithmetic) {
      return fmt::format("behaves like {} ({}); {}{}", evidence.weaker_arithmetic->name,
                         evidence.weaker_arithmetic->field, m.statistic.reason, DataRemark(evidence, m));
    }
    if (!m.statistic.Holds()) return m.statistic.reason + DataRemark(evidence, m);
    if (m.statistic.Suspect()) return m.statistic.self_reason;
  }
  return evidence.row_lean ? evidence.row_lean->Text() : "";
}

void FillMargins(const JudgeInputs& evidence, Decision& decision) {
  double bound = 0;
  bool exceptional = true;
  for (const ErrorMetrics& m : evidence.runs) {
    bound = std::max(bound, m.bound_margin);
    exceptional = exceptional && m.nonfinite_mismatch == 0;
  }
  for (const ErrorMetrics& m : evidence.runs) {
    if (!m.statistic.applicable) continue;
    decision.stat_margin = std::max(decision.stat_margin.value_or(0), m.statistic.margin);
    if (!m.statistic.self_margin) continue;
    decision.self_margin = std::max(decision.self_margin.value_or(0), *m.statistic.self_margin);
  }
  if (evidence.random) {
    bound = std::max(bound, evidence.random->bound_margin);
    exceptional = exceptional && evidence.random->nonfinite_mismatch == 0;
    if (evidence.random->statistic.applicable) {
      decision.stat_margin = std::max(decision.stat_margin.value_or(0), evidence.random->statistic.margin);
    }
  }
  decision.bound_margin = bound;
  decision.exceptional_margin = exceptional ? 0 : kInfinity;
  for (const TwinResult& twin : evidence.twins) {
    decision.exact_margin = std::max(decision.exact_margin.value_or(0), twin.Margin());
  }
  for (const PropertyOutcome& property : evidence.properties) {
    if (!property.claimed) continue;
    decision.metamorphic_margin = std::max(decision.metamorphic_margin.value_or(0), property.margin);
  }
}

ResultClass ClassOfPass(const JudgeInputs& evidence) {
  if (!Suspicion(evidence).empty()) return ResultClass::kSuspect;
  const bool exact =
      std::all_of(evidence.runs.begin(), evidence.runs.end(), [](const ErrorMetrics& m) { return m.bit_exact; });
  return exact ? ResultClass::kBitExact : ResultClass::kWithinClass;
}

// Why most results accept whatever comes, and what would change that.
struct Openness {
  std::string cause, remedy;
  std::string Text() const { return cause.empty() ? remedy : cause + ": " + remedy; }
};

// Nothing if most results do not overflow.
std::optional<Openness> FindOverflow(const JudgeInputs& evidence) {
  const MutationPower& power = *evidence.power;
  if (2 * power.overflowing <= power.sampled) return std::nullopt;
  const std::string cause = fmt::format(
      "{} of {} results may overflow, at the end or {}on the way, where infinities and NaN can be right too",
      power.overflowing, power.sampled, evidence.sums ? "in some legal order of their terms " : "");
  if (!evidence.user_data) {
    return Openness{cause, "take a fill of smaller values, or an implementation with an accumulator of wider range"};
  }
  return Openness{cause,
                  "scale the operands down before the dump, or, if the implementation really accumulates in "
                  "f64, say so with " +
                      evidence.contract_word + " acc=f64"};
}

// Names the data that would have a bound.
std::string_view RemedyFor(const std::optional<formula::Opening>& opening) {
  using formula::OpeningKind;
  switch (opening ? opening->kind : OpeningKind::kRange) {
    case OpeningKind::kDivisor:
      return "take data that keep the divisor away from 0, or leave such elements out";
    case OpeningKind::kDomain:
      return "take data for which the function is finite, or leave such elements out";
    case OpeningKind::kNonFinite:
      return "take finite data, or leave such elements out";
    case OpeningKind::kCondition:
    case OpeningKind::kPlace:
      return "take data that decide it clearly, or leave such elements out";
    case OpeningKind::kInteger:
      return "take smaller integers or a wider type, or leave such elements out";
    default:
      return "scale the operands down, or leave such rows out";
  }
}

// Results that the contract bounds by nothing. Where a wider accumulator of the same range bounds them, they are left
// open by roundings alone, whatever the size of the operands.
Openness ExplainUnbounded(const JudgeInputs& evidence) {
  const MutationPower& power = *evidence.power;
  const std::string count =
      fmt::format("it promises nothing for {} of {} results", power.unbounded, NumElements(evidence.shape));
  if (evidence.bounding_contract.empty()) {
    const std::string where = power.DescribeOpening();
    const char* unknown = ", where something on the way may overflow or the contract leaves the result open";
    return {count + (where.empty() ? unknown : where), std::string(RemedyFor(power.opening))};
  }
  const bool same_range = evidence.declared.acc == Accumulator::kBF16;  // that of f32, which is tried first
  const bool leaves_range = power.opening && power.opening->kind == formula::OpeningKind::kRange;
  return {fmt::format("{}, which roundings{} on the way leave open", count, same_range ? "" : " or a range that ends"),
          fmt::format("{} '{}' bounds them, if the kernel computes so; else take {}", evidence.contract_word,
                      evidence.bounding_contract,
                      leaves_range    ? "smaller operands"
                      : evidence.sums ? "rows of fewer terms"
                                      : "data of smaller results")};
}

// Whether nothing is promised for most elements.
bool IsMostlyUnbounded(const JudgeInputs& evidence) {
  return 2 * evidence.power->unbounded > NumElements(evidence.shape);
}

Openness ExplainData(const JudgeInputs& evidence) {
  if (const auto overflow = FindOverflow(evidence)) return *overflow;
  if (IsMostlyUnbounded(evidence)) return ExplainUnbounded(evidence);
  if (!evidence.sums)
    return {"", "judge by a tighter contract, or dump data that differ by more than this one resolves"};
  return {"", fmt::format("judge by a tighter contract, or dump results of fewer terms{}",
                          evidence.cancels ? " or with less cancellation" : "")};
}

// Why a result that nothing is wrong with is not believed; "": it is.
std::string InconclusiveReason(const JudgeInputs& evidence) {
  if (!evidence.power || HasNoElements(evidence)) return "";
  const MutationPower& power = *evidence.power;
  if (evidence.user_data) {
    const std::string blind = power.DescribeMissedFaults();
    if (blind.empty())
      return IsMostlyUnbounded(evidence) ? "acceptance says nothing: " + ExplainUnbounded(evidence).Text() : "";
    const std::string suspicion = Suspicion(evidence);
    return fmt::format("with these data the contract {} would accept {} as well, so that acceptance says nothing; {}{}",
                       ToText(evidence.declared), blind, ExplainData(evidence).Text(),
                       suspicion.empty() ? "" : "; suspect: " + suspicion);
  }
  if (power.power >= kRequiredMutationPower) return "";
  const std::optional<Openness> overflow = FindOverflow(evidence);
  return fmt::format("only {:.1f} % of faults would be caught (needed {:.0f} %); missed: {}{}", 100 * power.power,
                     100 * kRequiredMutationPower, power.missed, overflow ? "; " + overflow->Text() : "");
}

std::string WeakerArithmeticReason(const JudgeInputs& evidence, const std::string& failure) {
  return fmt::format("declared {}, behaves like {} ({}); {}", ToText(evidence.declared),
                     evidence.weaker_arithmetic->name, evidence.weaker_arithmetic->field, failure);
}

// Why a result without a fault is not enough: what is declared does not promise what the case asks for.
std::string DeclaredWeakness(const JudgeInputs& evidence, bool exact) {
  return fmt::format("{}, but {} {}", exact ? "exact here" : "within its own contract",
                     evidence.user_data ? evidence.contract_word : "the implementation",
                     Shortfall(evidence.declared, evidence.required));
}

// Weight of a decision: the heaviest one wins, in the order of Decide().
int WeightOf(const Decision& decision) {
  if (decision.memory_fault) return 5;
  switch (decision.verdict) {
    case Verdict::kPass:
      return 0;
    case Verdict::kInconclusive:
      return 1;
    case Verdict::kNondeterministic:
      return 2;
    case Verdict::kBelowContract:
      return 3;
    default:
      return 4;
  }
}

int WeightOf(ResultClass result_class) {
  switch (result_class) {
    case ResultClass::kBitExact:
      return 0;
    case ResultClass::kWithinClass:
      return 1;
    case ResultClass::kSuspect:
      return 2;
    default:
      return 3;
  }
}

double LargestMargin(const Decision& decision) {
  double largest = 0;
  for (const auto& margin : {decision.exact_margin, decision.bound_margin, decision.stat_margin,
                             decision.exceptional_margin, decision.metamorphic_margin}) {
    largest = std::max(largest, margin.value_or(0));
  }
  return largest;
}

}  // namespace

std::string SuggestData(const JudgeInputs& evidence) {
  return ExplainData(evidence).remedy;
}

std::string DescribeFailure(const ErrorMetrics& m, const Shape& shape, std::string_view which) {
  const char* parts = m.complex ? " real and imaginary parts" : "";  // what follows counts elements
  if (m.nonfinite_mismatch > 0) {
    const WorstElement example = m.nonfinite_example.value_or(WorstElement{});
    return fmt::format("exceptional channel{}: {}{} wrong among non-finite values, first {}; {}", which,
                       m.nonfinite_mismatch, parts, ElementText(shape, example), m.where);
  }
  const WorstElement worst = m.worst.empty() ? WorstElement{} : m.worst[0];
  return fmt::format("bound channel{}: {}{} beyond the bound, worst {}; {}", which, m.violations, parts,
                     ElementText(shape, worst), m.where);
}

bool IsFarOff(const ErrorMetrics& metrics) {
  return metrics.statistic.applicable && metrics.statistic.max_r > kUserElementThreshold;
}

size_t WorstOf(std::span<const Decision> outputs) {
  const auto key = [](const Decision& decision) {
    return std::tuple(WeightOf(decision), WeightOf(decision.result_class), LargestMargin(decision));
  };
  size_t worst = 0;
  for (size_t k = 1; k < outputs.size(); ++k) {
    if (key(outputs[worst]) < key(outputs[k])) worst = k;
  }
  return worst;
}

bool ValuesFail(const JudgeInputs& evidence) {
  const bool finite =
      std::ranges::all_of(evidence.runs, [](const ErrorMetrics& m) { return m.nonfinite_mismatch == 0; });
  return finite && MemoryFailure(evidence).empty() && !ValueFailure(evidence).reason.empty();
}

Decision Decide(const JudgeInputs& evidence) {
  Decision decision;
  FillMargins(evidence, decision);
  Failure failure{MemoryFailure(evidence), "memory"};
  decision.memory_fault = !failure.reason.empty();
  if (!decision.memory_fault) failure = ValueFailure(evidence);
  decision.reason = failure.reason, decision.decided_by = failure.decided_by;
  if (!decision.reason.empty()) {
    decision.verdict = Verdict::kMismatch;
    // Explained by JudgeInputs::weaker_arithmetic, it is no bug but less than was declared.
    if (decision.memory_fault || !evidence.weaker_arithmetic) return decision;
    decision.verdict = Verdict::kBelowContract;
    decision.result_class = ResultClass::kWithinLowerClass;
    decision.reason = WeakerArithmeticReason(evidence, decision.reason);
    return decision;
  }
  decision.reason = RelationFailure(evidence);
  if (!decision.reason.empty()) {
    decision.verdict = Verdict::kMismatch;
    return decision;
  }
  decision.result_class = ClassOfPass(evidence);
  const bool must_repeat = evidence.declared.deterministic || evidence.required.deterministic;
  if (must_repeat && !evidence.bits_equal) {
    decision.verdict = Verdict::kNondeterministic;
    decision.reason = fmt::format("det=yes is {} but two runs on the same inputs differ in their bits",
                                  evidence.declared.deterministic ? "declared" : "required");
  } else if (!Meets(evidence.declared, evidence.required)) {
    decision.verdict = Verdict::kBelowContract;
    decision.reason = DeclaredWeakness(evidence, decision.result_class == ResultClass::kBitExact);
    decision.result_class = ResultClass::kWithinLowerClass;
    decision.holds_as_declared = true;
  } else if (decision.reason = InconclusiveReason(evidence); !decision.reason.empty()) {
    decision.verdict = Verdict::kInconclusive;
  } else {
    decision.verdict = Verdict::kPass;
    decision.holds_as_declared = true;
    const std::string suspicion = Suspicion(evidence);
    if (!suspicion.empty()) decision.reason = "suspect: " + suspicion;
    if (HasNoElements(evidence)) decision.reason = "the result has 0 elements, so that there was nothing to judge";
  }
  return decision;
}

}  // namespace assay

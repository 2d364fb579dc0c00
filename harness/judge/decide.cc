// SPDX-License-Identifier: Apache-2.0
// The rules that turn what was observed into a decision, in order of weight: what is proven wrong comes before what is
// only weaker than required, and that before what could not be proven.
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

std::string StatisticFailure(const JudgeInputs& observed) {
  if (observed.user_data && observed.not_random.value_or("unknown") != "") return "";
  for (const ErrorMetrics& m : observed.runs) {
    const bool fails = observed.user_data ? IsFarOff(m) : !m.statistic.Holds();
    if (fails) return "statistic channel: " + m.statistic.reason;
  }
  return "";
}

// Failure on random data of the case's shape, judged when the case's own data are not random; "" if there is none.
std::string RandomFailure(const JudgeInputs& observed) {
  if (!observed.random || Holds(*observed.random)) return "";
  const ErrorMetrics& m = *observed.random;
  return fmt::format("on {}: {}", observed.random_id,
                     m.Holds() ? "statistic channel: " + m.statistic.reason : DescribeFailure(m, observed.shape));
}

// Faults of memory, which can be the cause of all others; "" when there are none.
std::string MemoryFailure(const JudgeInputs& observed) {
  if (observed.guard_violations > 0) {
    return fmt::format("memory: {} guard bytes outside the output were overwritten; {}", observed.guard_violations,
                       observed.guard_where);
  }
  if (!observed.changed_inputs.empty()) {
    return fmt::format("memory: {}", fmt::join(observed.changed_inputs, "; "));
  }
  if (observed.unwritten > 0) return "memory: " + observed.unwritten_where;
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
Failure ValueFailure(const JudgeInputs& observed) {
  for (const TwinResult& twin : observed.twins) {
    if (twin.Holds()) continue;
    const std::string narrow = observed.weaker_arithmetic ? "" : FalseAccumulator(observed.declared, twin);
    return {"exact channel: " + narrow + twin.Reason(observed.shape)};
  }
  for (size_t run = 0; run < observed.runs.size(); ++run) {
    const std::string which = observed.runs.size() > 1 ? fmt::format(" in run {}", run + 1) : "";
    if (!observed.runs[run].Holds()) return {DescribeFailure(observed.runs[run], observed.shape, which)};
  }
  if (!observed.second_set.empty()) {
    return {"second input set, after passing with the first: " + observed.second_set, "second input set"};
  }
  if (const std::string reason = StatisticFailure(observed); !reason.empty()) return {reason};
  return {RandomFailure(observed)};
}

// The first relation to another execution that the contract claims and that does not hold.
std::string RelationFailure(const JudgeInputs& observed) {
  const auto broken = std::ranges::find_if(observed.properties, &PropertyFinding::Fails);
  if (broken == observed.properties.end()) return "";
  return fmt::format("metamorphic channel: {} does not hold, which the contract claims: {}", broken->name,
                     broken->where);
}

// Why errors that only the statistic objects to are no failure in a user's data; "": nothing speaks for that.
std::string DataRemark(const JudgeInputs& observed, const ErrorMetrics& metrics) {
  if (observed.not_random.value_or("").empty()) return "";
  return IsFarOff(metrics)
             ? fmt::format("; no failure, as these are no random data ({})", *observed.not_random)
             : fmt::format("; these are no random data ({}), whose roundings may be alike", *observed.not_random);
}

// A statistic that advises, or the implementation's own scale.
std::string Suspicion(const JudgeInputs& observed) {
  for (const ErrorMetrics& m : observed.runs) {
    if (!m.statistic.Holds() && observed.weaker_arithmetic) {
      return fmt::format("behaves like {} ({}); {}{}", observed.weaker_arithmetic->name,
                         observed.weaker_arithmetic->field, m.statistic.reason, DataRemark(observed, m));
    }
    if (!m.statistic.Holds()) return m.statistic.reason + DataRemark(observed, m);
    if (m.statistic.Suspect()) return m.statistic.self_reason;
  }
  return observed.row_lean ? observed.row_lean->Text() : "";
}

void FillMargins(const JudgeInputs& observed, Decision& decision) {
  double bound = 0;
  bool exceptional = true;
  for (const ErrorMetrics& m : observed.runs) {
    bound = std::max(bound, m.bound_margin);
    exceptional = exceptional && m.nonfinite_mismatch == 0;
  }
  for (const ErrorMetrics& m : observed.runs) {
    if (!m.statistic.applicable) continue;
    decision.stat_margin = std::max(decision.stat_margin.value_or(0), m.statistic.margin);
    if (!m.statistic.self_margin) continue;
    decision.self_margin = std::max(decision.self_margin.value_or(0), *m.statistic.self_margin);
  }
  if (observed.random) {
    bound = std::max(bound, observed.random->bound_margin);
    exceptional = exceptional && observed.random->nonfinite_mismatch == 0;
    if (observed.random->statistic.applicable) {
      decision.stat_margin = std::max(decision.stat_margin.value_or(0), observed.random->statistic.margin);
    }
  }
  decision.bound_margin = bound;
  decision.exceptional_margin = exceptional ? 0 : kInfinity;
  for (const TwinResult& twin : observed.twins) {
    decision.exact_margin = std::max(decision.exact_margin.value_or(0), twin.Margin());
  }
  for (const PropertyFinding& property : observed.properties) {
    if (!property.claimed) continue;
    decision.metamorphic_margin = std::max(decision.metamorphic_margin.value_or(0), property.margin);
  }
}

ResultClass ClassOfPass(const JudgeInputs& observed) {
  if (!Suspicion(observed).empty()) return ResultClass::kSuspect;
  const bool exact =
      std::all_of(observed.runs.begin(), observed.runs.end(), [](const ErrorMetrics& m) { return m.bit_exact; });
  return exact ? ResultClass::kBitExact : ResultClass::kWithinClass;
}

// Why most results accept whatever comes, and what would change that.
struct Openness {
  std::string cause, remedy;
  std::string Text() const { return cause.empty() ? remedy : cause + ": " + remedy; }
};

// Nothing if most results do not overflow.
std::optional<Openness> FindOverflow(const JudgeInputs& observed) {
  const MutationPower& power = *observed.power;
  if (2 * power.overflowing <= power.sampled) return std::nullopt;
  const std::string cause = fmt::format(
      "{} of {} results may overflow, at the end or {}on the way, where infinities and NaN can be right too",
      power.overflowing, power.sampled, observed.sums ? "in some legal order of their terms " : "");
  if (!observed.user_data) {
    return Openness{cause, "take a fill of smaller values, or an implementation with an accumulator of wider range"};
  }
  return Openness{cause,
                  "scale the operands down before the dump, or, if the implementation really accumulates in "
                  "f64, say so with " +
                      observed.contract_word + " acc=f64"};
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
Openness ExplainUnbounded(const JudgeInputs& observed) {
  const MutationPower& power = *observed.power;
  const std::string count =
      fmt::format("it promises nothing for {} of {} results", power.unbounded, NumElements(observed.shape));
  if (observed.bounding_contract.empty()) {
    const std::string where = power.DescribeOpening();
    const char* unknown = ", where something on the way may overflow or the contract leaves the result open";
    return {count + (where.empty() ? unknown : where), std::string(RemedyFor(power.opening))};
  }
  const bool same_range = observed.declared.acc == Accumulator::kBF16;  // that of f32, which is tried first
  const bool leaves_range = power.opening && power.opening->kind == formula::OpeningKind::kRange;
  return {fmt::format("{}, which roundings{} on the way leave open", count, same_range ? "" : " or a range that ends"),
          fmt::format("{} '{}' bounds them, if the kernel computes so; else take {}", observed.contract_word,
                      observed.bounding_contract,
                      leaves_range    ? "smaller operands"
                      : observed.sums ? "rows of fewer terms"
                                      : "data of smaller results")};
}

// Whether nothing is promised for most elements.
bool IsMostlyUnbounded(const JudgeInputs& observed) {
  return 2 * observed.power->unbounded > NumElements(observed.shape);
}

Openness ExplainData(const JudgeInputs& observed) {
  if (const auto overflow = FindOverflow(observed)) return *overflow;
  if (IsMostlyUnbounded(observed)) return ExplainUnbounded(observed);
  if (!observed.sums)
    return {"", "judge by a tighter contract, or dump data that differ by more than this one resolves"};
  return {"", fmt::format("judge by a tighter contract, or dump results of fewer terms{}",
                          observed.cancels ? " or with less cancellation" : "")};
}

// Why a result that nothing is wrong with is not believed; "": it is.
std::string InconclusiveReason(const JudgeInputs& observed) {
  if (!observed.power || HasNoElements(observed)) return "";
  const MutationPower& power = *observed.power;
  if (observed.user_data) {
    const std::string blind = power.DescribeMissedFaults();
    if (blind.empty())
      return IsMostlyUnbounded(observed) ? "acceptance says nothing: " + ExplainUnbounded(observed).Text() : "";
    const std::string suspicion = Suspicion(observed);
    return fmt::format("with these data the contract {} would accept {} as well, so that acceptance says nothing; {}{}",
                       ToText(observed.declared), blind, ExplainData(observed).Text(),
                       suspicion.empty() ? "" : "; suspect: " + suspicion);
  }
  if (power.power >= kRequiredMutationPower) return "";
  const std::optional<Openness> overflow = FindOverflow(observed);
  return fmt::format("only {:.1f} % of faults would be caught (needed {:.0f} %); missed: {}{}", 100 * power.power,
                     100 * kRequiredMutationPower, power.missed, overflow ? "; " + overflow->Text() : "");
}

std::string WeakerArithmeticReason(const JudgeInputs& observed, const std::string& failure) {
  return fmt::format("declared {}, behaves like {} ({}); {}", ToText(observed.declared),
                     observed.weaker_arithmetic->name, observed.weaker_arithmetic->field, failure);
}

// Why a result without a fault is not enough: what is declared does not promise what the case asks for.
std::string DeclaredWeakness(const JudgeInputs& observed, bool exact) {
  return fmt::format("{}, but {} {}", exact ? "exact here" : "within its own contract",
                     observed.user_data ? observed.contract_word : "the implementation",
                     Shortfall(observed.declared, observed.required));
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

std::string SuggestData(const JudgeInputs& observed) {
  return ExplainData(observed).remedy;
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

bool ValuesFail(const JudgeInputs& observed) {
  const bool finite =
      std::ranges::all_of(observed.runs, [](const ErrorMetrics& m) { return m.nonfinite_mismatch == 0; });
  return finite && MemoryFailure(observed).empty() && !ValueFailure(observed).reason.empty();
}

Decision Decide(const JudgeInputs& observed) {
  Decision decision;
  FillMargins(observed, decision);
  Failure failure{MemoryFailure(observed), "memory"};
  decision.memory_fault = !failure.reason.empty();
  if (!decision.memory_fault) failure = ValueFailure(observed);
  decision.reason = failure.reason, decision.decided_by = failure.decided_by;
  if (!decision.reason.empty()) {
    decision.verdict = Verdict::kMismatch;
    // Explained by JudgeInputs::weaker_arithmetic, it is no bug but less than was declared.
    if (decision.memory_fault || !observed.weaker_arithmetic) return decision;
    decision.verdict = Verdict::kBelowContract;
    decision.result_class = ResultClass::kWithinLowerClass;
    decision.reason = WeakerArithmeticReason(observed, decision.reason);
    return decision;
  }
  decision.reason = RelationFailure(observed);
  if (!decision.reason.empty()) {
    decision.verdict = Verdict::kMismatch;
    return decision;
  }
  decision.result_class = ClassOfPass(observed);
  const bool must_repeat = observed.declared.deterministic || observed.required.deterministic;
  if (must_repeat && !observed.bits_equal) {
    decision.verdict = Verdict::kNondeterministic;
    decision.reason = fmt::format("det=yes is {} but two runs on the same inputs differ in their bits",
                                  observed.declared.deterministic ? "declared" : "required");
  } else if (!Meets(observed.declared, observed.required)) {
    decision.verdict = Verdict::kBelowContract;
    decision.reason = DeclaredWeakness(observed, decision.result_class == ResultClass::kBitExact);
    decision.result_class = ResultClass::kWithinLowerClass;
    decision.holds_as_declared = true;
  } else if (decision.reason = InconclusiveReason(observed); !decision.reason.empty()) {
    decision.verdict = Verdict::kInconclusive;
  } else {
    decision.verdict = Verdict::kPass;
    decision.holds_as_declared = true;
    const std::string suspicion = Suspicion(observed);
    if (!suspicion.empty()) decision.reason = "suspect: " + suspicion;
    if (HasNoElements(observed)) decision.reason = "the result has 0 elements, so that there was nothing to judge";
  }
  return decision;
}

}  // namespace assay

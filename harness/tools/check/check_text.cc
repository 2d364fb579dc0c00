// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/amounts.h"
#include "harness/judge/worst.h"

namespace assay {
namespace {

std::string MarginLine(const char* channel, const Number& margin, const std::string& meaning) {
  if (!margin) return fmt::format("  {:<12} not applicable\n", channel);
  return fmt::format("  {:<12} {:<12.4g} {}\n", channel, *margin, meaning);
}

// Whether the statistic says nothing because of the contract's intermediates, and not because results are integers or
// exact, or operands are rounded or transformed.
bool IsSilencedByMid(const Record& r, const PreparedCase& data, size_t output, const Contract& contract) {
  return !r.stat_margin && contract.mid != Intermediate::kNone && contract.in == InputRounding::kExact &&
         contract.alg == Algorithm::kDirect && !data.outputs[output].golden.exact &&
         IsFloat(data.problem.outputs[output].dtype);
}

std::string StatisticLine(const Record& r, const UserTensors& user, const CheckResult& result) {
  const Contract& contract = result.worst().observed.declared;
  const size_t worst = result.findings.worst;
  if (IsSilencedByMid(r, user.data, worst, contract)) {
    const bool has_rows = user.data.op->TraitsOf(user.data.problem, worst).sharing_slices > 1;
    return fmt::format("  {:<12} not applicable: roundings of intermediates (mid={}) are shared{}\n", "statistic",
                       FieldText(contract, "mid"), has_rows ? " by a row; rows that lean are looked for instead" : "");
  }
  return MarginLine("statistic", r.stat_margin,
                    fmt::format("makes suspect: error against that of random roundings; of random data an element "
                                "beyond {:g} standard deviations fails",
                                kUserElementThreshold));
}

std::string ChannelLines(const Record& r, const UserTensors& user, const CheckResult& result) {
  std::string text = "channels (margin; above 1 fails):\n";
  text += MarginLine("bound", r.bound_margin, "largest error beyond rounding / what the arithmetic may cost");
  if (r.exact_margin) text += MarginLine("exact", r.exact_margin, "largest difference from the rounded golden value");
  text += MarginLine("exceptional", r.exceptional_margin,
                     fmt::format("{} wrong among NaN and infinities", r.nonfinite_mismatch.value_or(0)));
  return text + StatisticLine(r, user, result);
}

// A table of all outputs, if there are several. The lines after it are about the worst.
std::string OutputLines(const Record& r) {
  if (r.outputs.empty()) return "";
  const auto number = [](const Number& x) { return x ? fmt::format("{:.3g}", *x) : std::string("-"); };
  std::string text = fmt::format("outputs:\n  {:<16} {:<14} {:<18} {:>9} {:>9} {:>11}\n", "name", "verdict", "class",
                                 "bound", "exact", "exceptional");
  for (const OutputRecord& output : r.outputs) {
    text += fmt::format("  {:<16} {:<14} {:<18} {:>9} {:>9} {:>11}\n", output.name, output.verdict, output.result_class,
                        number(output.bound_margin), number(output.exact_margin), number(output.exceptional_margin));
  }
  return text + fmt::format("of the worst, {}:\n", r.worst_output);
}

std::string MetricLines(const Record& r, const ErrorMetrics& metrics) {
  const auto number = [](const Number& x) { return x ? fmt::format("{:.3g}", *x) : std::string("-"); };
  const bool at_zero =
      std::ranges::any_of(metrics.worst, [](const WorstElement& w) { return w.golden == 0 && w.error != 0; });
  const std::string relative = !r.max_rel_err ? "undefined (golden 0)" : number(r.max_rel_err);
  return fmt::format("errors: max abs {}, max rel {}{}, max ulp {}, rms {}, nmse {}, effective bits {}\n",
                     number(r.max_abs_err), relative, at_zero && r.max_rel_err ? " (but for golden 0)" : "",
                     number(r.max_ulp_err), number(r.rms_err), number(r.nmse), number(r.effective_bits));
}

std::string WorstLines(const UserTensors& user, size_t output, const ErrorMetrics& metrics) {
  if (metrics.worst.empty()) return "";
  const Shape& shape = user.whole().outputs[output].shape;
  std::string text = fmt::format("worst elements:\n  {:<16} {:>16} {:>16} {:>10} {:>10} {:>8}\n", "index", "got",
                                 "golden", "error", "tolerance", "margin");
  for (WorstElement w : metrics.worst) {
    if (user.sample) w.index = user.sample->ElementOf(output, w.index);
    const std::string margin = std::isfinite(w.margin) ? fmt::format("{:.3g}", w.margin) : "-";
    text += fmt::format("  {:<16} {:>16.9g} {:>16.9g} {:>10.3g} {:>10.3g} {:>8}\n", PlaceText(shape, w), w.got,
                        w.golden, w.error, w.tolerance, margin);
  }
  return text;
}

// Why a result that breaks its contract is no plain mismatch.
std::string WeakerArithmeticLines(const CheckResult& result, Asker asker) {
  const std::optional<WeakerArithmetic>& weaker_arithmetic = result.worst().observed.weaker_arithmetic;
  if (!weaker_arithmetic) return "";
  const WeakerArithmetic& found = *weaker_arithmetic;
  const auto statistic = [](std::optional<double> margin) {
    return margin ? fmt::format("{:.3g}", *margin) : std::string("-");
  };
  std::string text = fmt::format(
      "behaves like: {} ({}): judged by that class, the bound's margin is {:.3g} and the statistic "
      "{}; judged by the contract, {:.3g} and {}\n",
      found.name, found.field, found.bound_margin, statistic(found.stat_margin), result.record.bound_margin.value_or(0),
      statistic(result.record.stat_margin));
  if (!found.stat_margin) text += "              sums that are formed like that give these results\n";
  return text +
         fmt::format("              {} judges by that class{}\n", OptionWith(asker, "contract", ToText(found.contract)),
                     result.unnoticed_faults.empty() ? ""
                                                     : ", and with these data is inconclusive: it would accept " +
                                                           result.unnoticed_faults + " as well");
}

// Notes how many results the contract leaves unjudged.
std::string OpenLine(const OutputFindings& findings) {
  const JudgeInputs& observed = findings.observed;
  if (!observed.power || observed.power->unbounded == 0) return "";
  const std::string where = observed.power->DescribeOpening();
  const bool is_said = findings.decision.reason.find(where) != std::string::npos;
  return fmt::format("note: {} of {} results were not judged: the contract gives no bound for them{}\n",
                     observed.power->unbounded, NumElements(observed.shape), is_said ? "" : where);
}

// Says whether the result also holds without the 16-bit intermediates that the default permits.
std::string StricterLine(const CheckResult& result) {
  if (!result.stricter) return "";
  const std::string what =
      fmt::format("stricter: {}, without intermediates of 16 bits, ", ToText(result.stricter->contract));
  if (result.stricter->holds) return what + "holds too\n";
  return fmt::format("{}does not hold: {}\n", what, result.stricter->reason);
}

// Constants that nobody stated, which may not be those of the kernel.
std::string DefaultsLine(const UserTensors& user, const Record& r) {
  const bool is_suspect = r.verdict == Name(Verdict::kPass) && r.result_class == Name(ResultClass::kSuspect);
  const bool fails = r.verdict == Name(Verdict::kMismatch) || r.verdict == Name(Verdict::kBelowContract);
  if (user.defaults.empty() || !(fails || is_suspect || r.weak_pass.value_or(false))) return "";
  return fmt::format("attributes: judged with {} by default; {} another\n", fmt::join(user.defaults, " "),
                     user.asker == Asker::kCommandLine ? "--attr KEY=VALUE states" : "an argument of that name states");
}

// A weak or suspect result is easily read as a pass.
std::string SuspectLine(const Record& r) {
  if (r.verdict != Name(Verdict::kPass)) return "";
  if (r.result_class != Name(ResultClass::kSuspect)) {
    return r.weak_pass.value_or(false) ? "warning: most wrong results would pass too; strict fails this result\n" : "";
  }
  return "warning: the bound holds, but random roundings hardly make such errors: look at them; strict fails this "
         "result\n";
}

// A pass in 16 bits of which the share of faults says nothing, as of long rows.
std::string FewFaultsLine(const CheckResult& result) {
  const JudgeInputs& observed = result.worst().observed;
  const bool passes = result.record.verdict == Name(Verdict::kPass);
  if (!passes || !result.stricter || !result.stricter->holds || !HasTooFewFaults(observed)) return "";
  return fmt::format(
      "note: with these data only {} could be tried, and at least {} are needed to know what is noticed: a lost term "
      "or another divisor may not be\n",
      Counted(observed.power->omitted_total, "single fault"), kFewestFaults);
}

std::string MutationPowerLine(const CheckResult& result) {
  const JudgeInputs& observed = result.worst().observed;

  if (!observed.power || !observed.power->DescribeMissedFaults().empty() ||
      observed.power->power >= kRequiredMutationPower)
    return "";
  const bool passes = result.record.verdict == Name(Verdict::kPass);
  const std::string blank = passes ? observed.power->blank_result : "";
  return fmt::format("note: with these data the bound would notice {:.1f} % of single faults; it misses {}{}\n",
                     100 * observed.power->power, result.record.mutation_power_missed,
                     blank.empty() ? "" : fmt::format("; {} is the right result of these data, and passes", blank));
}

std::string QuickSearchLine(const CheckResult& result, Asker asker) {
  if (!result.ran_out_of_work) return "";
  return fmt::format("note: a quick search for causes ended without one; {} searches longer\n",
                     OptionWith(asker, "explain", "full"));
}

// "128 elements", "144 elements of 3 outputs".
std::string SizeText(const UserTensors& user) {
  int64_t elements = 0;
  for (const Operand& output : user.whole().outputs) elements += NumElements(output.shape);
  const size_t outputs = user.data.outputs.size();
  const std::string all = Counted(elements, "element") + (outputs > 1 ? " of " + Counted(outputs, "output") : "");
  return user.sample ? all + "; " + user.sample->Text() : all;
}

}  // namespace

Result<DerivedTolerance> DeriveElement(const std::string& element, const UserTensors& user, const CheckResult& result) {
  const Problem& problem = user.data.problem;
  const auto place = ParseElementPlace(element, problem, result.findings.worst);
  if (!place) return UsageError("--derive " + place.error().message);
  const Golden& golden = user.data.outputs[place->output].golden;
  const BoundModel bound = user.data.op->Bound(problem, place->output, golden, user.contract);
  return DeriveTolerance(problem, *place, golden, bound, user.contract, user.got[place->output]);
}

std::string CheckText(const UserTensors& user, const CheckResult& result) {
  const Record& r = result.record;
  const JudgeInputs& observed = result.worst().observed;
  const ErrorMetrics& metrics = observed.runs[0];
  const std::string with_class = r.result_class == Name(ResultClass::kNone) ? "" : " (" + r.result_class + ")";
  const std::string origin = user.contract_is_default
                                 ? fmt::format(" (the default; {} states another)", OptionName(user.asker, "contract"))
                                 : "";
  std::string text = fmt::format("{}{}  {} {} {}, {}\ncontract: {}{}\n", r.verdict, with_class, r.op, r.dtype, r.shape,
                                 SizeText(user), r.contract, origin);
  if (!r.reason.empty()) text += "reason: " + r.reason + "\n";
  if (r.reason.find(r.where) == std::string::npos) text += "where: " + r.where + "\n";
  text += SuspectLine(r) + DefaultsLine(user, r) + StricterLine(result) + WeakerArithmeticLines(result, user.asker) +
          OutputLines(r);
  return text + ChannelLines(r, user, result) + MetricLines(r, metrics) +
         WorstLines(user, result.findings.worst, metrics) + OpenLine(result.worst()) + FewFaultsLine(result) +
         MutationPowerLine(result) + QuickSearchLine(result, user.asker);
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/tools/check/check_case.h"

namespace assay {
namespace {

// Properties of the operator and of the worst output that decide which advice makes sense.
struct AdviceFacts {
  bool sums = false, selects = false, masks = false;
};

AdviceFacts FactsFor(const UserTensors& user, const CheckResult& result) {
  return {result.worst().observed.sums, user.data.op->TraitsOf(user.data.problem, result.findings.worst).selects,
          user.data.op->schema().Find("mask") != nullptr};
}

// For errors that are small and everywhere, or lean to one side.
std::string AdviseOnConstants(const AdviceFacts& facts) {
  return facts.sums ? "compare the constants (an epsilon, a divisor, a scale) and the algorithm with the operator's "
                      "definition"
                    : "compare the formula and its constants with the operator's definition";
}

std::string AdviseOnNonFinite(const AdviceFacts& facts, const ErrorMetrics& metrics) {
  const WorstElement example = metrics.nonfinite_example.value_or(WorstElement{});
  if (facts.selects || !std::isfinite(example.golden)) {
    return "look at what the kernel makes of NaN and infinities in its operands, and for memory that nobody wrote";
  }
  if (std::isfinite(example.got)) return "look for a range that is cut off on the way";
  return "look for an overflow on the way, a division by zero, or memory that nobody wrote";
}

// The attributes that a caller may have got wrong, or not have stated; "" where the shapes give all of them.
std::string AttributesText(const UserTensors& user) {
  const auto has_default = [](const AttrDef& attr) { return !attr.default_value.empty(); };
  if (std::ranges::none_of(user.data.op->schema().attrs, has_default)) return "";
  if (user.defaults.empty()) return "the attributes that are stated and ";
  return fmt::format("the attributes (those that are stated; {} by default) and ", fmt::join(user.defaults, ", "));
}

std::string AdviseOnMost(const UserTensors& user, const AdviceFacts& facts) {
  const std::string arithmetic =
      facts.selects ? "" : fmt::format("; {} states another arithmetic", OptionName(user.asker, "contract"));
  return fmt::format("most elements are wrong: compare {}the layout of each operand{}{}", AttributesText(user),
                     facts.sums || facts.selects ? "" : " and the formula", arithmetic);
}

std::string AdviseOnPlaces(const AdviceFacts& facts) {
  return fmt::format("look at what is special about these places: {}{}",
                     facts.sums ? "edges of tiles, the last rows" : "their operands, the ends of vectors and blocks",
                     facts.masks ? ", masked elements" : "");
}

std::string AdviseOnWeakerArithmetic(const UserTensors& user, const CheckResult& result, const AdviceFacts& facts) {
  const Contract& contract = result.worst().observed.weaker_arithmetic->contract;
  const std::string by = OptionWith(user.asker, "contract", ToText(contract));
  if (result.unnoticed_faults.empty()) return by + ", if that arithmetic is what is meant";
  return fmt::format("data that differ by more{}: by {}, which explains the errors, these are inconclusive",
                     facts.sums ? ", or results of fewer terms" : "", by);
}

std::string AdviseOnWeak(const UserTensors& user, const CheckResult& result) {
  const std::string by = OptionWith(user.asker, "contract", ToText(user.contract));
  const bool two = result.stricter && !result.stricter->holds;
  return "state the contract by which to judge: " +
         (two ? OptionWith(user.asker, "contract", ToText(result.stricter->contract)) + " or " + by : by);
}

}  // namespace

std::string AdviceFor(const UserTensors& user, const CheckResult& result) {
  const Decision& decision = result.worst().decision;
  const JudgeInputs& observed = result.worst().observed;
  const ErrorMetrics& metrics = observed.runs[0];
  const AdviceFacts facts = FactsFor(user, result);
  if (decision.verdict == Verdict::kPass) {
    if (decision.result_class == ResultClass::kSuspect) return AdviseOnConstants(facts);
    return result.weak.value_or(false) ? AdviseOnWeak(user, result) : "";
  }
  if (decision.verdict == Verdict::kInconclusive) return SuggestData(observed);
  if (observed.weaker_arithmetic) return AdviseOnWeakerArithmetic(user, result, facts);
  if (decision.verdict == Verdict::kBelowContract) {
    return "a contract that meets what is required, if the kernel's arithmetic does";
  }
  if (metrics.nonfinite_mismatch > 0) return AdviseOnNonFinite(facts, metrics);
  if (!std::ranges::all_of(observed.twins, &TwinResult::Holds)) return AdviseOnPlaces(facts);
  if (2 * metrics.violations > metrics.elements) return AdviseOnMost(user, facts);
  return metrics.violations == 0 ? AdviseOnConstants(facts) : AdviseOnPlaces(facts);
}

}  // namespace assay

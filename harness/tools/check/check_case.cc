// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/check_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "harness/core/base/parallel.h"
#include "harness/core/base/stopwatch.h"
#include "harness/core/data/infinity.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/trial/attempt.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/judge/judge.h"
#include "harness/judge/judge_output.h"
#include "harness/judge/statistic/random_data.h"
#include "harness/tools/check/intermediates.h"
#include "harness/tools/check/tensor_args.h"
#include "ops/empty_operands.h"

namespace assay {
namespace {

Twin ExactExpectation(const PreparedCase& data, const PreparedOutput& output, const BoundModel& bound,
                      const Contract& contract, double ulp) {
  const ElementJudge judge(output.golden, bound, contract, data.problem.outputs[output.number].dtype);
  Twin twin;
  for (const Tensor& input : data.inputs) twin.inputs.push_back(input.Clone());
  twin.tolerance_ulp = ulp;
  for (int64_t i = 0; i < output.golden.size(); ++i) twin.expected.push_back(judge.Rounded(i));
  return twin;
}

Record UserRecord(const UserTensors& user, const CheckResult& result) {
  const Problem& whole = user.whole();
  PlannedCase planned = user.planned.value_or(PlannedCase{.spec = whole.spec});
  if (!user.planned) planned.spec.fill = "user";  // no fill of a suite: such an id names the shape, not the data
  Device column;
  column.backend = "user";
  Record record = MakeCaseRecord(planned, user.data, column);
  record.contract = ToText(user.contract);
  record.required_contract = user.required_text;
  record.output_hash = HashOf(user.got);
  record.default_attrs = fmt::format("{}", fmt::join(user.defaults, " "));
  const Decision& decision = result.worst().decision;
  const std::string named = decision.reason.empty() ? "" : NamingOutput(whole, result.findings.worst);
  SetVerdict(record, decision.verdict, decision.result_class, named + decision.reason);
  SetOutputs(record, whole, result.findings);
  if (user.sample) SetSample(*user.sample, result.findings, record);
  if (result.stricter) {
    record.stricter_contract = ToText(result.stricter->contract);
    record.stricter_holds = result.stricter->holds;
    const std::string why = result.stricter->holds ? "" : result.stricter->reason;
    record.stricter_reason = user.sample ? user.sample->Relocate(result.findings.worst, why) : why;
  }
  record.weak_pass = result.weak;
  // One execution says nothing about it.
  record.deterministic.reset();
  for (OutputRecord& output : record.outputs) output.deterministic.reset();
  return record;
}

}  // namespace

Result<Contract> JudgingContract(const std::string& text, const CaseSpec& spec) {
  const Operator& op = *OperatorRegistry::Global().Find(spec.op);
  auto contract = ParseDeclaration(text.empty() ? DefaultRequirement(spec) : text);
  if (contract && text.find("math=") == std::string::npos) contract->math_ulp = kDefaultMathUlp;
  if (contract && text.empty()) contract = WithFields(*contract, op.traits().default_fields);
  if (!contract) return contract;
  if (const Status known = CheckDeclared(op, spec.dtypes, *contract); !known) return tl::unexpected(known.error());
  return contract;
}

bool HasTooFewFaults(const JudgeInputs& observed) {
  return observed.sums && observed.power && observed.power->omitted_total < kFewestFaults;
}

Status SetContracts(const CheckRequest& request, const Problem& problem, UserTensors& user) {
  const auto wrong = [&](const char* option, const Error& error) {
    return UsageError(OptionName(user.asker, option) + ": " + error.message);
  };
  auto contract = JudgingContract(request.contract, problem.spec);
  if (!contract) return wrong("contract", contract.error());
  auto required = request.requirement.empty() ? contract : ParseRequirement(request.requirement);
  if (!required) return wrong("require", required.error());
  user.contract = *contract, user.required = *required;
  user.contract_is_default = request.contract.empty();
  user.with_intermediates.reset();
  if (user.contract_is_default && !request.exact_ulp) {
    const Operator& op = OperatorFor(*OperatorRegistry::Global().Find(problem.spec.op), problem);
    user.with_intermediates = WithNarrowIntermediates(op, problem, *contract);
  }
  user.required_text = request.requirement.empty() ? request.contract : request.requirement;
  return {};
}

namespace {

using Begin = std::function<void(const char* stage)>;

// The contract that judges a user's outputs, and whether to explain failures by it.
struct JudgeBy {
  const Contract& contract;
  const Contract& required;
  bool explains = true;
};

// Whether most results are less than half of what their terms add up to without their signs.
bool TermsCancel(const Golden& golden) {
  int64_t cancelled = 0;
  for (int64_t i = 0; i < golden.size() && golden.magnitude.size() == golden.size(); ++i) {
    cancelled += std::fabs(golden.value[static_cast<size_t>(i)]) < golden.magnitude[i] / 2 ? 1 : 0;
  }
  return 2 * cancelled > golden.size();
}

// The contract with the narrowest wider accumulator that bounds most results; "": the declared one bounds most itself,
// or none does.
std::string FindBoundingContract(const Operator& op, const Problem& problem, size_t output, const Golden& golden,
                                 const Contract& declared, const MutationPower& power) {
  if (2 * power.unbounded <= NumElements(problem.outputs[output].shape)) return "";
  for (const Accumulator acc : {Accumulator::kF32, Accumulator::kF64}) {
    Contract wider = declared;
    wider.acc = acc, wider.mid = Intermediate::kNone;
    const double u = wider.AccUnitRoundoff(), own = declared.AccUnitRoundoff();
    if (u > own || (u == own && declared.mid == Intermediate::kNone)) continue;
    const BoundModel bound = op.Bound(problem, output, golden, wider);
    const ElementJudge judge(golden, bound, wider, problem.outputs[output].dtype);
    int64_t open = 0;
    for (int64_t i = 0; i < golden.size(); ++i) open += judge.IsOpen(i) ? 1 : 0;
    if (2 * open <= golden.size()) return ToText(wider);
  }
  return "";
}

OutputFindings JudgeUserOutput(const CheckRequest& request, const UserTensors& user, size_t number, const JudgeBy& by,
                               const Begin& begin) {
  const PreparedCase& data = user.data;
  const PreparedOutput& output = data.outputs[number];
  const Problem& problem = data.problem;
  const BoundModel bound = data.op->Bound(problem, number, output.golden, by.contract);
  begin("judging");
  Tensor got = user.got[number].Clone();
  OutputFindings found;
  JudgeInputs& observed = found.observed;
  observed.shape = problem.outputs[number].shape;
  observed.declared = by.contract, observed.required = by.required;
  observed.runs.push_back(JudgeOutput({*data.op, problem, number, data.inputs, output.golden, bound, by.contract}, got,
                                      {.of_sample = user.sample.has_value()}));
  std::vector<Twin> exact;
  if (request.exact_ulp) {
    exact.push_back(ExactExpectation(data, output, bound, by.contract, *request.exact_ulp));
    observed.twins.push_back(CheckTwin(exact[0], 0, got));
  }
  observed.user_data = true;
  observed.sums = data.op->TraitsOf(problem, number).sums, observed.cancels = TermsCancel(output.golden);
  observed.contract_word = OptionName(user.asker, "contract");
  const ErrorMetrics& run = observed.runs[0];
  if (run.Holds() && !run.statistic.Holds()) {
    const int64_t furthest = run.statistic.furthest < 0 ? -1 : run.statistic.furthest / (run.complex ? 2 : 1);
    observed.not_random = ExplainNotRandom(*data.op, problem, number, data.inputs, furthest, by.contract);
  }
  if (by.explains && request.explain != "no" && (ValuesFail(observed) || !observed.runs[0].statistic.Holds())) {
    begin("looking for a weaker arithmetic that explains the errors");
    HypothesisGoldens none(0);  // each is needed once, where there are no twins
    observed.weaker_arithmetic = FindWeakerArithmetic(*data.op, problem, number, by.contract, output.golden,
                                                      {data.inputs, &got, observed.runs[0].worst}, {}, &none);
  }
  if (!ValuesFail(observed)) {
    const ElementJudge judge(output.golden, bound, by.contract, got.dtype());
    observed.row_lean = FindRowLean(*data.op, problem, number, data.inputs, judge, by.contract, got);
  }
  begin("counting the faults that would be noticed");
  // A result that fails by the tighter contract is judged once more by the other one, which says what would be noticed.
  const bool is_judged_again = !by.explains && ValuesFail(observed);
  const Faults faults = request.explain == "no" || is_judged_again ? Faults::kWholeOutputs : Faults::kAll;
  observed.power =
      MeasureMutationPower(*data.op, problem, number, data.inputs, output.golden, bound, by.contract, exact, faults);
  observed.bounding_contract =
      FindBoundingContract(*data.op, problem, number, output.golden, by.contract, *observed.power);
  return found;
}

Findings JudgeOutputsBy(const CheckRequest& request, const UserTensors& user, const JudgeBy& by, const Begin& begin) {
  Findings findings;
  for (size_t k = 0; k < user.data.outputs.size(); ++k) {
    findings.outputs.push_back(JudgeUserOutput(request, user, k, by, begin));
  }
  findings.Decide();
  return findings;
}

const Decision& DecisionOf(const Findings& findings) {
  return findings.outputs[findings.worst].decision;
}

bool IsPlainPass(const Decision& decision) {
  return decision.verdict == Verdict::kPass && decision.result_class != ResultClass::kSuspect;
}

// The first output that passes though it fails without intermediates of 16 bits, while most single faults would pass as
// well, or too few could be tried; nullptr: there is none.
const OutputFindings* FindWeak(const Findings& tight, const Findings& loose) {
  for (size_t k = 0; k < loose.outputs.size(); ++k) {
    const OutputFindings& output = loose.outputs[k];
    const bool needs_them = output.decision.verdict == Verdict::kPass && !IsPlainPass(tight.outputs[k].decision);
    if (!needs_them || !output.observed.power) continue;
    if (output.observed.power->power < kWeakPower || HasTooFewFaults(output.observed)) return &output;
  }
  return nullptr;
}

std::string WeakText(const UserTensors& user, const Contract& weaker, const OutputFindings& output) {
  const std::string noticed =
      HasTooFewFaults(output.observed)
          ? "too few single faults could be tried to say what would be noticed"
          : fmt::format("{:.1f} % of single faults would be noticed", 100 * output.observed.power->power);
  return fmt::format(
      "weak: passes only with every intermediate rounded to {}, by which {}; state what is meant: {} or {}",
      FieldText(weaker, "mid"), noticed, OptionWith(user.asker, "contract", ToText(user.contract)),
      OptionWith(user.asker, "contract", ToText(weaker)));
}

// Marks a pass by the default contract as weak if it would notice few of the single faults that the output's rounding
// does not hide, as in long rows whose sums may lose more than a term.
void MarkWeak(const UserTensors& user, CheckResult& result) {
  result.weak = result.weak.value_or(false);
  const Decision decided = result.worst().decision;
  if (*result.weak || !IsPlainPass(decided)) return;
  for (size_t k = 0; k < result.findings.outputs.size(); ++k) {
    const std::optional<MutationPower>& power = result.findings.outputs[k].observed.power;
    // Zeros that are the right result say nothing of faults, however they are judged.
    if (!power || !power->blank_result.empty() || power->visible_total < kFewestFaults) continue;
    const double noticed = static_cast<double>(power->visible_noticed) / static_cast<double>(power->visible_total);
    if (noticed >= kWeakPower) continue;
    result.weak = true;
    if (!decided.reason.empty()) return;
    result.findings.worst = k;
    result.findings.outputs[k].decision.reason = fmt::format(
        "weak: with these data {:.1f} % of lost terms of the mean size or more would be noticed; judge results of "
        "fewer "
        "terms, or state the contract that is meant: {}",
        100 * noticed, OptionWith(user.asker, "contract", ToText(user.contract)));
    return;
  }
}

// Judges by the tighter of the two contracts that the default stands for, and by the one with narrow intermediates
// where the result is better by that one or fails both.
Findings JudgeByDefault(const CheckRequest& request, UserTensors& user, CheckResult& result, const Begin& begin) {
  Findings tight = JudgeOutputsBy(request, user, {user.contract, user.required, false}, begin);
  const Decision& decision = DecisionOf(tight);
  const bool holds = IsPlainPass(decision) || decision.verdict == Verdict::kInconclusive;
  result.stricter = {user.contract, holds, decision.reason};
  if (holds) return tight;
  Contract required = user.required;
  if (user.required_text.empty()) required = *user.with_intermediates;
  Findings loose = JudgeOutputsBy(request, user, {*user.with_intermediates, required}, begin);
  const Decision both[] = {decision, DecisionOf(loose)};
  const bool passes = decision.verdict == Verdict::kPass;  // and is suspect
  if (passes && WorstOf(both) == 1) return tight;
  Decision& decided = loose.outputs[loose.worst].decision;
  if (decision.verdict == Verdict::kMismatch && decided.verdict == Verdict::kInconclusive) {
    decided.reason += "; without intermediates of 16 bits it is a mismatch: " + decision.reason;
  }
  const OutputFindings* weak = request.explain == "no" ? nullptr : FindWeak(tight, loose);
  if (weak != nullptr && decided.verdict == Verdict::kPass) {
    result.weak = true;
    if (decided.reason.empty()) {
      loose.worst = static_cast<size_t>(weak - loose.outputs.data());
      loose.outputs[loose.worst].decision.reason = WeakText(user, *user.with_intermediates, *weak);
    }
  }
  user.contract = *user.with_intermediates, user.required = required;
  return loose;
}

void ComputeMissingGoldens(const CheckRequest& request, PreparedCase& data) {
  const Stopwatch golden_time;
  for (PreparedOutput& output : data.outputs) {
    if (output.golden.size() > 0) continue;
    output.golden =
        data.op->ComputeGolden(data.problem, output.number, data.inputs, ChooseTier(request.tier, data.problem));
  }
  data.golden_s = golden_time.Seconds();
  data.golden_hash = GoldenHashOf(data);
}

// Finds causes of a failure; quick ones in the time that it may take beside a pass.
void AddCauses(const CheckRequest& request, const UserTensors& user, CheckResult& result) {
  const PreparedCase& data = user.data;
  constexpr double kOfSmall = 10;  // of pairs of mistakes there are more than anybody waits for
  const bool is_small = IsSmall(data.problem), is_full = request.explain == "full";
  const double seconds = is_full ? (is_small ? kOfSmall : kInfinity) : is_small ? 1 : 0.25;
  WrongResult wrong{.op = *data.op,
                    .problem = data.problem,
                    .inputs = data.inputs,
                    .got = user.got,
                    .contract = user.contract,
                    .golden = data.outputs[result.findings.worst].golden,
                    .tier = ChooseTier(request.tier, data.problem),
                    .output = result.findings.worst};
  const ErrorMetrics& metrics = result.worst().observed.runs[0];
  if (metrics.nonfinite_example) wrong.elements.push_back(metrics.nonfinite_example->index);
  for (const WorstElement& worst : metrics.worst) wrong.elements.push_back(worst.index);
  SearchWork work(request.search_s.value_or(seconds));
  result.causes = FindCauses(wrong, work);
  const bool is_quick = !is_full && !request.search_s,
             explained = result.worst().observed.weaker_arithmetic.has_value();
  result.ran_out_of_work = is_quick && !explained && result.causes.empty() && work.IsOver();
}

std::string FindUnnoticedFaults(const CheckRequest& request, const UserTensors& user, const CheckResult& result) {
  const std::optional<WeakerArithmetic>& found = result.worst().observed.weaker_arithmetic;
  if (!found || request.exact_ulp) return "";
  const size_t worst = result.findings.worst;
  const Golden& golden = user.data.outputs[worst].golden;
  const BoundModel bound = user.data.op->Bound(user.data.problem, worst, golden, found->contract);
  return MeasureMutationPower(*user.data.op, user.data.problem, worst, user.data.inputs, golden, bound, found->contract,
                              {})
      .DescribeMissedFaults();
}

}  // namespace

AttributeText AttributeTextFor(Asker asker) {
  return [asker](const CaseChange& change) { return AttributeWith(asker, change.key, change.value); };
}

Result<CheckResult> JudgeUserCase(const CheckRequest& request, UserTensors& user, const Begin& on_stage) {
  const Begin begin = on_stage ? on_stage : [](const char*) {};
  PreparedCase& data = user.data;
  const OnThisThread alone(IsSmall(data.problem));
  begin("computing golden values");
  ComputeMissingGoldens(request, data);
  if (request.exact_ulp) {
    if (auto exact = CheckExactData(user); !exact) return tl::unexpected(exact.error());
  }
  CheckResult result;
  if (user.with_intermediates) {
    result.findings = JudgeByDefault(request, user, result, begin);
  } else {
    result.findings = JudgeOutputsBy(request, user, {user.contract, user.required}, begin);
  }
  if (user.contract_is_default && !request.exact_ulp && request.explain != "no") MarkWeak(user, result);
  result.unnoticed_faults = FindUnnoticedFaults(request, user, result);
  result.record = UserRecord(user, result);
  result.record.advice = AdviceFor(user, result);
  const auto verdict = ParseVerdict(result.record.verdict);
  if (verdict && IsFailingResult(*verdict) && !request.exact_ulp && !user.sample && request.explain != "no") {
    begin("looking for a case of which this is the right result");
    AddCauses(request, user, result);
    result.record.reason += DescribeCauses(data.problem, result.causes, AttributeTextFor(user.asker));
  }
  return result;
}

}  // namespace assay

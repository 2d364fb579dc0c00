// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill.h"
#include "harness/judge/judge_output.h"
#include "harness/judge/statistic/statistic.h"
#include "tests/support/formula/simulate.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_cases.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

// An output with all that executions are held against.
class Judgement {
 public:
  Judgement(const Subject& subject, CaseOutput of, Algorithm schedule, const std::string& declared)
      : of_(std::move(of)),
        schedule_(schedule),
        contract_(Declared(declared)),
        definition_(subject.formula.DefinitionOf(of_.problem, of_.output, schedule)) {
    contract_.alg = schedule;
    inputs_ = subject.formula.MakeInputs(of_.problem);
    elements_ = AllElements(inputs_);
    for (const Operand& input : of_.problem.inputs) types_.push_back(input.dtype);
    const Tier tier = IsDouble(of_.problem) ? Tier::kReproducible : Tier::kFast;
    golden_ = subject.judged.ComputeGolden(of_.problem, of_.output, inputs_, tier);
    bound_ = {subject.judged.Bound(of_.problem, of_.output, golden_, contract_), contract_, of_.dtype()};
    bound_.statistic.applicable =
        bound_.statistic.applicable && StatisticFits(ParseFill(of_.problem.spec.fill).value(), bound_.statistic);
  }

  std::vector<double> ResultsOf(uint64_t seed) const {
    return Simulate(definition_.graph(), definition_.graph().outputs[0], elements_, types_, contract_, seed);
  }

  // Notes the first element of the execution that the seed decides that is rejected.
  bool Accept(uint64_t seed, const std::vector<double>& y, Findings& findings) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const double got = RoundedToType(of_.dtype(), y[i]);
      if (Accepts(bound_, golden_, static_cast<int64_t>(i), got)) continue;
      findings.problems.push_back(
          fmt::format("{} {}: a correct execution is rejected, seed {} element {}: {} instead of {}",
                      NameOf(of_, schedule_), ToText(contract_), seed, i, got, golden_.value[i]));
      return false;
    }
    return true;
  }

  // Judges the whole output: the statistic may find its errors too large or on one side.
  bool HoldAsAWhole(const Subject& subject, uint64_t seed, const std::vector<double>& y, Findings& findings) const {
    Tensor output(of_.dtype(), of_.shape());
    output.SetDoubles(y);
    const ErrorMetrics metrics =
        JudgeOutput({subject.judged, of_.problem, of_.output, inputs_, golden_, bound_, contract_}, output);
    if (metrics.statistic.Holds()) return true;
    findings.problems.push_back(fmt::format("{} {}: the statistic rejects a correct execution, seed {}",
                                            NameOf(of_, schedule_), ToText(contract_), seed));
    return false;
  }

  // The largest error of the seed's execution, relative to the bound; nullopt: the execution was rejected, and
  // `findings` say why.
  std::optional<double> Execute(uint64_t seed, Findings& findings) const {
    const std::vector<double> y = ResultsOf(seed);
    if (!Accept(seed, y, findings)) return std::nullopt;
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double error = std::fabs((y[i] - golden_.value[i]) - LowPart(golden_, i));
      const double share = error == 0 || !std::isfinite(error) ? 0 : error / bound_.At(golden_, at);
      // Which the output's rounding may hide. Executions in double have errors of the machine's functions on top.
      if (share > 1 && !IsDouble(of_.problem)) {
        findings.problems.push_back(
            fmt::format("{}: a correct execution is beyond the bound, seed {} element {}: {} is {} "
                        "times the bound from {}",
                        NameOf(of_, schedule_), seed, i, y[i], share, golden_.value[i]));
        return std::nullopt;
      }
      worst = std::max(worst, share);
    }
    ++findings.checked;
    return worst;
  }

  int64_t elements() const { return golden_.size(); }
  // Counts those of which something is promised, be it that they are NaN or infinite.
  int64_t CountJudged() const {
    const ElementJudge judge(golden_, bound_, contract_, of_.dtype());
    int64_t judged = 0;
    for (int64_t i = 0; i < golden_.size(); ++i) judged += judge.IsOpen(i) ? 0 : 1;
    return judged;
  }

  bool IsExact() const {
    for (int64_t i = 0; i < golden_.size(); ++i) {
      if (bound_.At(golden_, i) != 0) return false;
    }
    return true;
  }

 private:
  CaseOutput of_;
  Algorithm schedule_;
  Contract contract_;
  formula::Definition definition_;
  std::vector<Tensor> inputs_;
  std::vector<std::vector<double>> elements_;
  std::vector<DType> types_;
  Golden golden_;
  DeclaredBound bound_;
};

// kExecutions / ASSAY_TEST_SEEDS of one output, spread over its cases; the largest error over the bound; nullopt where
// nothing but the golden value is within it.
std::optional<double> Execute(const Subject& subject, const std::vector<CaseOutput>& cases, Algorithm schedule,
                              Findings& findings) {
  std::optional<double> worst;
  const auto count = static_cast<int64_t>(cases.size());
  for (int64_t i = 0; i < count; ++i) {
    const CaseOutput& of = cases[static_cast<size_t>(i)];
    const Judgement judgement(subject, of, schedule, IsDouble(of.problem) ? "f64;math=2" : "f32acc;math=4");
    for (int64_t seed = i; seed < kExecutions / ASSAY_TEST_SEEDS; seed += count) {
      const std::optional<double> largest = judgement.Execute(static_cast<uint64_t>(seed), findings);
      if (!largest) break;
      if (!judgement.IsExact()) worst = std::max(worst.value_or(0), *largest);
    }
  }
  return worst;
}

}  // namespace

Findings CheckLegalExecutions(const Subject& subject, SlackReport& slack) {
  Findings findings;
  for (const auto& [types, drawn] : SmallCases(subject.formula)) {
    for (const auto& [output, cases] : ByOutput(drawn.cases)) {
      for (const Algorithm schedule : subject.formula.traits().algorithms) {
        const std::optional<double> worst = Execute(subject, cases, schedule, findings);
        std::optional<double>& known = slack[{output, schedule, types}];
        const bool selects = subject.formula.TraitsOf(cases[0].problem, cases[0].output).selects;
        if (!selects && worst) known = std::max(known.value_or(0), *worst);
      }
    }
  }
  return findings;
}

Findings CheckExecutionsOfHardData(const Subject& subject) {
  Findings findings;
  SizeDrawer drawer(subject.formula, {.fills = {"edges", "special", "subnormal", "normal"}}, kDrawSeed);
  const DrawnSizes drawn = drawer.DrawFew(RealTypes(subject.formula), kHardCases);
  for (const auto& [output, cases] : ByOutput(drawn.cases)) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const bool is_double = IsDouble(cases[i].problem);
      for (const std::string more : {"", ";ftz=all", ";mid=bf16"}) {
        if (is_double && more.starts_with(";mid")) continue;  // the contract f64 stores nothing narrower
        const Judgement judgement(subject, cases[i], Algorithm::kDirect,
                                  fmt::format("{}{}", is_double ? "f64;math=2" : "f32acc;math=4", more));
        for (uint64_t seed = 0; seed < kExecutionsOfHardData; ++seed) {
          ++findings.checked;
          const std::vector<double> y = judgement.ResultsOf(seed);
          if (!judgement.Accept(seed, y, findings) || !judgement.HoldAsAWhole(subject, seed, y, findings)) break;
        }
      }
    }
  }
  return findings;
}

void CountJudged(const Subject& subject, JudgedReport& report) {
  const DrawLimits limits{.long_least = 33, .long_most = 80, .others_least = 5, .others_most = 12, .most_work = 1e6};
  for (const std::string fill : {"normal", "special", "edges"}) {
    DrawLimits of_fill = limits;
    of_fill.fills = {fill};
    SizeDrawer drawer(subject.formula, of_fill, kDrawSeed);
    for (const std::vector<DType>& row : RealTypes(subject.formula)) {
      for (const auto& [output, cases] : ByOutput(drawer.DrawFew({row}, 4).cases)) {
        JudgedCount& count = report[{output, DTypeListText(row), fill}];
        for (const CaseOutput& of : cases) {
          const Judgement judgement(subject, of, Algorithm::kDirect,
                                    IsDouble(of.problem) ? "f64;math=4" : "f32acc;math=4");
          count.all += judgement.elements();
          count.judged += judgement.CountJudged();
        }
      }
    }
  }
}

Findings CheckSlack(const SlackReport& slack) {
  std::map<std::pair<std::string, Algorithm>, double> largest;  // of all types
  for (const auto& [key, worst] : slack) {
    if (!worst) continue;
    double& known = largest[{key.output, key.schedule}];
    known = std::max(known, *worst);
  }
  Findings findings{.problems = {}, .checked = std::ssize(largest)};
  for (const auto& [key, worst] : largest) {
    if (worst >= kLeastSlack) continue;
    findings.problems.push_back(
        fmt::format("{} {}: the largest error of all correct executions is {} of the bound, less "
                    "than {}: the bound is of no use",
                    key.first, AlgorithmName(key.second), worst, kLeastSlack));
  }
  return findings;
}

}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/formula/oracle/generic_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/formula/faults.h"
#include "ops/formula_cases.h"
#include "tests/support/formula/exact.h"
#include "tests/support/formula/simulate.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using Elements = std::vector<std::vector<double>>;

constexpr uint64_t kDrawSeed = 21;
constexpr int64_t kLongSum = 16;     // terms from which on each sampled one has to be seen

// Of one list of types.
struct TypedCases {
  std::string types;
  DrawnCases drawn;
};

// Drawn for exact arithmetic and executions, which go through every number one after the other.
std::vector<TypedCases> SmallCases(const FormulaOperator& op) {
  std::vector<TypedCases> all;
  for (uint64_t seed = 0; seed < ASSAY_TEST_SEEDS; ++seed) {
    CaseDrawer drawer(op, {.fills = {"normal", "outlier"}}, kDrawSeed + seed);
    for (const std::vector<DType>& row : op.types()) all.push_back({DTypeListText(row), drawer.DrawFew({row}, 2)});
  }
  return all;
}

// The cases that have an output, with it in focus, by its name.
std::map<std::string, std::vector<Problem>> ByOutput(const std::vector<Problem>& cases) {
  std::map<std::string, std::vector<Problem>> all;
  for (const Problem& problem : cases) {
    for (size_t k = 0; k < problem.outputs.size(); ++k) all[problem.outputs[k].name].push_back(FocusedOn(problem, k));
  }
  return all;
}

Elements ElementsOf(std::span<const Tensor> inputs) {
  Elements elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  return elements;
}

std::string NameOf(const Problem& problem, Algorithm schedule = Algorithm::kDirect) {
  const std::string name = problem.spec.Id() + " " + problem.output().name;
  return schedule == Algorithm::kDirect ? name : fmt::format("{} {}", name, AlgorithmName(schedule));
}

bool IsDouble(const Problem& problem) {
  return std::ranges::any_of(problem.inputs, [](const Operand& input) { return input.dtype == DType::kF64; });
}

double RoundToType(DType type, double x) {
  return IsInt(type) ? std::nearbyint(x) : RoundTo(FormatOf(type), x);
}

double LowPart(const Golden& golden, size_t i) {
  return golden.value_lo.empty() ? 0 : golden.value_lo[i];
}

void CheckGolden(const Subject& subject, const Problem& problem, Algorithm schedule, Findings& findings) {
  const std::vector<Tensor> inputs = subject.formula.MakeInputs(problem);
  const formula::Definition definition = subject.formula.DefinitionOf(problem, schedule);
  const auto exact = EvaluateExactly(definition.graph(), definition.graph().outputs[0], ElementsOf(inputs));
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = subject.judged.ComputeGolden(problem, inputs, tier);
    if (golden.value.size() != exact.size()) {
      findings.problems.push_back(fmt::format("{}: {} golden values of {}", NameOf(problem, schedule),
                                              golden.value.size(), exact.size()));
      return;
    }
    for (size_t i = 0; i < exact.size(); ++i, ++findings.checked) {
      const double distance = exact[i].DistanceFrom(golden.value[i], LowPart(golden, i));
      if (distance <= golden.error[static_cast<int64_t>(i)]) continue;
      findings.problems.push_back(fmt::format("{} element {}: the golden value {} is {} from the exact one, more than "
                                              "its error {}",
                                              NameOf(problem, schedule), i, golden.value[i], distance,
                                              golden.error[static_cast<int64_t>(i)]));
      return;
    }
  }
}

// An output with all that executions are held against.
class Judgement {
 public:
  Judgement(const Subject& subject, Problem problem, Algorithm schedule)
      : problem_(std::move(problem)),
        schedule_(schedule),
        contract_(Declared(IsDouble(problem_) ? "f64;math=2" : "f32acc;math=4")),
        definition_(subject.formula.DefinitionOf(problem_, schedule)) {
    contract_.alg = schedule;
    const std::vector<Tensor> inputs = subject.formula.MakeInputs(problem_);
    elements_ = ElementsOf(inputs);
    for (const Operand& input : problem_.inputs) types_.push_back(input.dtype);
    golden_ = subject.judged.ComputeGolden(problem_, inputs, IsDouble(problem_) ? Tier::kReproducible : Tier::kFast);
    bound_ = {subject.judged.Bound(problem_, golden_, contract_), contract_, problem_.output().dtype};
  }

  // The largest error over the bound of the execution that the seed decides; nullopt: noted what is rejected.
  std::optional<double> Execute(uint64_t seed, Findings& findings) const {
    const std::vector<double> y = Simulate(definition_.graph(), definition_.graph().outputs[0], elements_, types_,
                                           contract_, seed);
    double worst = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double got = RoundToType(problem_.output().dtype, y[i]);
      if (!Accepts(bound_, golden_, at, got)) {
        findings.problems.push_back(fmt::format("{}: a correct execution is rejected, seed {} element {}: {} instead of "
                                                "{}",
                                                NameOf(problem_, schedule_), seed, i, got, golden_.value[i]));
        return std::nullopt;
      }
      const double error = std::fabs((y[i] - golden_.value[i]) - LowPart(golden_, i));
      const double share = error == 0 || !std::isfinite(error) ? 0 : error / AccumulatedBound(bound_, golden_, at);
      if (share > 1) {  // which the output's rounding may hide
        findings.problems.push_back(fmt::format("{}: a correct execution is beyond the bound, seed {} element {}: {} is {} "
                                                "times the bound from {}",
                                                NameOf(problem_, schedule_), seed, i, y[i], share, golden_.value[i]));
        return std::nullopt;
      }
      worst = std::max(worst, share);
    }
    ++findings.checked;
    return worst;
  }

 private:
  Problem problem_;
  Algorithm schedule_;
  Contract contract_;
  formula::Definition definition_;
  Elements elements_;
  std::vector<DType> types_;
  Golden golden_;
  DeclaredBound bound_;
};

// kExecutions of one output, spread over its cases; the largest error over the bound.
double Execute(const Subject& subject, const std::vector<Problem>& cases, Algorithm schedule, Findings& findings) {
  double worst = 0;
  const auto count = static_cast<int64_t>(cases.size());
  for (int64_t i = 0; i < count; ++i) {
    const Judgement judgement(subject, cases[static_cast<size_t>(i)], schedule);
    for (int64_t seed = i; seed < kExecutions; seed += count) {
      const std::optional<double> largest = judgement.Execute(static_cast<uint64_t>(seed), findings);
      if (!largest) break;
      worst = std::max(worst, *largest);
    }
  }
  return worst;
}

// What can be forgotten of an output: the most terms of one of its sums and the like, and whether something beside them.
struct Forgettable {
  int64_t terms = 0;
  bool on_any_data = false;
};
Forgettable ForgettableOf(const formula::Graph& graph) {
  Forgettable all;
  for (const formula::FaultyNode& faulty : formula::FaultyNodes(graph)) {
    if (formula::ShowsOnAnyData(graph.At(faulty.node))) {
      all.on_any_data = true;
    } else {
      all.terms = std::max(all.terms, faulty.terms);
    }
  }
  return all;
}

// Names of omitted terms.
using Keys = std::set<int64_t>;
Keys KeysOf(const std::vector<Mutant>& mutants) {
  Keys keys;
  for (const Mutant& mutant : mutants) keys.insert(mutant.key);
  return keys;
}
template <class Accepted>
Keys SeenOf(std::vector<Mutant> mutants, const Accepted& accepted) {
  std::erase_if(mutants, accepted);
  return KeysOf(mutants);
}

// Each omitted term that changes a result of case or twin is seen on the twin; what shows on any data, on the case's own.
void CheckTwin(const Subject& subject, const Problem& problem, bool on_any_data, TwinCount& count,
               Findings& findings) {
  const DType type = problem.output().dtype;
  const Contract contract = Declared(IsDouble(problem) ? "f64;math=2" : "f32acc;math=2");
  std::vector<int64_t> outputs;
  for (int64_t i = 0; i < NumElements(problem.output().shape); i += 37) outputs.push_back(i);
  const std::vector<Tensor> inputs = subject.formula.MakeInputs(problem);
  const Golden golden = subject.judged.ComputeGolden(problem, inputs, Tier::kFast);
  const std::vector<Mutant> mutants = subject.formula.OmittedTerms(problem, inputs, golden.value, outputs);
  Keys all = KeysOf(mutants), seen;
  if (on_any_data) {
    const DeclaredBound bound{subject.judged.Bound(problem, golden, contract), contract, type};
    seen = SeenOf(mutants, [&](const Mutant& mutant) {
      return Accepts(bound, golden, mutant.index, RoundToType(type, mutant.value));
    });
  }
  if (const std::optional<Twin> twin = subject.judged.MakeTwin(problem, contract, 0)) {
    const auto on_twin = subject.formula.OmittedTerms(problem, twin->inputs, twin->expected, outputs);
    all.merge(KeysOf(on_twin));
    seen.merge(SeenOf(on_twin, [&](const Mutant& mutant) {
      return Accepts(*twin, type, mutant.index, RoundToType(type, mutant.value));
    }));
  }
  const auto count_of = [](const Keys& keys) { return static_cast<int64_t>(keys.size()); };
  findings.checked += count_of(all);
  count.all += count_of(all);
  count.seen += count_of(seen);
  if (seen.size() == all.size()) return;
  findings.problems.push_back(fmt::format("{}: {} of {} omitted terms are not seen", NameOf(problem),
                                          all.size() - seen.size(), all.size()));
}

}  // namespace

Findings CheckCases(const FormulaOperator& op) {
  Findings findings;
  std::set<std::pair<std::string, std::string>> tried;
  for (const auto& [types, drawn] : SmallCases(op)) {
    findings.checked += std::ssize(drawn.cases);
    for (const RefusedValue& refused : drawn.refused) {
      if (refused.key == "dtypes" || refused.key == "fill") findings.problems.push_back(refused.why);
    }
    for (const Problem& problem : drawn.cases) {
      for (const AttrDef& attr : op.schema().attrs) {
        tried.emplace(attr.key, AttrReader(problem.spec, op.schema()).Text(attr.key));
      }
    }
  }
  for (const AttrDef& attr : op.schema().attrs) {
    for (const std::string& value : attr.choices) {
      if (tried.contains({attr.key, value})) continue;
      findings.problems.push_back(fmt::format("{}: the operator takes no case with {}={}", op.schema().op, attr.key,
                                              value));
    }
  }
  return findings;
}

Findings CheckGoldenValues(const Subject& subject) {
  Findings findings;
  for (const auto& [types, drawn] : SmallCases(subject.formula)) {
    for (const auto& [output, cases] : ByOutput(drawn.cases)) {
      for (const Problem& problem : cases) {
        for (const Algorithm schedule : subject.formula.Algorithms()) CheckGolden(subject, problem, schedule, findings);
      }
    }
  }
  return findings;
}

Findings CheckLegalExecutions(const Subject& subject, SlackReport& slack) {
  Findings findings;
  for (const auto& [types, drawn] : SmallCases(subject.formula)) {
    for (const auto& [output, cases] : ByOutput(drawn.cases)) {
      for (const Algorithm schedule : subject.formula.Algorithms()) {
        const double worst = Execute(subject, cases, schedule, findings);
        std::optional<double>& known = slack[{output, schedule, types}];
        if (!subject.formula.Selects(cases[0])) known = std::max(known.value_or(0), worst);
      }
    }
  }
  return findings;
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
    findings.problems.push_back(fmt::format("{} {}: the largest error of all correct executions is {} of the bound, less "
                                            "than {}: the bound is of no use",
                                            key.first, AlgorithmName(key.second), worst, kLeastSlack));
  }
  return findings;
}

// Axes are long in turn, and cases are drawn again until each sum was one of many terms.
Findings CheckTwins(const Subject& subject, TwinReport& twins) {
  constexpr int kRounds = 20;
  Findings findings;
  const DrawLimits limits{.long_least = 300, .long_most = 1100, .others_most = 4, .most_work = 1e5};
  CaseDrawer drawer(subject.formula, limits, kDrawSeed);
  for (const std::vector<DType>& row : subject.formula.types()) {
    std::set<std::string> open;  // outputs of which nothing was asked yet
    for (int round = 0; round < kRounds && (round == 0 || !open.empty()); ++round) {
      const DrawnCases drawn = drawer.DrawFew({row}, drawer.axes());
      std::set<std::string> asked;
      for (const auto& [output, cases] : ByOutput(drawn.cases)) {
        for (const Problem& problem : cases) {
          const Forgettable forgettable = ForgettableOf(subject.formula.DefinitionOf(problem).graph());
          if (round == 0 && forgettable.terms > 0) open.insert(output);
          const bool is_long = forgettable.terms >= kLongSum, selects = forgettable.terms == 0 && forgettable.on_any_data;
          if ((!is_long && !selects) || (round > 0 && !open.contains(output))) continue;
          TwinCount& count = twins[{output, DTypeListText(row)}];
          CheckTwin(subject, problem, forgettable.on_any_data, count, findings);
          if (count.all >= kLongSum) asked.insert(output);
        }
      }
      for (const std::string& output : asked) open.erase(output);
    }
    for (const std::string& output : open) {
      findings.problems.push_back(fmt::format("{} {}: in no case of {} rounds did {} omitted terms change {}",
                                              subject.formula.schema().op, DTypeListText(row), kRounds, kLongSum, output));
    }
  }
  return findings;
}

}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
// What holds for every operator that is a formula, without a line of its own: golden values against exact arithmetic,
// bounds against correct implementations, twins against missing terms. scripts/formula_table.py makes tables of the
// properties that are recorded here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/base/whole_file.h"
#include "ops/formula_operator.h"
#include "ops/relation.h"
#include "tests/support/formula/exact.h"
#include "tests/support/formula/simulate.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

struct FormulaCase {
  std::string id;
  Problem problem;
  const FormulaOperator* op;
  Algorithm schedule = Algorithm::kDirect;
};

// A case of these types, with every axis of this extent, and with all outputs.
FormulaCase CaseOf(const FormulaOperator& op, const std::vector<DType>& types, int64_t extent, std::string_view fill) {
  CaseSpec spec{.op = op.schema().op,
                .dtypes = CanonicalDTypes(types, op.schema()).value(),
                .attrs = {},
                .fill = std::string(fill),
                .seed = 1};
  for (const AttrDef& attr : op.schema().attrs) {
    if (attr.default_value.empty()) spec.attrs.emplace_back(attr.key, std::to_string(extent));
  }
  if (spec.attrs.size() > 2) {
    for (auto& [key, value] : spec.attrs) value = key == "d" || key == "n" ? value : "2";
  }
  const AttrList required = spec.attrs;
  for (const AttrDef& attr : op.schema().attrs) {
    const bool is_flag = attr.type == AttrType::kInt && attr.default_value == "0";
    if (is_flag) spec.attrs.emplace_back(attr.key, "1");
  }
  Result<Problem> problem = op.Bind(spec);
  if (!problem) {  // some types do not permit it
    spec.attrs = required;
    problem = op.Bind(spec);
  }
  if (!problem) ADD_FAILURE() << problem.error().message;
  return {problem->spec.Id(), *problem, &op};
}

// The same with each of its outputs in focus.
std::vector<FormulaCase> OutputsOf(const FormulaCase& one) {
  std::vector<FormulaCase> all;
  for (size_t k = 0; k < one.problem.outputs.size(); ++k) {
    all.push_back({one.id + " " + one.problem.outputs[k].name, FocusedOn(one.problem, k), one.op});
  }
  return all;
}

// Of one output of every operator in every type and schedule: check(case, types of the dtype list).
template <class Check>
void ForEveryOutput(const FormulaOperator& op, int64_t extent, const Check& check) {
  for (const std::vector<DType>& types : op.types()) {
    for (FormulaCase& one : OutputsOf(CaseOf(op, types, extent, "normal"))) {
      for (const Algorithm schedule : op.Algorithms()) {
        one.schedule = schedule;
        check(one, types);
      }
    }
  }
}

std::vector<const FormulaOperator*> AllFormulas() {
  std::vector<const FormulaOperator*> all;
  for (const Operator* op : OperatorRegistry::Global().All()) {
    if (const auto* formula = dynamic_cast<const FormulaOperator*>(op)) all.push_back(formula);
  }
  return all;
}

std::vector<std::vector<double>> ElementsOf(std::span<const Tensor> inputs) {
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  return elements;
}

TEST(FormulaRegistry, OperatorsAreThere) {
  EXPECT_GE(AllFormulas().size(), 21U);
}

TEST(FormulaRegistry, GoldenValuesAreWithinTheirErrorOfTheExactOnes) {
  for (const FormulaOperator* op : AllFormulas()) {
    ForEveryOutput(*op, 6, [op](const FormulaCase& one, const std::vector<DType>&) {
      const std::vector<Tensor> inputs = op->MakeInputs(one.problem);
      const formula::Definition definition = op->DefinitionOf(one.problem, one.schedule);
      const auto exact = EvaluateExactly(definition.graph(), definition.graph().outputs[0], ElementsOf(inputs));
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
        const Golden golden = op->ComputeGolden(one.problem, inputs, tier);
        ASSERT_EQ(golden.size(), std::ssize(exact)) << one.id;
        for (int64_t i = 0; i < golden.size(); ++i) {
          const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[static_cast<size_t>(i)];
          EXPECT_LE(exact[static_cast<size_t>(i)].DistanceFrom(golden.value[static_cast<size_t>(i)], lo),
                    golden.error[i])
              << one.id << " element " << i;
        }
      }
    });
  }
}

double RoundToType(DType type, double x) {
  return IsInt(type) ? std::nearbyint(x) : RoundTo(FormatOf(type), x);
}

// The largest error over the bound of 1,000 executions, rounded to the output's type and judged as a run judges.
double LargestLegalError(const FormulaCase& one, const std::vector<DType>& types) {
  const bool f64 = std::ranges::find(types, DType::kF64) != types.end();
  const std::vector<Tensor> inputs = one.op->MakeInputs(one.problem);
  const std::vector<std::vector<double>> elements = ElementsOf(inputs);
  const formula::Definition definition = one.op->DefinitionOf(one.problem, one.schedule);
  Contract contract = Declared(f64 ? "f64;math=2" : "f32acc;math=4");
  contract.alg = one.schedule;
  const Golden golden = one.op->ComputeGolden(one.problem, inputs, f64 ? Tier::kReproducible : Tier::kFast);
  const DeclaredBound bound = BoundOf(one.problem, golden, contract);
  std::vector<DType> input_types;
  for (const Operand& input : one.problem.inputs) input_types.push_back(input.dtype);
  double worst = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::vector<double> y =
        Simulate(definition.graph(), definition.graph().outputs[0], elements, input_types, contract, seed);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double got = RoundToType(one.problem.output().dtype, y[i]);
      if (!Accepts(bound, golden, at, got)) {
        ADD_FAILURE() << one.id << " seed " << seed << " element " << i << ": " << got << " instead of "
                      << golden.value[i];
        return worst;
      }
      const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
      worst = std::max(worst, std::fabs((y[i] - golden.value[i]) - lo) / AccumulatedBound(bound, golden, at));
    }
  }
  return worst;
}

TEST(FormulaRegistry, CorrectImplementationsAreAccepted) {
  for (const FormulaOperator* op : AllFormulas()) {
    std::map<std::string, double> worst_of_all;  // by output
    ForEveryOutput(*op, 8, [&](const FormulaCase& one, const std::vector<DType>& types) {
      const double worst = LargestLegalError(one, types);
      const std::string schedule =
          one.schedule == Algorithm::kDirect ? "" : fmt::format(" {}", AlgorithmName(one.schedule));
      const std::string key =
          fmt::format("slack {} {}{} {}", op->schema().op, one.problem.output().name, schedule, DTypeListText(types));
      RecordProperty(key, op->Selects(one.problem) ? "exact" : fmt::format("{:.3f}", worst));
      if (op->Selects(one.problem)) return;
      fmt::print("{:70} largest legal error / bound {:.3f}\n", one.id + schedule, worst);
      double& of_output = worst_of_all[one.problem.output().name + schedule];
      of_output = std::max(of_output, worst);
    });
    for (const auto& [output, worst] : worst_of_all) {
      EXPECT_GT(worst, 0.05) << op->schema().op << " " << output << ": the bound is of no use";
    }
  }
}

void ExpectThatTheTwinShowsMissingTerms(const FormulaOperator& op, const Problem& problem) {
  const DType type = problem.output().dtype;
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  std::vector<int64_t> outputs;
  for (int64_t i = 0; i < NumElements(problem.output().shape); i += 37) outputs.push_back(i);
  const Golden golden = op.ComputeGolden(problem, inputs, Tier::kFast);
  if (op.OmittedTerms(problem, inputs, golden.value, outputs).empty() || op.Selects(problem)) return;
  const std::vector<Twin> twins = TwinsOf(problem, "f32acc;math=2");
  const std::string what = problem.spec.Id() + " " + problem.output().name;
  ASSERT_FALSE(twins.empty()) << what;
  const Twin& twin = twins[0];
  const std::vector<Mutant> mutants = op.OmittedTerms(problem, twin.inputs, twin.expected, outputs);
  const auto seen = std::ranges::count_if(mutants, [&](const Mutant& mutant) {
    return !Accepts(twin, type, mutant.index, RoundToType(type, mutant.value));
  });
  testing::Test::RecordProperty(fmt::format("twin {} {} {}", problem.spec.op, problem.output().name, Name(type)),
                                fmt::format("{} of {}", seen, mutants.size()));
  EXPECT_GE(static_cast<double>(seen), 0.99 * static_cast<double>(mutants.size())) << what;
  EXPECT_GE(mutants.size(), 16U) << what;
}

// Where something can be forgotten, the twin of that output shows it, in the type with the coarsest output too. What
// selects needs none (selection_test.cc).
TEST(FormulaRegistry, TwinsShowMissingTerms) {
  for (const FormulaOperator* op : AllFormulas()) {
    for (const DType type : {DType::kF32, DType::kBF16}) {
      std::vector<DType> types(op->schema().operands.size(), type);
      if (std::ranges::find(op->types(), types) == op->types().end()) types = op->types().back();
      CaseSpec spec = CaseOf(*op, types, 4, "normal").problem.spec;
      std::string last;
      for (const AttrDef& attr : op->schema().attrs) last = attr.default_value.empty() ? attr.key : last;
      for (auto& [key, value] : spec.attrs) value = key == last ? "1000" : value;
      const Problem problem = op->Bind(spec).value();
      for (size_t k = 0; k < problem.outputs.size(); ++k) {
        ExpectThatTheTwinShowsMissingTerms(*op, FocusedOn(problem, k));
      }
    }
  }
}

// The table of the guide is made by a command, which a new operator asks for.
TEST(FormulaRegistry, TheGuideHasARowForEveryOperator) {
  const Result<std::string> page = ReadWholeFile(ASSAY_FORMULA_GUIDE);
  ASSERT_TRUE(page.has_value());
  for (const FormulaOperator* op : AllFormulas()) {
    EXPECT_NE(page->find(fmt::format("\n| `{}` ", op->schema().op)), std::string::npos)
        << op->schema().op << " has no row in " << ASSAY_FORMULA_GUIDE << ": run scripts/formula_table.py";
  }
}

TEST(FormulaRegistry, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(TryBind("rope/f32/b=1,l=2,h=1,d=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("rope/f32/b=1,l=2,h=1,d=1/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("layer_norm/f32/rows=0,n=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("layer_norm/f32-bf16-f32-f32/rows=1,n=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("rms_norm/f32/rows=1,n=5,eps=0/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("layer_norm/f32/rows=1,n=5,stats=2/fill=normal/seed=0").has_value());
  const Problem rope = Bind("rope/f32/b=1,l=2,h=1,d=8/fill=normal/seed=0");
  EXPECT_EQ(rope.inputs[1].shape, (Shape{2, 4}));
}

TEST(FormulaRegistry, LanesAndSignsGiveRelations) {
  const auto names = [](const char* id) {
    const Problem problem = Bind(id);
    std::vector<std::string> all;
    for (const Relation& relation : Op(problem.spec.op).Relations(problem)) all.push_back(relation.name);
    return all;
  };
  const auto has = [](const std::vector<std::string>& all, const char* name) {
    return std::ranges::find(all, name) != all.end();
  };
  const std::vector<std::string> norm = names("layer_norm/f32/rows=5,n=8/fill=normal/seed=0");
  EXPECT_TRUE(has(norm, "position") && has(norm, "batch1") && has(norm, "negation"));
  EXPECT_FALSE(has(names("exp/f32/n=8/fill=normal/seed=0"), "negation"));
  EXPECT_TRUE(has(names("tanh/f32/n=8/fill=normal/seed=0"), "negation"));
}

TEST(FormulaRegistry, OutputsHaveTypesShapesAndPlacesOfTheirOwn) {
  const Problem plain = Bind("layer_norm/bf16/rows=3,n=5/fill=normal/seed=0");
  EXPECT_EQ(plain.outputs.size(), 1U);
  const Problem stats = Bind("layer_norm/bf16/rows=3,n=5,stats=1/fill=normal/seed=0");
  ASSERT_EQ(stats.outputs.size(), 3U);
  EXPECT_EQ(stats.outputs[0].dtype, DType::kBF16);
  EXPECT_EQ(stats.outputs[2].name, "rstd");
  EXPECT_EQ(stats.outputs[2].dtype, DType::kF32);
  EXPECT_EQ(stats.outputs[2].shape, (Shape{3}));
  EXPECT_EQ(Bind("layer_norm/f64/rows=3,n=5,stats=1/fill=normal/seed=0").outputs[1].dtype, DType::kF64);
  const Problem fused = Bind("fused_add_rms_norm/bf16-bf16-f32-bf16/rows=3,n=5/fill=normal/seed=0");
  ASSERT_EQ(fused.outputs.size(), 2U);
  EXPECT_EQ(fused.outputs[0].alias, 0U);
  EXPECT_EQ(fused.outputs[1].alias, 2U);
  EXPECT_TRUE(IsOverwritten(fused, 1) && !IsOverwritten(fused, 0));
  const Problem backward = Bind("layer_norm_backward/bf16-bf16-f32-f32-f32-bf16/rows=3,n=5/fill=normal/seed=0");
  EXPECT_EQ(backward.outputs[0].dtype, DType::kBF16);
  EXPECT_EQ(backward.outputs[1].dtype, DType::kF32);
  EXPECT_EQ(backward.outputs[2].shape, (Shape{5}));
  // What is bound again for a relation keeps looking at the same output.
  for (const Relation& relation : Op("layer_norm").Relations(FocusedOn(stats, 2))) {
    if (relation.problem) {
      EXPECT_EQ(relation.problem->focus, 2U);
    }
  }
}

// The inputs of a case are the same with and without the outputs that are asked for beside the first, and so is that.
TEST(FormulaRegistry, FurtherOutputsChangeNothing) {
  const Problem plain = Bind("layer_norm/f32/rows=5,n=40/fill=normal/seed=3");
  const Problem stats = Bind("layer_norm/f32/rows=5,n=40,stats=1/fill=normal/seed=3");
  const Operator& op = Op("layer_norm");
  const std::vector<Tensor> a = op.MakeInputs(plain), b = op.MakeInputs(FocusedOn(stats, 1));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].ToDoubles(), b[i].ToDoubles());
  const Golden y = op.ComputeGolden(plain, a, Tier::kFast), again = op.ComputeGolden(stats, b, Tier::kFast);
  EXPECT_EQ(y.value, again.value);
  const BoundModel bound = op.Bound(plain, y, Declared("f32acc")),
                   of_again = op.Bound(stats, again, Declared("f32acc"));
  for (int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(HardBound(bound, y, i), HardBound(of_again, again, i));
}

}  // namespace
}  // namespace assay::test

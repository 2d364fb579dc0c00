// SPDX-License-Identifier: Apache-2.0
// What holds for every operator that is a formula, without a line of its own: golden values against exact arithmetic,
// bounds against correct implementations, twins against missing terms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

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
};

// A case of these types, with every axis of this extent.
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
    for (auto& [key, value] : spec.attrs) value = key == "d" ? value : "2";
  }
  Result<Problem> problem = op.Bind(spec);
  if (!problem) ADD_FAILURE() << problem.error().message;
  return {problem->spec.Id(), *problem, &op};
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
  EXPECT_GE(AllFormulas().size(), 14U);
}

TEST(FormulaRegistry, GoldenValuesAreWithinTheirErrorOfTheExactOnes) {
  for (const FormulaOperator* op : AllFormulas()) {
    for (const std::vector<DType>& types : op->types()) {
      const FormulaCase one = CaseOf(*op, types, 6, "normal");
      const std::vector<Tensor> inputs = op->MakeInputs(one.problem);
      const formula::Definition definition = op->DefinitionOf(one.problem);
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
    }
  }
}

// 1,000 executions per type: rounded to the output's type, judged as a run judges.
TEST(FormulaRegistry, CorrectImplementationsAreAccepted) {
  for (const FormulaOperator* op : AllFormulas()) {
    double worst_of_all = 0;
    for (const std::vector<DType>& types : op->types()) {
      const bool f64 = std::ranges::find(types, DType::kF64) != types.end();
      const FormulaCase one = CaseOf(*op, types, 8, "normal");
      const std::vector<Tensor> inputs = op->MakeInputs(one.problem);
      const std::vector<std::vector<double>> elements = ElementsOf(inputs);
      const formula::Definition definition = op->DefinitionOf(one.problem);
      const Contract contract = Declared(f64 ? "f64;math=2" : "f32acc;math=4");
      const Golden golden = op->ComputeGolden(one.problem, inputs, f64 ? Tier::kReproducible : Tier::kFast);
      const DeclaredBound bound = BoundOf(one.problem, golden, contract);
      std::vector<DType> input_types(types.begin(), types.end() - 1);
      double worst = 0;
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        const std::vector<double> y =
            Simulate(definition.graph(), definition.graph().outputs[0], elements, input_types, contract, seed);
        for (size_t i = 0; i < y.size(); ++i) {
          const auto at = static_cast<int64_t>(i);
          const double got = RoundTo(FormatOf(types.back()), y[i]);
          ASSERT_TRUE(Accepts(bound, golden, at, got))
              << one.id << " seed " << seed << " element " << i << ": " << got << " instead of " << golden.value[i];
          const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
          worst = std::max(worst, std::fabs((y[i] - golden.value[i]) - lo) / AccumulatedBound(bound, golden, at));
        }
      }
      fmt::print("{:60} largest legal error / bound {:.3f}\n", one.id, worst);
      worst_of_all = std::max(worst_of_all, worst);
    }
    EXPECT_GT(worst_of_all, 0.05) << op->schema().op << ": the bound is of no use";
  }
}

// Where something can be forgotten, the twin shows it, in the type with the coarsest output too.
TEST(FormulaRegistry, TwinsShowMissingTerms) {
  for (const FormulaOperator* op : AllFormulas()) {
    for (const DType type : {DType::kF32, DType::kBF16}) {
      const std::vector<DType> types(op->schema().operands.size(), type);
      CaseSpec spec = CaseOf(*op, types, 4, "normal").problem.spec;
      spec.attrs.back().second = "1000";
      const Problem problem = op->Bind(spec).value();
      const std::vector<Tensor> inputs = op->MakeInputs(problem);
      std::vector<int64_t> outputs;
      for (int64_t i = 0; i < NumElements(problem.output().shape); i += 37) outputs.push_back(i);
      const Golden golden = op->ComputeGolden(problem, inputs, Tier::kFast);
      if (op->OmittedTerms(problem, inputs, golden.value, outputs).empty()) continue;
      const std::vector<Twin> twins = TwinsOf(problem, "f32acc;math=2");
      ASSERT_FALSE(twins.empty()) << problem.spec.Id();
      const Twin& twin = twins[0];
      const std::vector<Mutant> mutants = op->OmittedTerms(problem, twin.inputs, twin.expected, outputs);
      const auto seen = std::ranges::count_if(mutants, [&](const Mutant& mutant) {
        return !Accepts(twin, type, mutant.index, RoundTo(FormatOf(type), mutant.value));
      });
      EXPECT_GE(static_cast<double>(seen), 0.99 * static_cast<double>(mutants.size())) << problem.spec.Id();
      EXPECT_GE(mutants.size(), 16U) << problem.spec.Id();
    }
  }
}

TEST(FormulaRegistry, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(TryBind("rope/f32/b=1,l=2,h=1,d=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("rope/f32/b=1,l=2,h=1,d=1/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("layer_norm/f32/rows=0,n=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("layer_norm/f32-bf16-f32-f32/rows=1,n=5/fill=normal/seed=0").has_value());
  EXPECT_FALSE(TryBind("rms_norm/f32/rows=1,n=5,eps=0/fill=normal/seed=0").has_value());
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

}  // namespace
}  // namespace assay::test

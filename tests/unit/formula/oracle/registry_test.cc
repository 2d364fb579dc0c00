// SPDX-License-Identifier: Apache-2.0
// Properties of every operator that is a formula, without a line of its own: golden values against exact arithmetic,
// bounds against correct implementations, twins against missing terms. scripts/formula_table.py makes tables of the
// properties that are recorded here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/core/base/whole_file.h"
#include "ops/formula_operator/cases.h"
#include "ops/formula_operator/relations.h"
#include "ops/relation.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_cases.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

void ExpectNone(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
}

// Kernels of integers beyond 16 bits alone hold them in registers, not in the numbers of these executions: known
// answers are in tests/unit/ops/exact_integers_test.cc.
bool IsOfWideIntegers(const FormulaOperator& op) {
  return RealTypes(op).empty();
}

// Each file of ops/defs is an operator of its name, but for those that have several.
TEST(FormulaRegistry, OperatorsAreThere) {
  std::set<std::string> files, operators;
  std::string tables;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_FORMULAS)) {
    const std::string text = ReadWholeFile(entry.path()).value();
    const size_t first = text.find("ASSAY_OPERATOR(");
    const bool has_several = first == std::string::npos || text.find("ASSAY_OPERATOR(", first + 1) != std::string::npos;
    if (has_several || text.find("RegisterFormula(") != std::string::npos) {
      tables += text;
    } else {
      files.insert(entry.path().stem());
    }
  }
  for (const FormulaOperator* op : AllFormulas()) {
    const bool is_row = tables.find(fmt::format("{{\"{}\",", op->schema().op)) != std::string::npos;
    const bool is_beside = tables.find(fmt::format("ASSAY_OPERATOR({}, ", op->schema().op)) != std::string::npos;
    if (!is_row && !is_beside) operators.insert(op->schema().op);
  }
  EXPECT_EQ(files, operators);
  EXPECT_FALSE(operators.empty());
}

TEST(FormulaRegistry, SchemasGiveCasesOfEveryTypeAndChoice) {
  for (const FormulaOperator* op : AllFormulas()) {
    const Findings findings = CheckCases(*op);
    ExpectNone(findings.problems);
    EXPECT_GE(findings.checked, 2 * std::ssize(RealTypes(*op))) << op->schema().op;
  }
}

// Nodes that lead nowhere would be part of the digest that stored golden values are found by.
TEST(FormulaRegistry, EveryNodeLeadsToAnOutput) {
  for (const FormulaOperator* op : AllFormulas()) {
    for (const auto& [types, drawn] : SmallCases(*op)) {
      for (const Problem& problem : drawn.cases) {
        const formula::Definition whole = op->WholeDefinitionOf(problem);
        if (whole.graph().outputs.size() > 1) continue;
        EXPECT_EQ(whole.graph().nodes.size(), op->DefinitionOf(problem, 0).graph().nodes.size()) << problem.spec.Id();
      }
    }
  }
}

TEST(FormulaRegistry, GoldenValuesAreWithinTheirErrorOfTheExactOnes) {
  for (const FormulaOperator* op : AllFormulas()) {
    if (IsOfWideIntegers(*op)) continue;
    const Findings findings = CheckGoldenValues(*op);
    ExpectNone(findings.problems);
    EXPECT_GT(findings.checked, 0) << op->schema().op;
  }
}

// And the bound is of some use: executions come near it.
TEST(FormulaRegistry, CorrectImplementationsAreAccepted) {
  for (const FormulaOperator* op : AllFormulas()) {
    if (IsOfWideIntegers(*op)) RecordProperty(fmt::format("slack {} y i64", op->schema().op), "exact");
    SlackReport slack;
    const Findings findings = CheckLegalExecutions(*op, slack);
    ExpectNone(findings.problems);
    EXPECT_EQ(findings.checked, kExecutions * std::ssize(slack)) << op->schema().op;
    ExpectNone(CheckSlack(slack).problems);
    for (const auto& [key, worst] : slack) {
      const std::string schedule =
          key.schedule == Algorithm::kDirect ? "" : fmt::format(" {}", AlgorithmName(key.schedule));
      const std::string text = worst ? fmt::format("{:.3f}", *worst) : "exact";
      RecordProperty(fmt::format("slack {} {}{} {}", op->schema().op, key.output, schedule, key.types), text);
      fmt::print("{:50} largest legal error / bound {}\n",
                 fmt::format("{} {} {}{}", op->schema().op, key.types, key.output, schedule), text);
    }
  }
}

TEST(FormulaRegistry, CorrectImplementationsAreAcceptedOnHardData) {
  for (const FormulaOperator* op : AllFormulas()) {
    if (IsOfWideIntegers(*op)) continue;
    const Findings findings = CheckExecutionsOfHardData(*op);
    ExpectNone(findings.problems);
    EXPECT_GE(findings.checked, static_cast<int64_t>(kHardCases * kExecutionsOfHardData)) << op->schema().op;
    fmt::print("{:24} {} executions, {} findings\n", op->schema().op, findings.checked, findings.problems.size());
  }
}

// Their twins take seconds each: scores inside of sums, or lanes that are drawn many times until one is long enough.
constexpr const char* kSlowTwins[] = {
    "alibi_attention",  "attention_backward", "attention_lse", "conv_transpose", "fft_conv",
    "gated_delta_rule", "grid_sample",        "grouped_gemm",  "moe_fused",      "mx_mm",
    "paged_decode",     "ragged_attention",   "sink_attention"};

// Where something can be forgotten, the twin of that output shows it, in every type.
void ExpectTwinsShowMissingTerms(bool slow) {
  for (const FormulaOperator* op : AllFormulas()) {
    if ((std::ranges::find(kSlowTwins, op->schema().op) != std::end(kSlowTwins)) != slow) continue;
    TwinReport twins;
    const Findings findings = CheckTwins(*op, twins);
    ExpectNone(findings.problems);
    for (const auto& [key, count] : twins) {
      if (count.all == 0) continue;  // nothing can be forgotten
      ::testing::Test::RecordProperty(fmt::format("twin {} {} {}", op->schema().op, key.first, key.second),
                                      fmt::format("{} of {}", count.seen, count.all));
    }
  }
}

TEST(FormulaRegistry, TwinsShowMissingTerms) {
  ExpectTwinsShowMissingTerms(false);
}
// The least shares that must be seen are those of all types, which --full alone tries.
TEST(FormulaRegistry, SlowTwinsShowMissingTerms) {
  if (!kIsFull) GTEST_SKIP() << "set ASSAY_TEST_FULL=1, as test.sh --full does";
  ExpectTwinsShowMissingTerms(true);
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
  EXPECT_FALSE(TryBind("layer_norm/f32/rows=-1,n=5/fill=normal/seed=0").has_value());
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
    for (const Relation& relation : Op(problem.spec.op).Relations(problem, 0)) all.push_back(relation.name);
    return all;
  };
  const auto has = [](const std::vector<std::string>& all, const char* name) {
    return std::ranges::find(all, name) != all.end();
  };
  const std::vector<std::string> norm = names("layer_norm/f32/rows=5,n=8/fill=normal/seed=0");
  EXPECT_TRUE(has(norm, "position") && has(norm, "batch1") && has(norm, "negation"));
  EXPECT_FALSE(has(names("exp/f32/n=8/fill=normal/seed=0"), "negation"));
  EXPECT_TRUE(has(names("tanh/f32/n=8/fill=normal/seed=0"), "negation"));
  for (const char* id : {"cumsum/f32/rows=2,n=8/fill=normal/seed=0", "rms_norm/f32/rows=2,n=8/fill=normal/seed=0",
                         "selective_scan/f32/b=1,c=2,s=2,l=5/fill=normal/seed=0",
                         "softmax_backward/f32/rows=2,n=8/fill=normal/seed=0"}) {
    EXPECT_TRUE(has(names(id), "scale")) << id;
  }
  for (const char* id : {"exp/f32/n=8/fill=normal/seed=0", "gelu/f32/n=8/fill=normal/seed=0",
                         "quantize/f32-f32-i8/rows=2,n=8/fill=normal/seed=0"}) {
    EXPECT_FALSE(has(names(id), "scale")) << id;
  }
}

// Checks the relation scale of operators that have it, on plain data. Codes have no multiples, but their scale has.
TEST(FormulaRegistry, TheRelationScaleSaysSomethingOfEachTypeList) {
  int64_t named = 0;
  for (const FormulaOperator* op : AllFormulas()) {
    for (const auto& [types, drawn] : SmallCases(*op)) {
      const auto plain = std::ranges::find(drawn.cases, "normal", [](const Problem& p) { return p.spec.fill; });
      if (plain == drawn.cases.end()) continue;
      const Problem& problem = *plain;
      const auto scale = ScaleOf(*op, problem, 0);
      if (!scale) continue;
      const std::vector<Tensor> inputs = op->MakeInputs(problem);
      const Golden golden = op->ComputeGolden(problem, 0, inputs, Tier::kFast);
      // Zeros have no scale: gradients of scores where there is one key.
      if (std::ranges::all_of(golden.value, [](double y) { return y == 0; })) continue;
      ++named;
      const Contract contract = Declared(IsDouble(problem) ? "f64;math=2" : "f32acc;math=4");
      const BoundModel bound = op->Bound(problem, 0, golden, contract);
      Tensor output(problem.outputs[0].dtype, problem.outputs[0].shape);
      output.SetDoubles(golden.value);
      EXPECT_TRUE(scale->make({*op, problem, 0, inputs, golden, bound, contract, output})) << problem.spec.Id();
    }
  }
  EXPECT_GT(named, 20);
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
  // A problem that is bound again for a relation has the output that the relation is of.
  for (const Relation& relation : Op("layer_norm").Relations(stats, 2)) {
    if (relation.problem) {
      EXPECT_EQ(relation.problem->outputs.at(2).name, "rstd");
    }
  }
}

// The inputs of a case are the same with and without the outputs that are asked for beside the first, and so is that.
TEST(FormulaRegistry, FurtherOutputsChangeNothing) {
  const Problem plain = Bind("layer_norm/f32/rows=5,n=40/fill=normal/seed=3");
  const Problem stats = Bind("layer_norm/f32/rows=5,n=40,stats=1/fill=normal/seed=3");
  const Operator& op = Op("layer_norm");
  const std::vector<Tensor> a = op.MakeInputs(plain), b = op.MakeInputs(stats);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].ToDoubles(), b[i].ToDoubles());
  const Golden y = op.ComputeGolden(plain, 0, a, Tier::kFast), again = op.ComputeGolden(stats, 0, b, Tier::kFast);
  EXPECT_EQ(y.value, again.value);
  const BoundModel bound = op.Bound(plain, 0, y, Declared("f32acc")),
                   of_again = op.Bound(stats, 0, again, Declared("f32acc"));
  for (int64_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(bound.LargestToleranceAt(y, i), of_again.LargestToleranceAt(again, i));
}

}  // namespace
}  // namespace assay::test

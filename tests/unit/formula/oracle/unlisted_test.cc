// SPDX-License-Identifier: Apache-2.0
// An operator that no list knows gets every generic check, and mistakes in such an operator are found by them.
#include "tests/support/formula/unlisted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/core/base/whole_file.h"
#include "ops/formula_operator/cases.h"
#include "ops/relation.h"
#include "tests/unit/formula/oracle/generic_checks.h"

namespace assay::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The operator with bounds and tolerances of twins that are so many times as large.
class Altered final : public Operator {
 public:
  Altered(const FormulaOperator& op, double bound, double tolerance) : op_(op), bound_(bound), tolerance_(tolerance) {}
  const OpSchema& schema() const override { return op_.schema(); }
  Result<Problem> Bind(const CaseSpec& spec) const override { return op_.Bind(spec); }
  std::vector<Tensor> MakeInputs(const Problem& problem) const override { return op_.MakeInputs(problem); }
  Golden ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                       Tier tier) const override {
    return op_.ComputeGolden(problem, output, inputs, tier);
  }
  BoundModel Bound(const Problem& problem, size_t output, const Golden& golden,
                   const Contract& contract) const override {
    BoundModel model = op_.Bound(problem, output, golden, contract);
    for (BoundTerm& term : model.terms) term.coefficient *= bound_;
    return model;
  }
  std::optional<Twin> MakeTwin(const Problem& problem, size_t output, const Contract& contract,
                               int variant) const override {
    std::optional<Twin> twin = op_.MakeTwin(problem, output, contract, variant);
    if (twin) {
      for (double& tolerance : twin->tolerances) tolerance *= tolerance_;
    }
    return twin;
  }
  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return op_.OmittedTerms(problem, output, inputs, values, elements);
  }

 private:
  const FormulaOperator& op_;
  double bound_, tolerance_;
};

const FormulaOperator& UnlistedOperator() {
  static const FormulaOperator op("unlisted", Unlisted);
  return op;
}

TEST(UnlistedOperator, IsInNoList) {
  EXPECT_EQ(OperatorRegistry::Global().Find("unlisted"), nullptr);
  const Result<std::string> page = ReadWholeFile(ASSAY_FORMULA_GUIDE);
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->find("| `unlisted` "), std::string::npos);
}

TEST(UnlistedOperator, HasCasesOfEveryTypeAndChoiceThoughItRefusesMost) {
  const FormulaOperator& op = UnlistedOperator();
  EXPECT_THAT(CheckCases(op).problems, IsEmpty());
  SizeDrawer drawer(op, {.fills = {"normal", "outlier"}}, 3);
  ASSERT_EQ(drawer.axes(), 2U);
  const DrawnSizes drawn = drawer.DrawFew({op.types()[1]}, 2);
  std::map<std::string, std::set<std::string>> values;
  for (const Problem& problem : drawn.cases) {
    for (const ResolvedAttr& attr : problem.attrs) values[attr.key].insert(attr.s + std::to_string(attr.i));
    values["fill"].insert(problem.spec.fill);
    EXPECT_NE(problem.Int("kappa") % 3, 0);
    EXPECT_NE(problem.Int("omega") % 2, 0);
  }
  EXPECT_THAT(values["gate"], ::testing::UnorderedElementsAre("none0", "abs0", "sigmoid0"));
  EXPECT_EQ(values["levels"].size(), 2U);
  EXPECT_EQ(values["doublings"].size(), 2U);
  EXPECT_EQ(values["fill"].size(), 2U);
  // Another seed draws other cases, the same one the same.
  const auto first_of = [&](uint64_t seed) {
    return SizeDrawer(op, {}, seed).DrawFew(op.types(), 1).cases[0].spec.Id();
  };
  EXPECT_EQ(first_of(5), first_of(5));
  EXPECT_NE(first_of(5), first_of(6));
}

TEST(UnlistedOperator, GetsEveryCheck) {
  const FormulaOperator& op = UnlistedOperator();
  const Findings golden = CheckGoldenValues(op);
  EXPECT_THAT(golden.problems, IsEmpty());
  EXPECT_GT(golden.checked, 500);

  SlackReport slack;
  const Findings executions = CheckLegalExecutions(op, slack);
  EXPECT_THAT(executions.problems, IsEmpty());
  ASSERT_EQ(slack.size(), 3 * 2 * op.types().size());  // outputs, schedules, types
  EXPECT_EQ(executions.checked, kExecutions * std::ssize(slack));
  const Findings tight = CheckSlack(slack);
  EXPECT_THAT(tight.problems, IsEmpty());
  EXPECT_EQ(tight.checked, 6);

  TwinReport twins;
  EXPECT_THAT(CheckTwins(op, twins).problems, IsEmpty());
  EXPECT_EQ(twins.size(), 3 * op.types().size() / (kIsFull ? 1 : 2));
  for (const auto& [key, count] : twins) {
    if (key.first == "drift") {
      EXPECT_EQ(count.all, 0);  // of an exponential nothing can be forgotten
      continue;
    }
    EXPECT_GE(count.all, 16) << key.first << " " << key.second;
    EXPECT_EQ(count.seen, count.all) << key.first << " " << key.second;
  }
}

// Fewer lines than a case has may be none that the operator takes.
TEST(UnlistedOperator, RelationsLeaveOutWhatIsRefused) {
  const auto names = [](const char* id) {
    const Problem problem = UnlistedOperator().Bind(ParseId(id).value()).value();
    std::set<std::string> all;
    for (const Relation& relation : UnlistedOperator().Relations(problem, 0)) all.insert(relation.name);
    return all;
  };
  EXPECT_THAT(names("unlisted/f32/kappa=10,omega=5/fill=normal/seed=0"),
              ::testing::IsSupersetOf({"position", "batch1", "batch_part", "batch7"}));
  const std::set<std::string> of_eleven = names("unlisted/f32/kappa=11,omega=5/fill=normal/seed=0");
  EXPECT_THAT(of_eleven, Contains("batch7"));
  EXPECT_THAT(of_eleven, ::testing::Not(Contains("batch_part")));
}

TEST(UnlistedOperator, AGoldenValueThatLacksATermIsFound) {
  const FormulaOperator wrong("unlisted", UnlistedWithoutShift);
  EXPECT_THAT(CheckGoldenValues({UnlistedOperator(), wrong}).problems, Contains(HasSubstr("from the exact one")));
  SlackReport slack;
  EXPECT_THAT(CheckLegalExecutions({UnlistedOperator(), wrong}, slack).problems, Contains(HasSubstr("is rejected")));
}

TEST(UnlistedOperator, ARuleThatForbidsWhatKernelsDoIsFound) {
  const FormulaOperator wrong("unlisted", UnlistedTooStrict);
  SlackReport slack;
  EXPECT_THAT(CheckGoldenValues({UnlistedOperator(), wrong}).problems, IsEmpty());
  EXPECT_THAT(CheckLegalExecutions({UnlistedOperator(), wrong}, slack).problems, Contains(HasSubstr("is rejected")));
}

TEST(UnlistedOperator, ABoundThatIsHalvedIsFound) {
  const Altered halved(UnlistedOperator(), 0.5, 1);
  SlackReport slack;
  EXPECT_THAT(CheckLegalExecutions({UnlistedOperator(), halved}, slack).problems, Contains(HasSubstr("is rejected")));
}

TEST(UnlistedOperator, ABoundThatIsOfNoUseIsFound) {
  const Altered loose(UnlistedOperator(), 64, 1);
  SlackReport slack;
  EXPECT_THAT(CheckLegalExecutions({UnlistedOperator(), loose}, slack).problems, IsEmpty());
  EXPECT_THAT(CheckSlack(slack).problems, Contains(HasSubstr("y direct: the largest error")));
}

TEST(UnlistedOperator, ATwinThatDoesNotSeeIsFound) {
  const Altered blind(UnlistedOperator(), 1, 64);
  TwinReport twins;
  EXPECT_THAT(CheckTwins({UnlistedOperator(), blind}, twins).problems, Contains(HasSubstr("are seen; not ")));
}

// An operator that refuses everything, or a value of a choice, must not pass because nothing was checked.
TEST(UnlistedOperator, RefusalsOfEverythingAreFound) {
  const auto add_output = [](formula::Definition& d) {
    d.SetDoc("y = exp x");
    const formula::Axis sigma = d.Axis("sigma", "elements");
    d.Out("y", formula::Exp(d.In("x", sigma)), sigma);
    return sigma;
  };
  const FormulaOperator nothing(
      "nothing", [&](formula::Definition& d) { d.RefuseIf(add_output(d).extent > 0, "there is no time"); });
  EXPECT_THAT(CheckCases(nothing).problems, Contains(HasSubstr("there is no time")));
  const FormulaOperator half("half", [&](formula::Definition& d) {
    add_output(d);
    d.RefuseIf(d.Choice("mode", {"easy", "hard"}, "how") == "hard", "hard is not written yet");
  });
  EXPECT_THAT(CheckCases(half).problems, Contains(HasSubstr("no case with mode=hard")));
}

}  // namespace
}  // namespace assay::test

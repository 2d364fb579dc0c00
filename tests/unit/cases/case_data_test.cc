// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "harness/engine/cases/prepared_case.h"
#include "ops/formula_operator.h"

namespace assay {
namespace {

PreparedCase Prepare(const char* id) {
  return PrepareCase(ParseId(id).value(), "auto", GoldenStore(std::filesystem::path())).value();
}

TEST(SecondSet, HoldsOtherDataWithItsOwnGolden) {
  const PreparedCase first = Prepare("reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=3");
  const auto second = PrepareSecondSet(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->problem.spec.Id(), "reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=4");
  EXPECT_NE(second->input_hash, first.input_hash);
  EXPECT_EQ(second->problem.outputs[0].shape, first.problem.outputs[0].shape);
  const PreparedCase alone = Prepare("reduce/f32/shape=4x100,axes=1,kind=max/fill=normal/seed=4");
  EXPECT_EQ(second->golden().value, alone.golden().value);
  EXPECT_NE(second->golden().value, first.golden().value);
}

TEST(Case, HasAGoldenValueOfEachOutputFromTheStoreToo) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "golden_of_outputs";
  std::filesystem::remove_all(root);
  const GoldenStore store(root);
  const CaseSpec spec = ParseId("layer_norm/f32/rows=3,n=20,stats=1/fill=normal/seed=0").value();
  const PreparedCase made = PrepareCase(spec, "auto", store).value();
  ASSERT_EQ(made.outputs.size(), 3U);
  EXPECT_EQ(made.problem.outputs[made.outputs[1].number].name, "mean");
  EXPECT_EQ(made.outputs[1].golden.shape, (Shape{3}));
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(std::filesystem::exists(store.PathOf(KeyOf(made, k, made.golden().tier)))) << k;
  }
  EXPECT_EQ(KeyOf(made, 0, Tier::kFast).output, "");
  EXPECT_EQ(KeyOf(made, 2, Tier::kFast).output, "rstd");
  const PreparedCase again = PrepareCase(spec, "auto", store).value();
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(again.outputs[k].golden.value, made.outputs[k].golden.value) << k;
  EXPECT_EQ(again.golden_hash, made.golden_hash);
  std::filesystem::remove_all(root);
}

// Prepares a case of an operator whose y the test defines: another factor, node, axis or rounding must not find a
// stored golden value.
PreparedCase PrepareScaled(const GoldenStore& store, const formula::Definition::Author& state) {
  const FormulaOperator op("scaled", state);
  const CaseSpec spec{.op = "scaled", .dtypes = {DType::kF32}, .attrs = {{"n", "20"}}, .fill = "normal"};
  const BoundCase bound{&op, op.Bind(spec).value()};
  return PrepareCase(bound, "auto", store).value();
}

TEST(Case, HasNoGoldenValueOfAFormulaThatWasChanged) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "golden_of_formulas";
  std::filesystem::remove_all(root);
  const GoldenStore store(root);
  const auto author = [](const std::function<formula::Expr(formula::Expr)>& of) {
    return [of](formula::Definition& d) {
      d.SetDoc("y = a function of x");
      const formula::Axis n = d.Axis("n", "elements");
      d.Out("y", of(d.In("x", n)), n);
    };
  };
  using formula::Expr;
  const auto once = author([](Expr x) { return 1.5 * x; }), twice = author([](Expr x) { return 3.0 * x; });
  const auto root_of = author([](Expr x) { return formula::Sqrt(x * x); });
  const PreparedCase first = PrepareScaled(store, once), second = PrepareScaled(store, twice);
  EXPECT_EQ(first.input_hash, second.input_hash);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(second.golden().value[i], 2 * first.golden().value[i]);
  EXPECT_EQ(PrepareScaled(store, root_of).golden().value[3], std::fabs(first.golden().value[3] / 1.5));
  EXPECT_EQ(PrepareScaled(store, once).golden().value, first.golden().value);
  EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(root), {}), 6);  // three folders, three files
  std::filesystem::remove_all(root);
}

TEST(Case, HasTwinsThatSayWhichOutputTheyAreOf) {
  const PreparedCase data = Prepare("layer_norm/f32/rows=3,n=100,stats=1/fill=normal/seed=0");
  const ContractData by = PrepareContract(data, ParseDeclaration("f32acc;math=2").value());
  ASSERT_EQ(by.outputs.size(), 3U);
  std::vector<bool> has(3);
  for (const CachedTwin& twin : by.twins) {
    has[twin.output()] = true;
    EXPECT_EQ(std::ssize(twin.Get()->expected), data.outputs[twin.output()].golden.size());
  }
  EXPECT_TRUE(has[0] && has[1]);
  EXPECT_EQ(by.FindSharedTwin(), nullptr);
  const PreparedCase one = Prepare("layer_norm/f32/rows=3,n=100/fill=normal/seed=0");
  const ContractData by_one = PrepareContract(one, ParseDeclaration("f32acc;math=2").value());
  EXPECT_EQ(by_one.FindSharedTwin(), &by_one.twins[0]);
}

TEST(SecondSet, TakesAnotherFillWhereTheSeedChangesNothing) {
  const PreparedCase first = Prepare("reduce/f32-i64/shape=4x100,axes=1,kind=argmin,tie=any/fill=ramp/seed=0");
  const auto second = PrepareSecondSet(first);
  ASSERT_TRUE(second);
  EXPECT_NE(second->input_hash, first.input_hash);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "harness/engine/cases/prepared_case.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/unit/temporary_folder.h"

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
  const TemporaryFolder folder;
  const GoldenStore store(folder.Path(""));
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
}

TEST(SampledCaseData, HasGoldenValuesOfItsElementsAlone) {
  const TemporaryFolder folder;
  const GoldenStore store(folder.Path(""));
  const BoundCase bound = **BindCase(ParseId("softmax/f32/shape=64x9x40,axis=1/fill=normal/seed=0").value());
  const PreparedCase whole = PrepareCase(bound, "auto", store).value();
  const PreparedCase made = PrepareCase(bound, "auto", store, MemoryUse::kRun, {.sample = 500}).value();
  ASSERT_TRUE(made.whole.has_value());
  EXPECT_EQ(made.executed().spec, bound.problem.spec);
  EXPECT_EQ(HashInputs(made.executed_inputs()), whole.input_hash);
  const Golden& golden = made.golden();
  ASSERT_EQ(golden.size(), made.whole->sample.judged);
  EXPECT_LE(golden.size(), 500);
  for (int64_t i = 0; i < golden.size(); ++i) {
    const auto there = static_cast<size_t>(made.whole->sample.ElementOf(0, i));
    EXPECT_EQ(golden.value[static_cast<size_t>(i)], whole.golden().value[there]) << i;
  }
  const PreparedCase again = PrepareCase(bound, "auto", store, MemoryUse::kRun, {.sample = 500}).value();
  EXPECT_EQ(again.golden_hash, made.golden_hash);
  EXPECT_NE(again.golden_hash, whole.golden_hash);
}

// The two have the same bytes of inputs, and samples of equal extents.
TEST(SampledCaseData, HasNoStoredGoldenValueOfAnotherShape) {
  const TemporaryFolder folder;
  const GoldenStore store(folder.Path(""));
  const auto prepare = [](const char* id, const GoldenStore& in) {
    return PrepareCase(**BindCase(ParseId(id).value()), "auto", in, MemoryUse::kRun, {.sample = 500}).value();
  };
  const PreparedCase wide = prepare("softmax/f32/shape=60x9x40,axis=1/fill=normal/seed=0", store);
  const char* const other = "softmax/f32/shape=40x9x60,axis=1/fill=normal/seed=0";
  ASSERT_EQ(wide.problem.spec, prepare(other, store).problem.spec);
  EXPECT_EQ(prepare(other, store).golden().value, prepare(other, GoldenStore({})).golden().value);
}

// No operand of a product of one term is large.
TEST(SampledCaseData, HasThePlacesWhereIndicesOf32BitsEnd) {
  const Problem problem =
      (*BindCase(ParseId("matmul/i8-i8-i32/m=65540,n=65539,k=1/fill=coded/seed=0").value()))->problem;
  const Operator& op = *OperatorRegistry::Global().Find("matmul");
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const auto drawn = DrawPart(op, problem, inputs, {}, {.elements = 4096, .seed = 7});
  ASSERT_TRUE(drawn.has_value());
  EXPECT_EQ(drawn->sample.elements, int64_t{65540} * 65539);
  EXPECT_LE(drawn->sample.judged, 4096);
  const std::vector<double> a = inputs[0].ToDoubles(), b = inputs[1].ToDoubles();
  const Golden golden = op.ComputeGolden(drawn->part.problem, 0, drawn->part.inputs, Tier::kFast);
  std::set<int64_t> judged;
  for (int64_t i = 0; i < drawn->sample.judged; ++i) {
    const int64_t element = drawn->sample.ElementOf(0, i);
    judged.insert(element);
    const auto row = static_cast<size_t>(element / 65539), column = static_cast<size_t>(element % 65539);
    EXPECT_EQ(golden.value[static_cast<size_t>(i)], a[row] * b[column]) << element;
  }
  const int64_t last = drawn->sample.elements - 1;
  for (const int64_t end : {int64_t{0}, int64_t{1} << 31, int64_t{1} << 32, last}) {
    EXPECT_TRUE(judged.contains(end)) << end;
    EXPECT_TRUE(end == 0 || end == last || judged.contains(end - 1)) << end;
  }
}

TEST(SampledCaseData, NeedsLittleBesideWhatIsExecuted) {
  const Problem problem = (*BindCase(ParseId("matmul/f32/m=16384,n=16384,k=64/fill=normal/seed=0").value()))->problem;
  const double whole = BytesNeeded(problem, MemoryUse::kRun, "auto");
  const double sample = BytesNeeded(problem, MemoryUse::kRun, "auto", 4096);
  EXPECT_LT(sample, whole / 5);
  EXPECT_GT(sample, 5 * problem.bytes);
  EXPECT_EQ(BytesNeeded(problem, MemoryUse::kRun, "auto", 1 << 28), whole);
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
  const TemporaryFolder folder;
  const GoldenStore store(folder.Path(""));
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
  EXPECT_EQ(std::distance(std::filesystem::recursive_directory_iterator(folder.Path("")), {}),
            6);  // three folders, three files
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

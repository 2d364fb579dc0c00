// SPDX-License-Identifier: Apache-2.0
// What operators declare of the ways in which their cases differ, and that suite covering combines it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "harness/plan/cover/coverage.h"
#include "ops/formula_operator.h"
#include "ops/operator.h"

namespace assay {
namespace {


const std::vector<const Operator*>& Operators() {
  static const std::vector<const Operator*> all = OperatorRegistry::Global().All();
  return all;
}

OpCatalog EveryOperator() {
  OpCatalog catalog;
  catalog.op = [](std::string_view name) { return OperatorRegistry::Global().Find(name); };
  catalog.find = [](std::string_view name) -> const OpSchema* {
    const Operator* op = OperatorRegistry::Global().Find(name);
    return op == nullptr ? nullptr : &op->schema();
  };
  catalog.bind = BindCase;
  for (const Operator* op : Operators()) catalog.names.push_back(op->schema().op);
  return catalog;
}

Choice RandomChoice(const Candidates& candidates, std::mt19937_64& random) {
  Choice choice;
  for (size_t knob = 0; knob < candidates.knobs(); ++knob) {
    choice.push_back(static_cast<int>(random() % static_cast<uint64_t>(candidates.values(knob))));
  }
  return choice;
}

TEST(Dimensions, EveryOperatorDeclaresThem) {
  for (const Operator* op : Operators()) {
    const CaseSpace space = op->Space();
    EXPECT_GT(space.dimensions.size(), 10u) << op->schema().op;
    std::set<std::string> names;
    int in_triples = 0;
    for (const Dimension& dimension : space.dimensions) {
      EXPECT_TRUE(names.insert(dimension.name).second) << dimension.name;
      EXPECT_GT(dimension.levels.size(), 1u) << dimension.name;
      in_triples += dimension.in_triples ? 1 : 0;
    }
    EXPECT_GT(in_triples, 4) << op->schema().op;
  }
}

// Each attribute of an operator varies, but for shapes, which are put together from other keys.
TEST(Dimensions, NoAttributeIsForgotten) {
  for (const Operator* op : Operators()) {
    const Candidates candidates(*op, {.elements = 1e9, .flops = 1e12});
    std::mt19937_64 random(1);
    std::map<std::string, std::set<std::string>> seen;
    for (int i = 0; i < 500; ++i) {
      const auto spec = candidates.SpecOf(RandomChoice(candidates, random));
      if (!spec) continue;
      const AttrReader attrs(*spec, op->schema());
      for (const AttrDef& def : op->schema().attrs) seen[def.key].insert(attrs.Text(def.key));
    }
    for (const AttrDef& def : op->schema().attrs)
      EXPECT_GT(seen[def.key].size(), 1u) << op->schema().op << " " << def.key;
  }
}

// The keys that a dimension names are all that it depends on.
TEST(Dimensions, DependOnTheKeysThatTheyName) {
  for (const Operator* op : Operators()) {
    const Candidates candidates(*op, {.elements = 1e9, .flops = 1e12});
    std::mt19937_64 random(2);
    int taken = 0;
    for (int i = 0; i < 5000; ++i) {
      const Choice choice = RandomChoice(candidates, random);
      const auto spec = candidates.SpecOf(choice);
      if (!spec || !op->Bind(*spec)) continue;
      ++taken;
      const Levels levels = candidates.LevelsOf(*spec);
      for (size_t d = 0; d < levels.size(); ++d) {
        EXPECT_GE(levels[d], 0) << spec->Id() << " " << candidates.space().dimensions[d].name;
        ASSERT_EQ(levels[d], candidates.LevelOf(static_cast<int>(d), choice)) << candidates.space().dimensions[d].name;
      }
    }
    EXPECT_GT(taken, 100) << op->schema().op;
  }
}

// Where one knob decides, each level has a value.
TEST(Dimensions, NoLevelIsOneThatNothingGives) {
  for (const Operator* op : Operators()) {
    const Candidates candidates(*op, {.elements = 1e9, .flops = 1e12});
    for (int d = 0; d < std::ssize(candidates.space().dimensions); ++d) {
      if (candidates.KnobsOf(d).size() > 1) continue;
      const auto knob = static_cast<size_t>(candidates.KnobsOf(d)[0]);
      std::set<int> levels;
      Choice choice(candidates.knobs());
      for (; choice[knob] < candidates.values(knob); ++choice[knob]) levels.insert(candidates.LevelOf(d, choice));
      const Dimension& dimension = candidates.space().dimensions[static_cast<size_t>(d)];
      EXPECT_EQ(levels.size(), dimension.levels.size()) << op->schema().op << " " << dimension.name;
    }
  }
}

// A suite, the strength that its lines have for every operator, whether they are about those of ops/defs too, and how
// many pairs of an operator a search may give up on (ops/README.md).
struct ShippedCover {
  const char* suite;
  int strength;
  bool formulas;
  size_t not_found = 0;
};

size_t OperatorsOf(const ShippedCover& shipped) {
  return static_cast<size_t>(std::ranges::count_if(Operators(), [&](const Operator* op) {
    return shipped.formulas || dynamic_cast<const FormulaOperator*>(op) == nullptr;
  }));
}

class ShippedCoverage : public testing::TestWithParam<ShippedCover> {};

TEST_P(ShippedCoverage, HasAllThatIsPossible) {
  const OpCatalog catalog = EveryOperator();
  std::vector<CoverLine> lines;
  const auto cases = LoadSuite(FindSuite(GetParam().suite, {ASSAY_SUITE_DIR}).value(), catalog, &lines);
  ASSERT_TRUE(cases) << cases.error().message;
  std::set<std::string> operators;
  for (const CoverLine& line : lines) {
    EXPECT_EQ(line.options.strength, GetParam().strength) << line.op;
    EXPECT_TRUE(operators.insert(line.op).second) << line.op;
  }
  EXPECT_EQ(operators.size(), OperatorsOf(GetParam()));
  const std::vector<Coverage> coverages = CoverageOf(*cases, lines, catalog);
  EXPECT_EQ(coverages.size(), static_cast<size_t>(GetParam().strength - 1) * OperatorsOf(GetParam()));
  for (const Coverage& coverage : coverages) {
    EXPECT_LE(coverage.missing.size(), coverage.strength == 2 ? GetParam().not_found : 0)
        << coverage.op << ": " << testing::PrintToString(coverage.missing);
    EXPECT_GT(coverage.covered, 500) << coverage.op;
  }
}

INSTANTIATE_TEST_SUITE_P(Suites, ShippedCoverage,
                         testing::Values(ShippedCover{"default", 2, false}, ShippedCover{"conformance", 3, false},
                                         ShippedCover{"covering", 3, true, 2}),
                         [](const auto& shipped) { return std::string(shipped.param.suite); });

// Where nothing is reduced, a row is no unit, and one tensor shows all kinds.
TEST(Inputs, OfElementwiseFormulasHaveSpecialNumbersOfEveryKind) {
  for (const char* id : {"exp/f32/n=400/fill=special/seed=0", "gelu/bf16/n=400/fill=edges/seed=3",
                         "tanh/f16/n=800/fill=special/seed=1"}) {
    const CaseSpec spec = ParseId(id).value();
    const Operator& op = *OperatorRegistry::Global().Find(spec.op);
    const std::vector<double> x = op.MakeInputs(op.Bind(spec).value())[0].ToDoubles();
    const auto nans = std::ranges::count_if(x, [](double value) { return std::isnan(value); });
    const auto infinities = std::ranges::count_if(x, [](double value) { return std::isinf(value); });
    EXPECT_GE(nans, 2) << id;
    EXPECT_GE(infinities, 4) << id;
    EXPECT_LE(nans + infinities, std::ssize(x) / 20) << id;
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Operators declare the ways in which their cases differ.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>

#include "harness/plan/cover/candidates.h"
#include "ops/operator.h"

namespace assay {
namespace {

const std::vector<const Operator*>& Operators() {
  static const std::vector<const Operator*> all = OperatorRegistry::Global().All();
  return all;
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
    for (int i = 0; i < 5000 && taken <= 200; ++i) {
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

// Names the special value of each row of an operand; "nothing" if the row has none.
std::vector<std::string> SpoilersOf(const Tensor& x, int64_t rows) {
  std::vector<std::string> spoilers;
  const std::vector<double> values = x.ToDoubles();
  const int64_t n = std::ssize(values) / rows;
  for (int64_t row = 0; row < rows; ++row) {
    std::string why = "nothing";
    for (int64_t k = 0; k < n; ++k) {
      const double v = values[static_cast<size_t>(row * n + k)];
      if (std::isnan(v)) why = "NaN";
      if (std::isinf(v)) why = v > 0 ? "infinity" : "-infinity";
      if (std::isfinite(v) && std::fabs(v) == FormatOf(x.dtype()).max_finite) why = "largest";
    }
    spoilers.push_back(why);
  }
  return spoilers;
}

TEST(Inputs, OfFewRowsHaveNanAndInfinitiesAndARowWithoutThem) {
  std::map<std::string, int> largest;
  for (const char* op :
       {"layer_norm/f32/rows={},n=40/fill=special/seed={}", "rms_norm/bf16/rows={},n=9/fill=edges/seed={}",
        "cumsum/f16/rows={},n=17/fill=special/seed={}"}) {
    for (const int64_t rows : {4, 5, 7, 16, 19}) {
      for (int seed = 0; seed < 6; ++seed) {
        const CaseSpec spec = ParseId(fmt::format(fmt::runtime(op), rows, seed)).value();
        const Operator& of = *OperatorRegistry::Global().Find(spec.op);
        std::map<std::string, int> spoilt;
        for (const std::string& why : SpoilersOf(of.MakeInputs(*of.Bind(spec))[0], rows)) ++spoilt[why];
        for (const char* why : {"NaN", "infinity", "-infinity", "nothing"})
          EXPECT_GE(spoilt[why], 1) << spec.Id() << why;
        // Fewer where such rows would leave more than a tenth of the results without a bound.
        EXPECT_LE(spoilt["largest"], rows >= 6 ? 2 : rows == 5 ? 1 : 0) << spec.Id();
        largest[op] += spoilt["largest"];
      }
    }
  }
  for (const auto& [op, count] : largest) EXPECT_GT(count, 0) << op;
}

// A row that two operands spoil shows neither; and what is right of finite numbers is seen in one row at least.
TEST(Inputs, OfFewRowsSpoilRowsOfTheirOwnAndLeaveOneToAll) {
  for (const char* fill : {"special", "edges"}) {
    for (const int64_t rows : {2, 3, 4, 7, 12, 19}) {
      for (int seed = 0; seed < 6; ++seed) {
        const auto spec =
            ParseId(fmt::format("fused_add_rms_norm/f32/rows={},n=40/fill={}/seed={}", rows, fill, seed)).value();
        const Operator& of = *OperatorRegistry::Global().Find(spec.op);
        const std::vector<Tensor> inputs = of.MakeInputs(*of.Bind(spec));
        const std::vector<std::string> x = SpoilersOf(inputs[0], rows), residual = SpoilersOf(inputs[1], rows);
        int64_t by_x = 0, by_residual = 0, by_both = 0;
        for (size_t row = 0; row < x.size(); ++row) {
          const bool spoils = x[row] != "nothing", too = residual[row] != "nothing";
          by_x += spoils ? 1 : 0, by_residual += too ? 1 : 0, by_both += spoils && too ? 1 : 0;
        }
        EXPECT_EQ(by_both, 0) << spec.Id();
        EXPECT_LT(by_x + by_residual, rows) << spec.Id();
        EXPECT_LE(by_x + by_residual, std::min<int64_t>(rows - 1, 10)) << spec.Id() << ": five of each at most";
        EXPECT_GE(by_x + by_residual, std::min<int64_t>(rows - 1, 6)) << spec.Id() << ": NaN and infinities of each";
      }
    }
  }
}

// An infinite rstd would be in every column's dgamma.
TEST(Inputs, ThatReachWholeOutputsHaveNothingSpecialInHalfOfTheCases) {
  for (const char* fill : {"special", "edges"}) {
    int spared = 0;
    for (int seed = 0; seed < 8; ++seed) {
      const auto id = fmt::format("layer_norm_backward/f32/rows=16,n=50/fill={}/seed={}", fill, seed);
      const Operator& op = *OperatorRegistry::Global().Find("layer_norm_backward");
      const Problem problem = *op.Bind(*ParseId(id));
      const std::vector<Tensor> inputs = op.MakeInputs(problem);
      const auto has_special = [&](size_t operand) {
        return std::ranges::any_of(SpoilersOf(inputs[operand], 1), [](const auto& why) { return why != "nothing"; });
      };
      EXPECT_TRUE(has_special(0) && has_special(1)) << id << ": dy and x";
      if (has_special(2) || has_special(3)) continue;
      ++spared;
      const std::vector<double> dgamma = op.ComputeGolden(problem, 1, inputs, Tier::kFast).value;
      const auto finite = std::ranges::count_if(dgamma, [](double value) { return std::isfinite(value); });
      EXPECT_GT(finite, 25) << id;
      EXPECT_LT(finite, 50) << id;
    }
    EXPECT_GE(spared, 4) << fill;
    EXPECT_LT(spared, 8) << fill << ": other seeds have NaN, infinities or the largest numbers there";
  }
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// gather and scatter_add: what they are, which places are drawn and which are refused, what is seen of wrong places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/relation.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

std::vector<double> GoldenOf(const Problem& problem, std::span<const Tensor> inputs) {
  return Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kReproducible).value;
}

TEST(Indexed, GatherCopiesRows) {
  for (const char* types : {"f32-i64-f32", "bf16-i32-bf16", "f64-i64-f64"}) {
    const Problem problem = Bind(std::string("gather/") + types + "/v=11,n=9,d=5/fill=normal/seed=3");
    const std::vector<Tensor> inputs = Op("gather").MakeInputs(problem);
    const std::vector<double> table = inputs[0].ToDoubles(), places = inputs[1].ToDoubles();
    const std::vector<double> y = GoldenOf(problem, inputs);
    for (size_t i = 0; i < 9; ++i) {
      for (size_t k = 0; k < 5; ++k) EXPECT_EQ(y[i * 5 + k], table[static_cast<size_t>(places[i]) * 5 + k]);
    }
    const Golden golden = Op("gather").ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, "f32acc");
    for (int64_t i = 0; i < golden.size(); ++i) EXPECT_EQ(bound.At(golden, i), 0) << "nothing is rounded";
  }
}

TEST(Indexed, ScatterAddAddsEveryUpdate) {
  const Problem problem = Bind("scatter_add/f32-i64-f32-f32/rows=4,n=23,d=3/fill=normal/seed=3");
  const std::vector<Tensor> inputs = Op("scatter_add").MakeInputs(problem);
  std::vector<double> y = inputs[0].ToDoubles();
  const std::vector<double> places = inputs[1].ToDoubles(), updates = inputs[2].ToDoubles();
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t k = 0; k < 3; ++k) y[static_cast<size_t>(places[i]) * 3 + k] += updates[i * 3 + k];
  }
  const std::vector<double> golden = GoldenOf(problem, inputs);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(golden[i], y[i], 1e-13);
}

// All of the axis, duplicates and both ends, whatever the fill.
TEST(Indexed, PlacesAreDrawnFromTheWholeAxis) {
  for (const char* fill : {"normal", "special", "ramp", "coded", "lognormal", "extremes"}) {
    const Problem problem = Bind(std::string("gather/f32-i32-f32/v=7,n=40,d=2/fill=") + fill + "/seed=1");
    const std::vector<double> places = Op("gather").MakeInputs(problem)[1].ToDoubles();
    const std::set<double> distinct(places.begin(), places.end());
    EXPECT_EQ(distinct, (std::set<double>{0, 1, 2, 3, 4, 5, 6})) << fill;
    EXPECT_EQ(places[3], places[2]) << fill;
  }
  const Problem one = Bind("scatter_add/f32-i64-f32-f32/rows=1,n=5,d=4/fill=normal/seed=1");
  EXPECT_EQ(Op("scatter_add").MakeInputs(one)[1].ToDoubles(), std::vector<double>(5));
}

// A row without updates is exact under every contract; a row with many has room for their roundings.
TEST(Indexed, BoundsCountTheUpdatesOfARow) {
  const Problem problem = Bind("scatter_add/f32-i64-f32-f32/rows=3,n=6,d=1/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("scatter_add").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{1, 1, 1});
  inputs[1].SetDoubles(std::vector<double>{0, 0, 0, 0, 0, 1});
  inputs[2].SetDoubles(std::vector<double>(6, 1));
  const Golden golden = Op("scatter_add").ComputeGolden(problem, 0, inputs, Tier::kFast);
  EXPECT_EQ(golden.value, (std::vector<double>{6, 2, 1}));
  const DeclaredBound bound = BoundOf(problem, golden, "f32acc");
  const double many = bound.At(golden, 0), single = bound.At(golden, 1);
  EXPECT_GT(many, 10 * single);
  EXPECT_LT(many, 5.01 * 0x1p-23 * 6);
  EXPECT_GT(single, 0);
  EXPECT_LT(bound.At(golden, 2), 0x1p-40);
}

TEST(Indexed, WrongPlacesAreSeen) {
  for (const char* id :
       {"gather/f32-i64-f32/v=67,n=40,d=9/fill=normal/seed=0", "gather/bf16-i64-bf16/v=67,n=40,d=9/fill=normal/seed=0",
        "scatter_add/f32-i64-f32-f32/rows=7,n=40,d=9/fill=normal/seed=0",
        "scatter_add/bf16-i64-bf16-bf16/rows=7,n=40,d=9/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    const std::vector<Tensor> inputs = op.MakeInputs(problem);
    const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, "f32acc");
    std::vector<int64_t> outputs;
    for (int64_t i = 0; i < golden.size(); ++i) outputs.push_back(i);
    const std::vector<Mutant> mutants = op.OmittedTerms(problem, 0, inputs, golden.value, outputs);
    EXPECT_GE(mutants.size(), 16U) << id;
    const auto seen = std::ranges::count_if(mutants, [&](const Mutant& m) {
      return !Accepts(bound, golden, m.index, RoundTo(FormatOf(bound.out), m.value));
    });
    EXPECT_EQ(seen, std::ssize(mutants)) << id;
  }
}

TEST(Indexed, PlacesBeyondTheAxisAreRefusedByName) {
  const Problem problem = Bind("scatter_add/f32-i64-f32-f32/rows=5,n=6,d=2/fill=normal/seed=0");
  const Operator& op = Op("scatter_add");
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  EXPECT_TRUE(op.CheckInputs(problem, inputs).has_value());
  for (const double wrong : {-1.0, 5.0, 1e12}) {
    inputs[1].SetDoubles(std::vector<double>{0, 1, 2, 4, wrong, 0});
    const Status status = op.CheckInputs(problem, inputs);
    ASSERT_FALSE(status.has_value()) << wrong;
    EXPECT_EQ(status.error().message.find("scatter_add: indices[4] is "), 0U) << status.error().message;
    EXPECT_NE(status.error().message.find("places along rows are 0 to 4 (rows=5)"), std::string::npos);
  }
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);  // and would harm nothing
  EXPECT_TRUE(std::isfinite(golden.value[0]));
}

TEST(Indexed, SlicesAlongElementsGiveRelationsAndSignsDo) {
  const Problem problem = Bind("scatter_add/f32-i64-f32-f32/rows=5,n=6,d=20/fill=normal/seed=0");
  std::set<std::string> names;
  for (const Relation& relation : Op("scatter_add").Relations(problem, 0)) names.insert(relation.name);
  EXPECT_TRUE(names.contains("position") && names.contains("negation"));
}

}  // namespace
}  // namespace assay::test

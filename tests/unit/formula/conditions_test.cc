// SPDX-License-Identifier: Apache-2.0
// Conditions and integers are exact; what is chosen by something uncertain may be either.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "harness/core/data/infinity.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/simulate.h"

namespace assay::formula {
namespace {

using Author = std::function<Expr(Graph&, Expr x, Expr y)>;

// A formula of x and y along one axis. `integers`: x has an integer type.
struct Case {
  Case(std::vector<double> x, std::vector<double> y, const Author& author, bool integers = false)
      : inputs{std::move(x), std::move(y)} {
    const Axis n = AddAxis(graph, "n", std::ssize(inputs[0]));
    const Expr first = AddInput(graph, "x", n), second = AddInput(graph, "y", n);
    if (integers) graph.nodes[static_cast<size_t>(first.id)].numbers = Numbers::kInteger;
    AddOutput(graph, "z", author(graph, first, second), n);
    types = {integers ? DType::kU8 : DType::kF32, DType::kF32};
  }
  Evaluation Under(const char* contract) const {
    const ErrorRules rules[] = {ContractRules(ParseDeclaration(contract).value(), types, false), GoldenRules(false),
                                SigmaRules()};
    return Evaluate(graph, graph.outputs[0], inputs, false, rules);
  }
  std::vector<double> ReachUnder(const char* contract) const { return Under(contract).reach[0]; }
  Graph graph;
  std::vector<std::vector<double>> inputs;
  std::vector<DType> types;
};

Expr Number(Graph& graph, double value) {
  return Const(graph, value);
}

const std::vector<double> kX = {1, 2, 3, -1, 0.3, 1}, kY = {2, 1, 3, 5, 0.1, 1};

TEST(Conditions, AreWhatTheySay) {
  const auto values = [](const Author& author) { return Case(kX, kY, author).Under("f32;math=1").value; };
  using List = std::vector<double>;
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return Less(x, y); }), (List{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return LessEqual(x, y); }), (List{1, 0, 1, 1, 0, 1}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return Equal(x, y); }), (List{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return NotEqual(x, y); }), (List{1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return And(Less(x, y), Less(y, x + y)); }), (List{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return Or(Less(x, y), Equal(x, y)); }), (List{1, 0, 1, 1, 0, 1}));
  EXPECT_EQ(values([](Graph&, Expr x, Expr y) { return Not(x - y); }), (List{0, 0, 1, 0, 0, 1}));
}

TEST(Conditions, OfNanAreFalseUnlessNegated) {
  const double nan = std::nan("");
  const Case two({nan, nan, 1, 0, kInfinity}, {nan, 1, nan, 0, kInfinity},
                 [](Graph&, Expr x, Expr y) { return 4.0 * LessEqual(x, y) + 2.0 * NotEqual(x, x) + And(x, y); });
  const Evaluation got = two.Under("f32;math=1");
  EXPECT_EQ(got.value, (std::vector<double>{3, 3, 1, 4, 5}));
  EXPECT_EQ(got.reach[0], std::vector<double>(5));
}

// Whatever the arithmetic: with partial results in bf16, with an accumulator of half precision, for golden values.
TEST(Conditions, AndCountsOfThemHaveNoError) {
  const Author authors[] = {
      [](Graph& g, Expr x, Expr y) { return Less(x, y) * Less(y, Number(g, 4)); },
      [](Graph&, Expr x, Expr y) { return 1.0 - Less(x, y); },
      [](Graph&, Expr x, Expr y) { return Less(x, y) + LessEqual(x, y) + 5.0 * Equal(x, y) - 3.0; },
      [](Graph&, Expr x, Expr y) { return Select(1.0 - Less(x, y), x, y); },
      [](Graph&, Expr x, Expr y) { return Select(Less(x, y) * LessEqual(y, x) + Equal(x, y), x, y); },
      [](Graph& g, Expr x, Expr y) { return Select(Less(Less(x, y) + Less(y, x), Number(g, 1)), x, y); },
      [](Graph&, Expr x, Expr y) { return Less(x, y) * x; },
      [](Graph&, Expr x, Expr y) { return Maximum(Less(x, y) + 1.0, -Equal(x, y)); },
  };
  for (size_t k = 0; k < std::size(authors); ++k) {
    const Case one(kX, kY, authors[k]);
    for (const char* contract : {"f32;math=1", "f16acc;math=4", "acc=f32;mid=bf16;math=2"}) {
      const Evaluation got = one.Under(contract);
      const bool stores_x = k == 6 && std::string_view(contract).find("mid") != std::string_view::npos;
      for (const size_t rules : {0, 1, 2}) {
        if (stores_x && rules == 0) continue;  // of which it rounds nothing else
        EXPECT_EQ(got.reach[rules], std::vector<double>(kX.size())) << k << " " << contract << " " << rules;
      }
    }
  }
}

// Integers are exact as long as everything that may hold them does.
TEST(Conditions, IntegersAreExactUpToWhatTheArithmeticHolds) {
  const auto reach = [](double x, const char* contract) {
    return Case(
               {x}, {1}, [](Graph& g, Expr a, Expr) { return a - (Less(Number(g, 0), a) + Less(Number(g, 1), a)); },
               true)
        .ReachUnder(contract)[0];
  };
  EXPECT_EQ(reach(18, "f32;math=1"), 0);
  EXPECT_EQ(reach(0x1p24, "f32;math=1"), 0);
  EXPECT_GT(reach(0x1p24 + 2, "f32;math=1"), 0.5);
  EXPECT_EQ(reach(255, "acc=f32;mid=bf16;math=1"), 0);
  EXPECT_GT(reach(300, "acc=f32;mid=bf16;math=1"), 0.5);
  EXPECT_EQ(reach(2048, "f16acc;math=1"), 0);
  EXPECT_GT(reach(2050, "f16acc;math=1"), 0.5);
  const Evaluation golden = Case(
                                {0x1p24 + 2}, {1}, [](Graph&, Expr a, Expr) { return a * 3.0 - a; }, true)
                                .Under("f32");
  EXPECT_EQ(golden.reach[1][0], 0);
}

// A kernel may compute exp(a - b) as a power of two of a c - b c, whose terms are rounded.
TEST(Conditions, IntegersThatAFunctionTakesRoundUnlessTheyAreTakenAsTheyAre) {
  const auto relative = [](const Author& author) {
    const Evaluation got = Case({127}, {1}, author, true).Under("f32;math=1");
    return got.reach[0][0] / got.value[0];
  };
  const double distance = 100 * 0x1p-24;
  EXPECT_GT(relative([](Graph&, Expr a, Expr) { return Exp(a - 100.0); }), distance);
  EXPECT_GT(relative([](Graph& g, Expr a, Expr y) { return Exp(Select(y, a - 100.0, Number(g, 1))); }), distance);
  EXPECT_LT(relative([](Graph&, Expr a, Expr) { return Exp(Strict(a - 100.0)); }), 4 * 0x1p-24);
  EXPECT_LT(relative([](Graph&, Expr a, Expr) { return Exp(Less(Const(*a.graph, 3), a)); }), 4 * 0x1p-24);
}

// Places are computed in integers, or in single precision at least, whatever partial results are stored in.
TEST(Conditions, OfIndicesAreExactWhateverIsStored) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 600);
  const Expr x = AddInput(graph, "x", n);
  AddOutput(graph, "y", Select(LessEqual(Index(graph, n) * 2.0 + 1.0, Const(graph, 801)), x, Const(graph, 0)), n);
  for (const char* contract : {"acc=f32;mid=bf16;math=4", "f16acc;math=1"}) {
    const ErrorRules rules[] = {ContractRules(ParseDeclaration(contract).value(), {DType::kBF16}, false), SigmaRules()};
    const std::vector<std::vector<double>> inputs = {std::vector<double>(600, 1)};
    const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
    for (const std::vector<double>& reach : got.reach) EXPECT_EQ(reach, std::vector<double>(600)) << contract;
  }
}

// The sign of a zero that is computed is any, and so is that of what it divides.
TEST(Conditions, NoSignOfAComputedZeroIsPromised) {
  const auto reach = [](const Author& author) { return Case({-0.0}, {0.0}, author).Under("f32;math=1").reach; };
  EXPECT_EQ(reach([](Graph& g, Expr x, Expr) { return Number(g, 1) / x; })[0][0], 0);
  EXPECT_EQ(reach([](Graph&, Expr x, Expr) { return Rsqrt(-x); })[0][0], 0);
  for (const Author& author : {Author([](Graph&g, Expr x, Expr y) { return Number(g, 1) / (x - y); }),
                               Author([](Graph&g, Expr x, Expr) { return Number(g, 1) / (x + x); }),
                               Author([](Graph&g, Expr x, Expr y) { return Number(g, 1) / Maximum(x, y); }),
                               Author([](Graph&, Expr x, Expr y) { return Rsqrt(x * y); })}) {
    EXPECT_EQ(reach(author)[0][0], kInfinity);
    EXPECT_EQ(reach(author)[1][0], 0) << "the golden value is the graph's own";
  }
}

// A factor may be distributed over them: 1 x + c (y - x) for (1 - c) x + c y.
TEST(Conditions, RoundWhereRealNumbersJoinThem) {
  const Case blend({3, 0.1}, {1, 0.7}, [](Graph& g, Expr x, Expr y) {
    const Expr c = Less(Number(g, 0.5), y);
    return (1.0 - c) * x + c * y;
  });
  const std::vector<double> reach = blend.ReachUnder("f32;math=1");
  const std::vector<double>& x = blend.inputs[0];
  const std::vector<double>& y = blend.inputs[1];
  for (size_t i = 0; i < x.size(); ++i) {
    const float a = static_cast<float>(x[i]), b = static_cast<float>(y[i]), mixed = a + (b - a);
    EXPECT_LE(std::fabs(mixed - y[i]), reach[i] + std::fabs(y[i]) * 0x1p-24);
  }
}

TEST(Conditions, SumsAndProductsOfThemAreExact) {
  const auto reach = [](const std::function<Expr(Expr, Axis)>& author, const char* contract) {
    Graph graph;
    const Axis r = AddAxis(graph, "r", 1), n = AddAxis(graph, "n", 600);
    const Expr x = AddInput(graph, "x", r + n);
    AddOutput(graph, "y", author(Less(Const(graph, 0.25), x), n), r);
    std::vector<double> values(600);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 1 : 0.5;
    const ErrorRules rules[] = {ContractRules(ParseDeclaration(contract).value(), {DType::kF32}, false)};
    return Evaluate(graph, graph.outputs[0], std::vector<std::vector<double>>{values}, false, rules).reach[0][0];
  };
  const auto last = [](Expr x, Axis n) {
    const Axis one = AddAxis(*x.graph, "one", 1);
    return Sum(At(CumSum(x, n), n, one, [](int64_t) { return 599; }), one);
  };
  EXPECT_EQ(reach([](Expr x, Axis n) { return Sum(x, n); }, "f32;math=1"), 0);
  EXPECT_GT(reach([](Expr x, Axis n) { return Sum(x, n); }, "bf16acc;math=1"), 1);
  EXPECT_EQ(reach([](Expr x, Axis n) { return Prod(x, n); }, "bf16acc;math=1"), 0);
  EXPECT_EQ(reach([](Expr x, Axis n) { return Max(x, n) - Min(x, n); }, "bf16acc;math=1"), 0);
  EXPECT_EQ(reach(last, "f32;math=1"), 0);
  EXPECT_GT(reach([](Expr x, Axis n) { return Sum(x, n) * 0.3; }, "f32;math=1"), 599 * 0.3 * 0x1p-24);
}

// 0.1 + 0.2 and 0.3 in single precision: a kernel may take either branch.
TEST(Conditions, OnUncertainOperandsLeaveBothBranches) {
  const Author author = [](Graph& g, Expr x, Expr y) {
    return Select(Less(x + y, Number(g, 0.3)), Number(g, 5), 2.0 * y);
  };
  const Case one({0.1, 0.1, 0.5}, {0.2, 0.1, 0.1}, author);
  const Evaluation got = one.Under("f32;math=1");
  EXPECT_NEAR(got.reach[0][0], 5 - 0.4, 1e-6);
  EXPECT_LT(got.reach[0][1], 1e-6);
  EXPECT_LT(got.reach[0][2], 1e-6);
  EXPECT_EQ(got.reach[2][0], kInfinity) << "its deviation is not known";
  EXPECT_LT(got.reach[2][2], 1e-6);
}

// One certain operand of a conjunction decides.
TEST(Conditions, AreJoinedAsFarAsTheyAreCertain) {
  const auto reach = [](const Author& author) { return Case({0.1}, {0.2}, author).ReachUnder("f32;math=1")[0]; };
  const auto doubtful = [](Graph& g, Expr x, Expr y) { return Less(x + y, Number(g, 0.3)); };
  EXPECT_EQ(reach(doubtful), 1);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return And(doubtful(g, x, y), Less(y, x)); }), 0);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return And(Less(x, y), doubtful(g, x, y)); }), 1);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return Or(doubtful(g, x, y), Less(x, y)); }), 0);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return Or(Less(y, x), doubtful(g, x, y)); }), 1);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return Not(doubtful(g, x, y)); }), 1);
  EXPECT_EQ(reach([&](Graph& g, Expr x, Expr y) { return doubtful(g, x, y) + Less(x, y); }), 1);
  EXPECT_EQ(reach([&](Graph&, Expr x, Expr y) { return NotEqual(x + y, x + y); }), 1)
      << "two numbers, which only happen to be computed alike";
  EXPECT_EQ(reach([&](Graph&, Expr x, Expr y) {
              const Expr z = x + y;
              return NotEqual(z, z);
            }),
            0);
}

// An infinity or NaN in one branch is promised where the condition is certain alone.
TEST(Conditions, PromiseNoInfinityThatTheyMayNotChoose) {
  const Case one({0.1, 0.1, 0.1}, {0.2, 0.1, 0.5}, [](Graph& g, Expr x, Expr y) {
    return Select(Less(x + y, Number(g, 0.3)), Number(g, 1) / (x - x), y);
  });
  const Evaluation got = one.Under("f32;math=1");
  EXPECT_EQ(got.reach[0][0], kInfinity);
  EXPECT_EQ(got.value[1], kInfinity);
  EXPECT_LT(got.reach[0][2], kInfinity);
  const Case overflowing({1e30}, {1e30},
                         [](Graph& g, Expr x, Expr y) { return Select(Less(x * y, Number(g, 9)), x, y); });
  EXPECT_EQ(overflowing.ReachUnder("f32;math=1")[0], 0) << "either branch is the same";
}

// Simulated kernels of all kinds are accepted near every threshold.
TEST(Conditions, CorrectImplementationsStayWithinTheBound) {
  const Author author = [](Graph& g, Expr x, Expr y) {
    const Expr product = x * y, low = Less(product, Number(g, 0.3)), high = LessEqual(Number(g, 0.7), product);
    const Expr count = low + high + Equal(x * 3.0, y);
    return Select(And(Not(low), Not(high)), product + count, Select(Or(high, Less(x, y)), x, (1.0 - low) * y - count));
  };
  std::vector<double> x, y;
  for (int i = 1; i < 200; ++i) {
    x.push_back(static_cast<float>(i * 0.01));
    y.push_back(static_cast<float>((i % 3 == 0 ? 0.3 : i % 3 == 1 ? 0.7 : 3 * i * i * 1e-4) / (i * 0.01)));
  }
  const Case one(x, y, author);
  for (const char* declaration : {"f32;math=1", "acc=f32;mid=bf16;math=2", "f16acc;math=1"}) {
    const Contract contract = ParseDeclaration(declaration).value();
    const Evaluation got = one.Under(declaration);
    for (uint64_t run = 0; run < 300; ++run) {
      const std::vector<double> z =
          test::Simulate(one.graph, one.graph.outputs[0], one.inputs, one.types, contract, run);
      for (size_t i = 0; i < z.size(); ++i) {
        ASSERT_LE(std::fabs(z[i] - got.value[i]), got.reach[0][i] + got.reach[1][i]) << declaration << " " << i;
      }
    }
  }
}

// Rows of a table by the place of the larger score.
Evaluation Routed(const std::vector<double>& scores, const std::vector<double>& table, bool any_tie,
                  bool adds = false) {
  Graph graph;
  const Axis e = AddAxis(graph, "e", 3), k = AddAxis(graph, "k", 1), d = AddAxis(graph, "d", 2),
             n = AddAxis(graph, "n", 2);
  const Expr x = AddInput(graph, "x", e + n), t = AddInput(graph, "t", e + d);
  const Expr place = TopK(Sum(x, n), e, k, {.any_tie = any_tie}).places;
  if (!adds) AddOutput(graph, "y", Gather(t, e, place), k + d);
  if (adds) AddOutput(graph, "y", ScatterAdd(t, Index(graph, k) + Index(graph, d) + 1.0, place, e), e + d);
  std::vector<double> halves;
  for (const double score : scores) halves.insert(halves.end(), {score - 1, 1});
  const ErrorRules rules[] = {ContractRules(ParseDeclaration("f32;math=1").value(), {DType::kF64, DType::kF32}, true),
                              GoldenRules(true), SigmaRules()};
  return Evaluate(graph, graph.outputs[0], std::vector<std::vector<double>>{halves, table}, true, rules);
}

// All rows of the table are accepted then: which of them may be meant is not followed up.
TEST(ComputedPlaces, AllRowsThatMayBeMeantAreRight) {
  const std::vector<double> table = {1, 2, 10, 20, 100, 100};
  const Evaluation doubtful = Routed({1, 1 + 0x1p-30, 0.5}, table, false);
  EXPECT_EQ(doubtful.value, (std::vector<double>{10, 20}));
  EXPECT_EQ(doubtful.reach[0], (std::vector<double>{90, 80}));
  EXPECT_EQ(doubtful.reach[1], (std::vector<double>{0, 0}));
  EXPECT_EQ(doubtful.reach[2][0], kInfinity);
  const Evaluation certain = Routed({1, 2, 0.5}, table, false);
  EXPECT_EQ(certain.reach[0], (std::vector<double>{0, 0}));
  EXPECT_EQ(certain.reach[2], (std::vector<double>{0, 0}));
  EXPECT_EQ(Routed({2, 2, 0.5}, table, true).reach[1], (std::vector<double>{99, 98})) << "equal scores in any order";
  EXPECT_EQ(Routed({1, 1 + 0x1p-30, 0.5}, {1, 2, 10, kInfinity, 100, 100}, false).reach[0],
            (std::vector<double>{90, kInfinity}));
}

TEST(ComputedPlaces, ANumberMayBeAddedAtEachOfThem) {
  const std::vector<double> table = {1, 2, 10, 20, 4, 8};
  const Evaluation doubtful = Routed({1, 1 + 0x1p-30, 0.5}, table, false, true);
  EXPECT_EQ(doubtful.value, (std::vector<double>{1, 2, 11, 22, 4, 8}));
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(doubtful.reach[0][i], i % 2 + 1.0, 1e-4) << i;
  const Evaluation certain = Routed({1, 2, 0.5}, table, false, true);
  EXPECT_LT(certain.reach[0][3], 1e-5);
  EXPECT_EQ(certain.reach[0][0], 0);
}

}  // namespace
}  // namespace assay::formula

// SPDX-License-Identifier: Apache-2.0
// Mistakes of a formula's author: the message names the operator, what is wrong and what to do.
#include <gtest/gtest.h>

#include <functional>

#include "ops/formula/formula_error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// A definition that is right, as far as it goes.
struct Start {
  explicit Start(Definition& d) : rows(d.Axis("rows", "rows of x")), n(d.Axis("n", "elements of a row")) {
    d.SetDoc("y = x / norm");
    x = d.In("x", rows + n);
    norm = Sqrt(Sum(x * x, n));
  }
  Axis rows, n;
  Expr x, norm;
};

struct Mistake {
  std::string name;
  std::function<void(Definition&, const Start&)>
      make;  // behind Start; the output y comes after it, where there is none
  std::vector<std::string> says;
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

using D = Definition;
const Mistake kMistakes[] = {
    {"SameKey", [](D& d, const Start&) { d.Axis("n", "again"); }, {"attribute n is stated twice", "another name"}},
    {"ReservedKey", [](D& d, const Start&) { d.Axis("fill", "axis"); }, {"attribute fill", "take another name"}},
    {"OddKey", [](D& d, const Start&) { d.Axis("a b", "axis"); }, {"attribute 'a b'", "letters, digits and _"}},
    {"KeyWithoutDoc", [](D& d, const Start&) { d.Axis("m", ""); }, {"attribute m has no doc"}},
    {"SameInput", [](D& d, const Start& s) { d.In("x", s.n); }, {"input x: another operand has this name"}},
    {"OddOutput", [](D& d, const Start& s) { d.Out("a b=c", s.norm, s.rows); }, {"output 'a b=c'", "letters"}},
    {"OutputAsInput", [](D& d, const Start& s) { d.Out("x", s.norm, s.rows); }, {"output x: another operand"}},
    {"TwoFirstOutputs",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows), d.Out("z", s.norm, s.rows); },
     {"output z", "d.OutLike"}},
    {"SameOutput",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows), d.OutLike("y", s.norm, s.rows, "x"); },
     {"output y: another operand has this name"}},
    {"SameOptionalOutput",
     [](D& d, const Start& s) {
       d.Out("y", s.norm, s.rows);
       d.OutIf(d.Flag("more", "1: more"), "y", s.norm, s.rows);
     },
     {"output y: another operand has this name"}},
    {"AxesOfOutput",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows + s.n); },
     {"output y: is stated along [rows,n], but its value has the axes [rows]"}},
    {"AxesOfOptionalOutput",
     [](D& d, const Start& s) {
       d.Out("y", s.norm, s.rows);
       d.OutIf(d.Flag("more", "1: more"), "norm", s.norm, s.n);
     },
     {"output norm: is stated along [n], but its value has the axes [rows]"}},
    {"AxisTwice", [](D& d, const Start& s) { d.In("w", s.n + s.n); }, {"input w: names an axis of [n] twice"}},
    {"LikeWhom",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows), d.OutLike("z", s.norm, s.rows, "w"); },
     {"like w, which is no input; name one"}},
    {"InPlace",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows), d.OutInPlace("z", s.norm, "x"); },
     {"output z: is stated along [rows,n], but its value has the axes [rows]"}},
    {"FirstIsLike", [](D& d, const Start& s) { d.OutLike("y", s.norm, s.rows, "x"); }, {"output y", "d.Out "}},
    {"PlacesOfNumbers",
     [](D& d, const Start& s) { d.Out("y", s.norm, s.rows), d.OutPlaces("p", s.norm, s.rows); },
     {"output p: d.OutPlaces takes the places of a TopK"}},
    {"UnknownType",
     [](D& d, const Start&) {
       d.SetTypes({"f32", "foo"});
     },
     {"d.SetTypes has 'foo'", "f32"}},
    {"ManyTypes",
     [](D& d, const Start&) { d.SetTypes({"f32-f32-f32-f32"}); },
     {"d.SetTypes has 'f32-f32-f32-f32', of 4 types", "2: of the inputs, then of y"}},
    {"NoTypes", [](D& d, const Start&) { d.SetTypes({}); }, {"has no types; name some"}},
    {"TypesTwice",
     [](D& d, const Start&) {
       d.SetTypes({"f32", "f32"});
     },
     {"d.SetTypes has 'f32' twice"}},
    {"PlacesOfFloats", [](D& d, const Start& s) { d.InPlaces("at", s.rows, s.n); }, {"at are places", "integers"}},
    {"NoDoc", [](D& d, const Start&) { d.SetDoc(""); }, {"has no doc; say with d.SetDoc"}},
    {"RealDefault", [](D& d, const Start&) { d.Real("eps", "abc", "added"); }, {"attribute eps: its default 'abc'"}},
    {"IntegerDefault", [](D& d, const Start&) { d.Integer("k", "1.5", "k"); }, {"attribute k: its default '1.5'"}},
    {"NoChoices", [](D& d, const Start&) { d.Choice("mode", {}, "how"); }, {"attribute mode: has no choices"}},
    {"OddChoice", [](D& d, const Start&) { d.Choice("mode", {"a,b"}, "how"); }, {"attribute mode: choice 'a,b'"}},
    {"NoReason", [](D& d, const Start&) { d.RefuseIf(true, ""); }, {"d.RefuseIf has no reason"}},
    {"NoDivisor", [](D& d, const Start& s) { d.DerivedAxis("n/0", s.n, 1, 0); }, {"axis n/0", "must be positive"}},
    {"TwoThatMayLack",
     [](D& d, const Start& s) { d.InIfListed("a", s.n), d.InIfListed("b", s.n); },
     {"input b: a may be absent already"}},
    {"ScheduleTwice",
     [](D& d, const Start&) {
       d.Schedule(Algorithm::kOnePass, [] {});
       d.Schedule(Algorithm::kOnePass, [] {});
     },
     {"schedule onepass", "each of the others once"}},
    {"ReducedAxis",
     [](D& d, const Start& s) { d.Out("y", Sum(s.norm, s.n), s.rows); },
     {"Sum: goes along [n], but its operand has the axes [rows]. Take some of these"}},
    {"NothingReduced", [](D& d, const Start& s) { d.Out("y", Mean(s.x, {}), s.rows); }, {"Sum: no axis is named"}},
    {"NoAxis", [](D& d, const Start& s) { d.Out("y", Sum(s.x, Axis{}), s.rows); }, {"d.Axis and d.DerivedAxis"}},
    {"NoExpression",
     [](D& d, const Start& s) { d.Out("y", s.norm * Expr{}, s.rows); },
     {"*: an operand is no expression of this definition"}},
    {"StrictProduct", [](D&, const Start& s) { Strict(s.x * s.x); }, {"Strict: takes a sum or a difference"}},
    {"RecomputedMean", [](D&, const Start& s) { Recomputed(Mean(s.x, s.n)); }, {"Recomputed(Sum(...)) / n"}},
    {"ReshapeOfOthers",
     [](D& d, const Start& s) { Reshape(s.norm, s.rows, s.n + d.DerivedAxis("m", s.n, 1)); },
     {"Reshape: makes 4 elements of 2; give axes of as many"}},
    {"ReshapeToItself",
     [](D&, const Start& s) { Reshape(s.x, s.rows, s.n); },
     {"Reshape: makes [n] of [rows], of an operand with the axes [rows,n]"}},
    {"GatherAtFractions",
     [](D& d, const Start& s) {
       const Axis k = d.DerivedAxis("k", s.n, 1);
       Gather(s.x, s.n, 0.5 * TopK(s.norm, s.rows, k, {}).places);
     },
     {"Gather: the places are real numbers, which may be fractions. Take places of a TopK"}},
    {"ScatterAddAtFractions",
     [](D&, const Start& s) { ScatterAdd(s.norm, s.x, Mean(Index(*s.x.graph, s.n), s.n), s.rows); },
     {"ScatterAdd: the places are real numbers"}},
    {"ScatterAddElsewhere",
     [](D& d, const Start& s) { ScatterAdd(s.norm, s.norm, d.InPlaces("at", s.n, s.rows), s.n); },
     {"ScatterAdd: the places have the axes [n], the numbers that are added [rows]"}},
    {"TopKAlongItself", [](D&, const Start& s) { TopK(s.x, s.n, s.rows, {}); }, {"TopK", "[rows]", "axis of its own"}},
    {"RunsAlongNothing", [](D&, const Start& s) { CumSum(s.norm, s.n); }, {"CumSum: goes along [n]"}},
    {"PlaceBeyond",
     [](D&, const Start& s) { At(s.x, s.n, s.n, [](int64_t) { return 9; }); },
     {"At: the place of 0", "9"}},
    {"RoundToIntegers", [](D&, const Start& s) { Round(s.x, DType::kI8); }, {"Round: stores in i8"}},
};

Definition::Author AuthorOf(const Mistake& mistake) {
  return [&mistake](Definition& d) {
    const Start start(d);
    mistake.make(d, start);
    if (d.graph().outputs.empty()) d.Out("y", start.norm, start.rows);
  };
}

std::string MessageOf(const Definition::Author& author) try {
  const FormulaOperator op("mistaken", author);
  return "";
} catch (const FormulaError& error) {
  return error.what();
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreSaidWithTheOperatorsName) {
  const std::string message = MessageOf(AuthorOf(GetParam()));
  EXPECT_TRUE(message.starts_with("operator mistaken: ")) << message;
  for (const std::string& part : GetParam().says) EXPECT_NE(message.find(part), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Definitions, Mistakes, testing::ValuesIn(kMistakes),
                         [](const auto& of) { return of.param.name; });

TEST(Mistake, WithoutAnOutputOrAnInput) {
  EXPECT_EQ(MessageOf([](Definition& d) { const Start start(d); }),
            "operator mistaken: has no output; state the first one with d.Out");
  EXPECT_EQ(MessageOf([](Definition& d) { d.SetDoc("y = 1"); }),
            "operator mistaken: has no input; state at least one with d.In");
  EXPECT_NE(MessageOf([](Definition& d) {
              const Start start(d);
              if (d.RefuseIf(start.n.extent == 2, "n must not be 2")) return;
            }).find("where all extents are 2, as in its schema"),
            std::string::npos);
  EXPECT_EQ(MessageOf(AuthorOf({"None", [](D&, const Start&) {}, {}})), "");
}

// The message for a mistake that only the extents of a case reveal, when the case is bound.
std::string MessageOfCase(const Definition::Author& author) {
  const FormulaOperator op("mistaken", author);
  const CaseSpec spec{.op = "mistaken", .dtypes = {DType::kF32}, .attrs = {{"rows", "3"}, {"n", "5"}}};
  try {
    const auto bound = op.Bind(spec);
    return bound ? "" : bound.error().message;
  } catch (const FormulaError& error) {
    return error.what();
  }
}

TEST(Mistake, OfSomeExtents) {
  const auto in_large = [](const std::function<void(Definition&, const Start&)>& make) {
    return [make](Definition& d) {
      const Start start(d);
      if (start.n.extent > 2) return make(d, start);
      d.Out("y", start.norm, start.rows);
    };
  };
  EXPECT_EQ(MessageOfCase(in_large([](Definition&, const Start&) {})),
            "operator mistaken: has no output; state the first one with d.Out");
  EXPECT_EQ(MessageOfCase(in_large([](Definition& d, const Start&) { d.RefuseIf(true, "never"); })), "mistaken: never");
  const std::string more_attributes =
      MessageOfCase(in_large([](Definition& d, const Start&) { d.Real("eps", "1", "added"); }));
  EXPECT_NE(more_attributes.find("operator mistaken: attribute eps: a case asks for it"), std::string::npos);
  const std::string more_inputs =
      MessageOfCase(in_large([](Definition& d, const Start& s) { d.Out("y", s.norm * d.In("w", s.rows), s.rows); }));
  EXPECT_NE(more_inputs.find("operator mistaken"), std::string::npos) << more_inputs;
  EXPECT_NE(more_inputs.find("has the inputs x, w, but the schema x"), std::string::npos) << more_inputs;
}

// Two operators of one name, and one that is wrong, are not in the registry; what is wrong is.
TEST(Mistake, IsKeptByTheRegistry) {
  OperatorRegistry registry;
  const auto right = [](Definition& d) {
    const Start start(d);
    d.Out("y", start.norm, start.rows);
  };
  registry.Add(std::make_unique<FormulaOperator>("twice", right));
  registry.Add(std::make_unique<FormulaOperator>("twice", right));
  EXPECT_EQ(registry.All().size(), 1U);
  ASSERT_EQ(registry.mistakes().size(), 1U);
  EXPECT_EQ(registry.mistakes()[0].op, "twice");
  EXPECT_EQ(registry.mistakes()[0].text, "operator twice: two definitions have this name; give one of them another");
}

TEST(FormulaRegistry, HoldsNoMistakes) {
  for (const auto& [op, text] : OperatorRegistry::Global().mistakes()) ADD_FAILURE() << text;
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Operators from data are those that C++ states: golden values, certified errors and bounds to the bit.
#include "ops/definition_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRows = R"("axes": [{"name": "rows"}, {"name": "n"}], )";
constexpr const char* kRow = R"("axes": ["rows", "n"]})";

std::string FileOf(const std::string& operators) {
  return R"({"assay_definitions": 1, "operators": [)" + operators + "]}";
}

std::string RmsNorm(const std::string& name) {
  return R"({"op": ")" + name + R"(", "doc": "rms norm", "types": ["f32", "bf16", "f64"], )" + kRows +
         R"("attributes": [{"name": "eps", "kind": "real", "default": "1e-06", "doc": "added", "positive": true}],
            "inputs": [{"name": "x", )" +
         kRow + R"(, {"name": "gamma", "role": "weight", "axes": ["n"]}],
            "nodes": [{"name": "square", "f": "multiply", "of": ["x", "x"]},
                      {"name": "mean", "f": "mean", "of": ["square"], "axes": ["n"]},
                      {"name": "moved", "f": "add", "of": ["mean", "eps"]},
                      {"name": "scale", "f": "rsqrt", "of": ["moved"]},
                      {"name": "normal", "f": "multiply", "of": ["x", "scale"]},
                      {"name": "z", "f": "multiply", "of": ["normal", "gamma"]}],
            "outputs": [{"name": "y", "is": "z", )" +
         kRow + "]}";
}

constexpr const char* kGated = R"({"op": "gated", "doc": "y = g sigmoid(g) u, halves of x",
    "axes": [{"name": "rows"}, {"name": "n"}, {"name": "both", "of": "n", "times": 2}],
    "inputs": [{"name": "x", "axes": ["rows", "both"]}],
    "nodes": [{"name": "g", "f": "at", "of": ["x"], "axes": ["both", "n"]},
              {"name": "u", "f": "at", "of": ["x"], "axes": ["both", "n"], "start": ["n"]},
              {"name": "s", "f": "sigmoid", "of": ["g"]},
              {"name": "gs", "f": "multiply", "of": ["g", "s"]},
              {"name": "z", "f": "multiply", "of": ["gs", "u"]}],
    "outputs": [{"name": "y", "is": "z", "axes": ["rows", "n"]}]})";

constexpr const char* kGelu =
    R"({"op": "normal_gate", "doc": "x times the normal distribution function", "axes": [{"name": "n"}],
    "inputs": [{"name": "x", "axes": ["n"]}],
    "nodes": [{"name": "half", "f": "multiply", "of": ["0.5", "x"]},
              {"name": "r", "f": "multiply", "of": ["x", "-0.70710678118654752440084436210484903928"]},
              {"name": "phi", "f": "one_minus_erf", "of": ["r"]},
              {"name": "z", "f": "multiply", "of": ["half", "phi"]}],
    "outputs": [{"name": "y", "is": "z", "axes": ["n"]}]
})";

// The case of one operator, given as one of another.
void ExpectEqual(const std::string& id, const std::string& stated, const std::string& written) {
  SCOPED_TRACE(id);
  const auto bound_of = [&](const std::string& name) {
    const Operator* op = OperatorRegistry::Global().Find(name);
    return std::pair(op, *op->Bind(*ParseId(name + id)));
  };
  const auto [op, problem] = bound_of(stated);
  const auto [other, same] = bound_of(written);
  const std::vector<Tensor> inputs = op->MakeInputs(problem);
  const Golden golden = op->ComputeGolden(problem, 0, inputs, Tier::kFast);
  const Golden again = other->ComputeGolden(same, 0, inputs, Tier::kFast);
  EXPECT_EQ(golden.value, again.value);
  const Contract contract = *ParseDeclaration("acc=f32");
  const BoundModel bound = op->Bound(problem, 0, golden, contract),
                   bound_again = other->Bound(same, 0, again, contract);
  for (int64_t i = 0; i < golden.size(); ++i) EXPECT_EQ(golden.error[i], again.error[i]) << i;
  for (int64_t i = 0; i < golden.size(); ++i) EXPECT_EQ(bound.At(golden, i), bound_again.At(again, i)) << i;
}

TEST(DefinitionFile, IsTheOperatorThatCppStates) {
  const auto added = AddDefinitions(FileOf(RmsNorm("my_norm") + "," + kGated + "," + kGelu), "ops.json");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_THAT(*added, ElementsAre("my_norm", "gated", "normal_gate"));
  ExpectEqual("/f32/rows=3,n=70/fill=normal/seed=1", "rms_norm", "my_norm");
  ExpectEqual("/bf16/rows=2,n=130,eps=0.5/fill=lognormal/seed=2", "rms_norm", "my_norm");
  ExpectEqual("/f32/rows=3,n=70/fill=normal/seed=1", "silu_and_mul", "gated");
  ExpectEqual("/f64/n=99/fill=outlier/seed=1", "gelu", "normal_gate");
}

// y = x where lo < x <= hi or x = 3, as many as there are in a row of 4, and their number.
constexpr const char* kBand = R"({"op": "band", "doc": "what lies in a band", "types": ["f32"],
    "axes": [{"name": "rows"}, {"name": "4", "extent": 4}, {"name": "one", "extent": 1}],
    "inputs": [{"name": "x", "axes": ["rows", "4"]}],
    "nodes": [{"name": "above", "f": "less", "of": ["-1", "x"]},
              {"name": "below", "f": "less_equal", "of": ["x", "1"]},
              {"name": "inside", "f": "logical_and", "of": ["above", "below"]},
              {"name": "is3", "f": "equal", "of": ["x", "3"]},
              {"name": "no3", "f": "not_equal", "of": ["x", "3"]},
              {"name": "yes3", "f": "logical_not", "of": ["no3"]},
              {"name": "also3", "f": "logical_or", "of": ["is3", "yes3"]},
              {"name": "kept", "f": "logical_or", "of": ["inside", "also3"]},
              {"name": "z", "f": "where", "of": ["kept", "x", "0"]},
              {"name": "count", "f": "sum", "of": ["kept"], "axes": ["4"]}],
    "outputs": [{"name": "y", "is": "z", "axes": ["rows", "4"]}, {"name": "n", "is": "count", "axes": ["rows", "one"]}]})";

// Two parts of n behind each other, in reverse, and as rows of pairs.
constexpr const char* kPlaced = R"({"op": "placed", "doc": "parts elsewhere", "types": ["f64"],
    "axes": [{"name": "n"}, {"name": "2*n", "of": "n", "times": 2}, {"name": "2", "extent": 2}, {"name": "m", "of": "n", "times": 1}],
    "inputs": [{"name": "a", "axes": ["n"]}, {"name": "b", "axes": ["n"]}],
    "nodes": [{"name": "first", "f": "at", "of": ["a"], "axes": ["n", "2*n"]},
              {"name": "last", "f": "at", "of": ["b"], "axes": ["n", "2*n"], "start": ["-n"]},
              {"name": "i", "f": "index", "of": [], "axes": ["2*n"]},
              {"name": "end", "f": "extent", "of": [], "axes": ["n"]},
              {"name": "is_first", "f": "less", "of": ["i", "end"]},
              {"name": "both", "f": "where", "of": ["is_first", "first", "last"]},
              {"name": "back", "f": "at", "of": ["both"], "axes": ["2*n", "2*n"], "start": ["2*n", "-1"], "stride": -1},
              {"name": "pairs", "f": "reshape", "of": ["back"], "axes": ["2*n"], "to": ["m", "2"]}],
    "outputs": [{"name": "y", "is": "pairs", "axes": ["m", "2"]}]})";

TEST(DefinitionFile, ConditionsAreDrawnAsOnesAndZeros) {
  std::string text = RmsNorm("conditional");
  text.replace(text.find(R"("weight")"), 8, R"("condition")");
  ASSERT_TRUE(AddDefinitions(FileOf(text), "conditional.json"));
  const Operator& op = *OperatorRegistry::Global().Find("conditional");
  for (const char* fill : {"normal", "special", "lognormal"}) {
    const Problem problem = *op.Bind(*ParseId(std::string("conditional/f32/rows=2,n=64/fill=") + fill + "/seed=0"));
    const std::vector<double> drawn = op.MakeInputs(problem)[1].ToDoubles();
    const auto ones = std::ranges::count(drawn, 1.0), zeros = std::ranges::count(drawn, 0.0);
    EXPECT_EQ(ones + zeros, 64) << fill;
    if (std::string_view(fill) == "normal") {
      EXPECT_GT(std::min(ones, zeros), 8);
    }
  }
}

TEST(DefinitionFile, PutsElementsElsewhere) {
  ASSERT_TRUE(AddDefinitions(FileOf(kPlaced), "placed.json"));
  const Operator& op = *OperatorRegistry::Global().Find("placed");
  const Problem problem = *op.Bind(*ParseId("placed/f64/n=3/fill=normal/seed=0"));
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{1, 2, 3});
  inputs[1].SetDoubles(std::vector<double>{4, 5, 6});
  EXPECT_EQ(problem.outputs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(op.ComputeGolden(problem, 0, inputs, Tier::kFast).value, (std::vector<double>{6, 5, 4, 3, 2, 1}));
}

TEST(DefinitionFile, HasConditionsAndAxesOfOneExtent) {
  ASSERT_TRUE(AddDefinitions(FileOf(kBand), "band.json"));
  const Operator& op = *OperatorRegistry::Global().Find("band");
  const Problem problem = *op.Bind(*ParseId("band/f32/rows=2/fill=normal/seed=0"));
  EXPECT_EQ(problem.inputs[0].shape, (Shape{2, 4}));
  EXPECT_EQ(problem.outputs[1].shape, (Shape{2, 1}));
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{-1, -0.5, 1, 3, 1.5, 2, std::nan(""), 0});
  const Contract contract = *ParseDeclaration("acc=f32;mid=bf16");
  for (const size_t output : {0, 1}) {
    const Golden golden = op.ComputeGolden(problem, output, inputs, Tier::kFast);
    const std::vector<double> expected =
        output == 0 ? std::vector<double>{0, -0.5, 1, 3, 0, 0, 0, 0} : std::vector<double>{3, 1};
    EXPECT_EQ(golden.value, expected);
    const BoundModel bound = op.Bound(problem, output, golden, contract);
    for (int64_t i = 0; i < golden.size(); ++i) EXPECT_EQ(golden.error[i] + bound.At(golden, i), 0) << i;
  }
}

// Elements at places of two axes, the integer below a quotient, and outputs of other types.
constexpr const char* kCoded = R"({"op": "coded", "doc": "codes of what was chosen", "types": ["f32-u8"],
    "axes": [{"name": "a", "extent": 2}, {"name": "b", "extent": 2}, {"name": "n", "extent": 3}],
    "inputs": [{"name": "x", "axes": ["a", "b"]}],
    "nodes": [{"name": "chosen", "f": "take", "of": ["x"], "axes": ["a", "b"], "to": ["n"], "places": [3, -1, 1]},
              {"name": "code", "f": "nearest", "of": ["chosen"]},
              {"name": "half", "f": "floor_divide", "of": ["chosen", "2"]}],
    "outputs": [{"name": "y", "is": "code", "axes": ["n"]}, {"name": "z", "is": "half", "axes": ["n"], "type": "i32"},
                {"name": "same", "is": "chosen", "axes": ["n"]}]})";

TEST(DefinitionFile, TakesPlacesAndStatesTypes) {
  ASSERT_TRUE(AddDefinitions(FileOf(kCoded), "coded.json"));
  const Operator& op = *OperatorRegistry::Global().Find("coded");
  const Problem problem = *op.Bind(*ParseId("coded/f32-u8/-/fill=normal/seed=0"));
  EXPECT_EQ(problem.outputs[0].dtype, DType::kU8);
  EXPECT_EQ(problem.outputs[1].dtype, DType::kI32);
  EXPECT_EQ(problem.outputs[2].dtype, DType::kF32);
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{1, 2.5, 3, 7});
  const std::vector<double> expected[] = {{7, 0, 2}, {3, 0, 1}, {7, 0, 2.5}};
  for (const size_t output : {0, 1, 2})
    EXPECT_EQ(op.ComputeGolden(problem, output, inputs, Tier::kFast).value, expected[output]);
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = kCoded;
    text.replace(text.find(from), from.size(), to);
    text.replace(text.find("coded"), 5, "recoded");
    const auto added = AddDefinitions(FileOf(text), "bad.json");
    return added ? "" : added.error().message;
  };
  EXPECT_THAT(refused("[3, -1, 1]", "[4, -1, 1]"),
              HasSubstr("node chosen: Take: a place is 4; places are -1, for zero, and 0 to 3"));
  EXPECT_THAT(refused("[3, -1, 1]", "[3, -1]"), HasSubstr("has 2 places for 3 elements"));
  EXPECT_THAT(refused("[3, -1, 1]", "[3, 0.5, 1]"), HasSubstr("places[1] is 0.5, and has to be an integer"));
  EXPECT_THAT(refused(R"("f": "nearest")", R"("f": "nearest", "places": [1])"),
              HasSubstr("nearest has no 'places'; take has"));
  EXPECT_THAT(refused(R"("type": "i32")", R"("type": "i33")"), HasSubstr("output z: no type 'i33'"));
  EXPECT_THAT(refused(R"("is": "code", )", R"("is": "code", "type": "u8", )"),
              HasSubstr("output y: the list of types has that"));
}

TEST(DefinitionFile, NumbersBeyondTheEndsOfWideTypesDoNotSaturate) {
  for (const char* type : {"i64", "f32", "i16"}) {
    const std::string text = std::string(R"({"op": "ends_of_)") + type + R"(", "doc": "y = x", "types": ["f32-)" +
                             type +
                             R"("], "axes": [{"name": "n"}], "inputs": [{"name": "x", "axes": ["n"]}], "nodes": [],
                               "outputs": [{"name": "y", "is": "x", "axes": ["n"], "saturates": true}]})";
    const auto added = AddDefinitions(FileOf(text), "wide.json");
    ASSERT_FALSE(added) << type;
    EXPECT_THAT(added.error().message, HasSubstr("e4m3 and e5m2 saturate"));
  }
}
TEST(DefinitionFile, AddedTwiceIsOneOperator) {
  ASSERT_TRUE(AddDefinitions(FileOf(RmsNorm("twice")), "a.json"));
  EXPECT_TRUE(AddDefinitions(FileOf(RmsNorm("twice")), "b.json"));
  std::string other = RmsNorm("twice");
  other.replace(other.find("1e-06"), 5, "1e-05");
  const auto refused = AddDefinitions(FileOf(other), "c.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("c.json: there is an operator twice already"));
  EXPECT_FALSE(AddDefinitions(FileOf(RmsNorm("softmax")), "d.json"));
}

TEST(DefinitionFile, MistakesAreNamedWithTheirPlace) {
  const auto error = [](const std::string& text) {
    const auto added = AddDefinitions(text, "bad.json");
    return added ? "" : added.error().message;
  };
  const auto altered = [&](const std::string& from, const std::string& to) {
    std::string text = RmsNorm("bad");
    text.replace(text.find(from), from.size(), to);
    return error(FileOf(text));
  };
  EXPECT_THAT(error("[1, 2"), HasSubstr("bad.json is no JSON"));
  EXPECT_THAT(error(R"({"assay_definitions": 2, "operators": []})"), HasSubstr("version 2"));
  EXPECT_THAT(altered(R"("f": "mean")", R"("f": "meen")"), HasSubstr("node mean: no function 'meen'; there are abs"));
  EXPECT_THAT(altered(R"(["mean", "eps"])", R"(["mean"])"), HasSubstr("node moved: add takes 2 values, and gets 1"));
  EXPECT_THAT(altered(R"(["mean", "eps"])", R"(["mean", "epsilon"])"), HasSubstr("'epsilon' is no input, attribute"));
  EXPECT_THAT(altered(R"("of": ["square"], "axes": ["n"])", R"("of": ["square"])"),
              HasSubstr("mean takes at least one axis"));
  EXPECT_THAT(altered(R"("f": "rsqrt")", R"("f": 3)"), HasSubstr("operators[0].nodes[3].f is 3, and has to be a text"));
  EXPECT_THAT(altered(R"("is": "z")", R"("is": "mean")"), HasSubstr("output y: "));
  EXPECT_THAT(altered(R"("f": "mean")", R"("g": 1, "f": "mean")"), HasSubstr("nodes[1].g is no member"));
  EXPECT_THAT(altered(R"({"name": "n"}])", R"({"name": "n"}, {"name": "n"}])"), HasSubstr("axis n is stated twice"));
  EXPECT_THAT(altered(R"({"name": "n"}])", R"({"name": "n"}, {"name": "m", "extent": -1}])"),
              HasSubstr("axis m: extent is -1; give 0 to"));
  EXPECT_THAT(altered(R"({"name": "n"}])", R"({"name": "n"}, {"name": "m", "extent": 3, "of": "n", "times": 1}])"),
              HasSubstr("no other axis that it follows from"));
  EXPECT_THAT(altered(R"({"name": "n"}])", R"({"name": "n"}, {"name": "m", "of": "n", "times": 1000000000}])"),
              HasSubstr("give 1 to 1024"));
  EXPECT_THAT(
      altered(R"({"name": "n"}])", R"({"name": "n"}, {"name": "m", "of": "n", "times": 18446744073709551615}])"),
      HasSubstr("times is 18446744073709551615, and has to be an integer"));
  EXPECT_THAT(altered(R"(["mean", "eps"])", R"(["mean", "1e400"])"), HasSubstr("'1e400' is no input"));
  EXPECT_THAT(altered(R"("axes": ["n"]},)", R"("axes": ["n", "n"]},)"), HasSubstr("axis 'n' stands twice"));
  EXPECT_THAT(altered("1e-06", "nan"), HasSubstr("finite number"));
  EXPECT_THAT(altered(R"("f": "rsqrt")", R"("to": ["n"], "f": "rsqrt")"), HasSubstr("node scale: rsqrt has no 'to'"));
  EXPECT_THAT(error(FileOf(RmsNorm("../bad"))), HasSubstr("an operator's name has at most 100 letters"));
  EXPECT_THAT(error(R"({"assay_definitions": 1, "operators": []})"), HasSubstr("operators is empty"));
  EXPECT_THAT(altered(R"("weight")", R"("heavy")"), HasSubstr("input gamma: no role 'heavy'"));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Operators from data whose elements are chosen by data, and what is said of mistakes in them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/definition_file.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string FileWith(const std::string& op) {
  return R"({"assay_definitions": 1, "operators": [)" + op + "]}";
}

// Rows that are chosen by places, by their order and by lengths, and added at places.
constexpr const char* kChosen =
    R"({"op": "chosen", "doc": "elements that data choose", "types": ["f32-i64-i32-i64-f32"],
    "axes": [{"name": "v"}, {"name": "n", "at_least": 3}, {"name": "m"}, {"name": "g"}, {"name": "k", "extent": 3}],
    "inputs": [{"name": "x", "axes": ["v", "n"]}, {"name": "ids", "axes": ["m"], "role": "places", "along": "v"},
               {"name": "lengths", "axes": ["v"], "role": "lengths", "along": "n"},
               {"name": "ends", "axes": ["g"], "role": "ends", "along": "m"}],
    "nodes": [{"name": "rows", "f": "gather", "of": ["x", "ids"], "axes": ["v"]},
              {"name": "i", "f": "index", "of": [], "axes": ["n"]},
              {"name": "inside", "f": "less", "of": ["i", "lengths"]},
              {"name": "kept", "f": "where", "of": ["inside", "x", "0"]},
              {"name": "top", "f": "largest", "of": ["kept"], "axes": ["n"], "to": ["k"], "ties": "any"},
              {"name": "low", "f": "places_of_smallest", "of": ["kept"], "axes": ["n"], "to": ["k"]},
              {"name": "of_low", "f": "gather", "of": ["x", "low"], "axes": ["n"]},
              {"name": "added", "f": "scatter_add", "of": ["x", "rows", "ids"], "axes": ["v"]},
              {"name": "j", "f": "index", "of": [], "axes": ["m"]},
              {"name": "ended", "f": "less_equal", "of": ["ends", "j"]},
              {"name": "part", "f": "sum", "of": ["ended"], "axes": ["g"]}],
    "outputs": [{"name": "y", "is": "rows", "axes": ["m", "n"]}, {"name": "values", "is": "top", "axes": ["v", "k"]},
                {"name": "same", "is": "of_low", "axes": ["v", "k"]}, {"name": "sums", "is": "added", "axes": ["v", "n"]},
                {"name": "parts", "is": "part", "axes": ["m"], "type": "i64"}]})";

TEST(DefinitionChoices, ChoosesByData) {
  ASSERT_TRUE(AddDefinitions(FileWith(kChosen), "chosen.json"));
  const Operator& op = *OperatorRegistry::Global().Find("chosen");
  const Problem problem = *op.Bind(*ParseId("chosen/f32-i64-i32-i64-f32/v=2,n=4,m=3,g=3/fill=normal/seed=0"));
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  ASSERT_TRUE(op.CheckInputs(problem, inputs)) << "what is drawn is right";
  for (int seed = 0; seed < 20; ++seed) {
    const std::string id = "chosen/f32-i64-i32-i64-f32/v=16,n=3,m=9,g=5/fill=normal/seed=" + std::to_string(seed);
    const Problem many = *op.Bind(*ParseId(id));
    EXPECT_TRUE(op.CheckInputs(many, op.MakeInputs(many))) << id;
  }
  inputs[0].SetDoubles(std::vector<double>{5, 1, 7, 2, -1, -3, 4, 8});
  inputs[1].SetDoubles(std::vector<double>{1, 0, 1});
  inputs[2].SetDoubles(std::vector<double>{3, 4});
  inputs[3].SetDoubles(std::vector<double>{0, 2, 3});
  const std::vector<double> expected[] = {{-1, -3, 4, 8, 5, 1, 7, 2, -1, -3, 4, 8},
                                          {7, 5, 1, 8, 4, -1},
                                          {2, 1, 5, -3, -1, 4},
                                          {10, 2, 14, 4, -3, -9, 12, 24},
                                          {1, 1, 2}};
  for (const size_t output : {0, 1, 2, 3, 4})
    EXPECT_EQ(op.ComputeGolden(problem, output, inputs, Tier::kFast).value, expected[output]) << output;
  const auto refused = [&](size_t input, std::vector<double> integers) {
    std::vector<Tensor> wrong = op.MakeInputs(problem);
    wrong[input].SetDoubles(integers);
    const Status status = op.CheckInputs(problem, wrong);
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(refused(1, {0, 2, 1}), HasSubstr("ids[1] is 2, but places along v are 0 to 1"));
  EXPECT_THAT(refused(2, {5, 1}), HasSubstr("lengths[0] is 5, but lengths along n are 0 to 4"));
  EXPECT_THAT(refused(2, {0, -1}), HasSubstr("lengths[1] is -1"));
  EXPECT_THAT(refused(3, {2, 1, 3}), HasSubstr("ends[1] is 1, but ends along m ascend"));
  EXPECT_THAT(refused(3, {1, 1, 2}), HasSubstr("ends[2] is 2, but ends along m ascend from 0, and the last one is 3"));
  EXPECT_EQ(refused(3, {0, 0, 3}), "");
  const auto too_few = op.Bind(*ParseId("chosen/f32-i64-i32-i64-f32/v=2,n=2,m=3,g=3/fill=normal/seed=0"));
  ASSERT_FALSE(too_few);
  EXPECT_THAT(too_few.error().message, HasSubstr("n=2 must be at least 3"));
}

TEST(DefinitionChoices, MistakesInChoicesAreNamed) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = kChosen;
    text.replace(text.find(from), from.size(), to);
    text.replace(text.find("chosen"), 6, "rechosen");
    const auto added = AddDefinitions(FileWith(text), "bad.json");
    return added ? "" : added.error().message;
  };
  EXPECT_THAT(refused(R"("of": ["x", "ids"], "axes": ["v"])", R"("of": ["x", "ids"], "axes": ["m"])"),
              HasSubstr("node rows: Gather: goes along [m]"));
  EXPECT_THAT(refused(R"(["x", "ids"], "axes")", R"(["ids", "x"], "axes")"),
              HasSubstr("node rows: Gather: goes along"));
  EXPECT_THAT(refused(R"(["x", "ids"], "axes")", R"(["x", "0.5"], "axes")"), HasSubstr("Gather: the places are real"));
  EXPECT_THAT(refused(R"("f": "gather", "of": ["x", "ids"])", R"("f": "gather", "of": ["x"])"),
              HasSubstr("gather takes 2 values, and gets 1"));
  EXPECT_THAT(refused(R"("to": ["k"], "ties")", R"("to": ["k", "m"], "ties")"), HasSubstr("has 2 axes in 'to'"));
  EXPECT_THAT(refused(R"("to": ["k"], "ties")", R"("ties")"), HasSubstr("largest has 0 axes in 'to'"));
  EXPECT_THAT(refused(R"("to": ["k"], "ties")", R"("to": ["n"], "ties")"), HasSubstr("TopK: what is selected stands"));
  EXPECT_THAT(refused(R"("ties": "any")", R"("ties": "last")"), HasSubstr("ties is 'last'; give first or any"));
  EXPECT_THAT(refused(R"("f": "sum", )", R"("f": "sum", "ties": "any", )"), HasSubstr("sum has no 'ties'"));
  EXPECT_THAT(refused(R"("extent": 3})", R"("extent": 5})"), HasSubstr("TopK: 5 numbers are selected of 3"));
  EXPECT_THAT(refused(R"(["x", "rows", "ids"])", R"(["rows", "x", "ids"])"), HasSubstr("node added: ScatterAdd"));
  EXPECT_THAT(refused(R"(["x", "rows", "ids"])", R"(["x", "rows", "lengths"])"), HasSubstr("node added: ScatterAdd"));
  EXPECT_THAT(refused(R"("along": "v")", R"("along": "w")"), HasSubstr("no axis 'w'"));
  EXPECT_THAT(refused(R"(, "along": "v")", ""), HasSubstr("input ids: along is '' and the role 'places'"));
  EXPECT_THAT(refused(R"("role": "places")", R"("role": "data")"), HasSubstr("along is 'v' and the role 'data'"));
  EXPECT_THAT(refused("f32-i64-i32-i64-f32", "f32-f32-i32-i64-f32"), HasSubstr("ids are places, which are integers"));
  for (const char* least : {"-4", "1025", "1e300", "\"3\"", "9223372036854775808"})
    EXPECT_THAT(refused(R"("at_least": 3)", std::string(R"("at_least": )") + least), HasSubstr("at_least")) << least;
  EXPECT_THAT(refused(R"("extent": 3})", R"("extent": 3, "at_least": 2})"), HasSubstr("axis k: at_least is 2"));
}

// Each text of the definition becomes each of some others: it is refused with a message, or its cases are computed.
TEST(DefinitionChoices, WordsInWrongPlacesEndInMessages) {
  const std::string whole = kChosen;
  const char* words[] = {"x", "ids", "n", "k", "rows", "low", "0.5", "gather", "scatter_add", "smallest", "-n", ""};
  int accepted = 0, refused = 0;
  for (size_t at = whole.find("\"inputs\""); (at = whole.find('"', at)) != std::string::npos; ++at) {
    const size_t end = whole.find('"', at + 1);
    for (const char* word : words) {
      std::string text = whole;
      text.replace(at + 1, end - at - 1, word);
      const std::string name = fmt::format("worded{}", accepted + refused);
      text.replace(text.find("chosen"), 6, name);
      if (const auto added = AddDefinitions(FileWith(text), "words.json"); !added) {
        EXPECT_NE(added.error().message, "");
        ++refused;
        continue;
      }
      ++accepted;
      const Operator& op = *OperatorRegistry::Global().Find(name);
      try {
        const auto problem = op.Bind(*ParseId(name + "/f32-i64-i32-i64-f32/v=2,n=4,m=3,g=3/fill=normal/seed=0"));
        if (!problem) continue;
        const std::vector<Tensor> inputs = op.MakeInputs(*problem);
        for (size_t output = 0; output < problem->outputs.size(); ++output) {
          const Golden golden = op.ComputeGolden(*problem, output, inputs, Tier::kFast);
          const Contract contract = *ParseDeclaration("f32acc");
          op.Bound(*problem, output, golden, contract);
          op.OmittedTerms(*problem, output, inputs, golden.value, std::vector<int64_t>{0});
          if (accepted % 8 == 0) op.MakeTwin(*problem, output, contract, 0);
        }
      } catch (const formula::FormulaError& error) {
        EXPECT_NE(std::string(error.what()), "");
      }
    }
    at = end;
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 800);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

// Reads one file of draws, and returns what is wrong with it.
std::string ProblemOf(const std::string& text) {
  const Json json = ParseJson(text);
  JsonFields fields(json, "evidence.json");
  const auto take = [](JsonFields& draw) {
    draw.Text("secret");
    draw.Integer("count");
    draw.Texts("cases");
    draw.Text("challenge", JsonFields::Absent::kIsFine);
    draw.Flag("given");
    draw.Integers("places");
  };
  fields.VisitList("draws", take);
  return fields.problem();
}

TEST(JsonFields, NameFileFieldAndKind) {
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "s", "count": 2, "cases": ["a"], "given": true}]})"), "");
  EXPECT_EQ(ProblemOf("{"), "evidence.json is no JSON, and has to be an object");
  EXPECT_EQ(ProblemOf("[1]"), "evidence.json is [1], and has to be an object");
  EXPECT_EQ(ProblemOf("{}"), "evidence.json: draws is missing");
  EXPECT_EQ(ProblemOf(R"({"draws": {}})"), "evidence.json: draws is {}, and has to be a list");
  EXPECT_EQ(ProblemOf(R"({"draws": [true]})"), "evidence.json: draws[0] is true, and has to be an object");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"count": 2}]})"), "evidence.json: draws[0].secret is missing");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": 3}]})"), "evidence.json: draws[0].secret is 3, and has to be a text");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "", "count": 1.5}]})"),
            "evidence.json: draws[0].count is 1.5, and has to be an integer");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "", "count": 1, "cases": ["a", {}]}]})"),
            "evidence.json: draws[0].cases[1] is {}, and has to be a text");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "", "count": 1, "cases": [], "challenge": 1}]})"),
            "evidence.json: draws[0].challenge is 1, and has to be a text");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "", "count": 1, "cases": [], "given": 1}]})"),
            "evidence.json: draws[0].given is 1, and has to be true or false");
  EXPECT_EQ(ProblemOf(R"({"draws": [{"secret": "", "count": 1, "cases": [], "places": [1, -2, 1.5]}]})"),
            "evidence.json: draws[0].places[2] is 1.5, and has to be an integer");
}

// Where there is a problem, nothing else is given, so that nobody takes a part for the whole.
TEST(JsonFields, GiveNothingBehindAProblem) {
  const Json json = ParseJson(R"({"a": 1, "b": "text", "c": {"x": "1", "y": 2}})");
  JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.Text("b"), "text");
  fields.VisitObject("c", [](JsonFields& c) { c.VisitTexts([](const std::string&, const std::string&) {}); });
  EXPECT_EQ(fields.problem(), "f.json: c.y is 2, and has to be a text");
  EXPECT_EQ(fields.Text("b"), "");
  EXPECT_EQ(fields.Integer("a"), 0);
}

}  // namespace
}  // namespace assay

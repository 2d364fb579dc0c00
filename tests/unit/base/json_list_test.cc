// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/json_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

Json Frame() {
  return {{"name", "a [] and {\n"}, {"empty", Json::array()}, {"list", Json::array()}};
}

TEST(JsonList, IsWrittenAsTheWholeWouldBe) {
  for (const int indent : {1, 2}) {
    Json whole = Frame();
    for (const Json& element : {Json(), Json{{"id", 1}, {"of", {1, 2}}, {"text", "x\ny"}}, Json{{"id", 2}}}) {
      std::string text;
      const TextSink write = [&text](std::string_view part) { text += part; };
      JsonListWriter list(Frame(), indent, write);
      if (!element.is_null()) whole["list"].push_back(element);
      for (const Json& one : whole["list"]) list.Add(one);
      list.End();
      EXPECT_EQ(text, DumpJson(whole, indent));
    }
  }
}

TEST(JsonList, GivesEachElementOfThatListAlone) {
  std::vector<int> taken;
  const auto take = [&taken](const Json& element) { taken.push_back(element.value("id", -1)); };
  const Json rest = ParseJsonList(R"({"others": [{"id": 7}], "of": {"list": [{"id": 8}]},
                                      "list": [{"id": 1, "list": [{"id": 9}]}, {"id": 2}], "n": {"id": 3}})",
                                  "list", take);
  EXPECT_THAT(taken, ElementsAre(1, 2));
  EXPECT_EQ(rest.at("list"), Json::array());
  EXPECT_EQ(rest.at("others").size(), 1U);
  EXPECT_EQ(rest.at("of").at("list").size(), 1U);
  EXPECT_EQ(rest.at("n").at("id"), 3);
}

TEST(JsonList, WhatIsNoObjectStaysAndWhatIsNoJsonIsDiscarded) {
  const auto take = [](const Json&) {};
  EXPECT_EQ(ParseJsonList(R"({"list": [1, {"id": 1}, "x"]})", "list", take).at("list").size(), 2U);
  EXPECT_TRUE(ParseJsonList(R"({"list": [{"id": 1})", "list", take).is_discarded());
  EXPECT_TRUE(ParseJsonList(std::string(100, '[') + std::string(100, ']'), "list", take).is_discarded());
}

}  // namespace
}  // namespace assay

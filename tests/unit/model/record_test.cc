// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/core/model/record_file.h"

namespace assay {
namespace {

Record Sample() {
  Record r;
  r.case_id = "matmul/f32/m=2,n=3,k=4/fill=normal/seed=0";
  r.op = "matmul";
  r.verdict = r.outcome = "pass";
  r.result_class = "within_class";
  r.seed = ~uint64_t{0};
  r.max_abs_err = 1.5e-7;
  r.nmse = std::numeric_limits<double>::infinity();
  r.bias_z = std::numeric_limits<double>::quiet_NaN();
  r.elements = 6;
  r.deterministic = true;
  r.reason = "a \"quoted\" line\nand \x01 control";
  return r;
}

TEST(Record, RoundTripsEveryField) {
  const Record r = Sample();
  auto back = FromJsonLine(ToJsonLine(r));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(ToJsonLine(*back), ToJsonLine(r));
  EXPECT_EQ(back->seed, r.seed);
  EXPECT_EQ(back->reason, r.reason);
  EXPECT_TRUE(std::isnan(*back->bias_z));
  EXPECT_FALSE(back->max_ulp_err.has_value());
}

TEST(Record, NonFiniteIsNullPlusATagAndTheLineIsFlatJson) {
  const auto json = nlohmann::json::parse(ToJsonLine(Sample()));
  EXPECT_TRUE(json["nmse"].is_null());
  EXPECT_EQ(json["nmse_nonfinite"], "inf");
  EXPECT_EQ(json["bias_z_nonfinite"], "nan");
  EXPECT_FALSE(json.contains("max_abs_err_nonfinite"));
  for (const auto& [key, value] : json.items()) EXPECT_FALSE(value.is_structured()) << key;
}

TEST(Record, SeveralOutputsAreAListAndASingleOneIsNone) {
  Record r = Sample();
  EXPECT_FALSE(nlohmann::json::parse(ToJsonLine(r)).contains("outputs"));
  r.worst_output = "mean";
  r.outputs.resize(2);
  r.outputs[0].name = "y", r.outputs[0].verdict = "pass", r.outputs[0].bound_margin = 0.25;
  r.outputs[1].name = "mean", r.outputs[1].result_class = "within_class", r.outputs[1].in_place = true;
  r.outputs[1].exact_margin = std::numeric_limits<double>::infinity();
  const auto json = nlohmann::json::parse(ToJsonLine(r));
  EXPECT_EQ(json["outputs"][1]["class"], "within_class");
  EXPECT_EQ(json["outputs"][1]["exact_margin_nonfinite"], "inf");
  const auto back = FromJsonLine(ToJsonLine(r));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->outputs.size(), 2U);
  EXPECT_EQ(back->worst_output, "mean");
  EXPECT_EQ(back->outputs[0].bound_margin, 0.25);
  EXPECT_TRUE(std::isinf(*back->outputs[1].exact_margin));
  EXPECT_EQ(ToJsonLine(*back), ToJsonLine(r));
  EXPECT_FALSE(FromJsonLine(R"({"case_id": "a", "outcome": "pass", "outputs": 3})"));
  EXPECT_FALSE(FromJsonLine(R"({"case_id": "a", "outcome": "pass", "outputs": [{"name": 3}]})"));
}

TEST(Record, ANewerSchemaIsRefused) {
  auto json = nlohmann::json::parse(ToJsonLine(Sample()));
  json["schema_version"] = kRecordSchemaVersion + 1;
  auto back = FromJsonLine(json.dump());
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message, testing::HasSubstr("newer assay"));
}

class RecordFile : public testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      (std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".jsonl");
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(RecordFile, ATornLastLineIsDropped) {
  const std::string line = ToJsonLine(Sample());
  auto records = ReadRecords(Write(line + "\n" + line + "\n" + line.substr(0, 40)));
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(records->records.size(), 2u);
  EXPECT_THAT(records->torn, testing::HasSubstr(".jsonl:3: the last line is torn"));
  EXPECT_EQ(ReadRecords(Write(line + "\n" + line))->torn, "");  // only its newline is not there
}

TEST_F(RecordFile, ADamagedLineInTheMiddleIsNamed) {
  const std::string line = ToJsonLine(Sample());
  auto records = ReadRecords(Write(line + "\n{broken\n" + line + "\n"));
  ASSERT_FALSE(records);
  EXPECT_THAT(records.error().message, testing::HasSubstr(".jsonl:2: not a record: it is no JSON object. "));
}

TEST(Record, WhatIsNoRecordIsSaidInWordsOfTheFile) {
  const auto error = [](const std::string& line) { return FromJsonLine(line).error().message; };
  EXPECT_THAT(error("{"), testing::HasSubstr("no JSON object"));
  EXPECT_THAT(error("7"), testing::HasSubstr("no JSON object"));
  EXPECT_THAT(error("{}"), testing::HasSubstr("no case_id"));
  EXPECT_THAT(error(R"({"case_id": "x"})"), testing::HasSubstr("no outcome"));
  EXPECT_THAT(error(R"({"case_id": "x", "outcome": 7})"), testing::HasSubstr("'outcome' has another type"));
  EXPECT_THAT(error(R"({"case_id": "x", "outcome": "pass", "nmse": "small"})"), testing::HasSubstr("'nmse'"));
  EXPECT_THAT(error(R"({"case_id": "x", "outcome": "pass", "reps": []})"), testing::HasSubstr("'reps'"));
  EXPECT_TRUE(FromJsonLine(R"({"case_id": "x", "outcome": "pass", "a key of the future": []})"));
}

}  // namespace
}  // namespace assay

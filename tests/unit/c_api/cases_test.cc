// SPDX-License-Identifier: Apache-2.0
#include <assay/assay.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using ::testing::HasSubstr;

assay_selection Selection() {
  assay_selection selection{};
  selection.struct_size = sizeof selection;
  return selection;
}

struct Cases {
  assay_cases* cases = nullptr;
  explicit Cases(const assay_selection& selection) {
    EXPECT_EQ(assay_cases_select(&selection, &cases), ASSAY_RESULT_OK) << assay_last_error();
  }
  ~Cases() { assay_cases_free(cases); }
  Cases(const Cases&) = delete;
};

std::string Refused(const assay_selection& selection) {
  assay_cases* cases = nullptr;
  EXPECT_EQ(assay_cases_select(&selection, &cases), ASSAY_RESULT_USAGE);
  EXPECT_EQ(cases, nullptr);
  return assay_last_error();
}

TEST(CApiCases, AreThoseOfTheSuiteThatAreSelected) {
  assay_selection selection = Selection();
  selection.suite = "smoke", selection.ops = "softmax,matmul", selection.dtypes = "f32";
  setenv("GTEST_SHARD_INDEX", "0", 1), setenv("GTEST_TOTAL_SHARDS", "1000", 1);  // of these tests, not of the cases
  const Cases all(selection);
  unsetenv("GTEST_SHARD_INDEX"), unsetenv("GTEST_TOTAL_SHARDS");
  ASSERT_GT(assay_cases_count(all.cases), 2U);
  uint64_t softmax = 0;
  for (uint64_t i = 0; i < assay_cases_count(all.cases); ++i) {
    const std::string id = assay_cases_id(all.cases, i);
    EXPECT_THAT(id, testing::ContainsRegex("^(softmax|matmul)/[^/]*f32[^/]*/"));
    softmax += id.starts_with("softmax") ? 1 : 0;
  }
  EXPECT_EQ(assay_cases_id(all.cases, assay_cases_count(all.cases)), nullptr);
  selection.filter = "softmax/*";
  EXPECT_EQ(assay_cases_count(Cases(selection).cases), softmax);
}

TEST(CApiCases, BadSelectionsSayWhy) {
  assay_selection selection = Selection();
  selection.suite = "smoke";
  selection.ops = "sofmax";
  EXPECT_THAT(Refused(selection), HasSubstr("softmax"));
  selection.ops = nullptr, selection.filter = "nothing/*";
  EXPECT_THAT(Refused(selection), HasSubstr("nothing/*"));
  selection.suite = "no_such_suite";
  EXPECT_THAT(Refused(selection), HasSubstr("no_such_suite"));
  selection.struct_size = 0;
  EXPECT_THAT(Refused(selection), HasSubstr("struct_size"));
  assay_case* made = nullptr;
  EXPECT_EQ(assay_case_make(nullptr, 0, &made), ASSAY_RESULT_USAGE);
}

class OneCase : public testing::Test {
 protected:
  void Make(const char* id) {
    assay_selection selection = Selection();
    selection.n_cases = 1, selection.cases = &id;
    const Cases cases(selection);
    ASSERT_EQ(assay_case_make(cases.cases, 0, &case_), ASSAY_RESULT_OK) << assay_last_error();
  }
  void TearDown() override { assay_case_free(case_); }

  assay_array Input(uint64_t index) const { return Operand(&assay_case_input, index); }
  assay_array Output(uint64_t index) const { return Operand(&assay_case_output, index); }

  std::string Judge(const assay_array& y, const char* contract = nullptr) {
    const assay_array* outputs[] = {&y};
    assay_verdict* verdict = nullptr;
    if (assay_case_judge(case_, 1, outputs, contract, &verdict) != ASSAY_RESULT_OK) return assay_last_error();
    std::string name = assay_verdict_name(verdict);
    record_ = assay_verdict_record(verdict);
    assay_verdict_free(verdict);
    return name;
  }

  assay_case* case_ = nullptr;
  std::string record_;

 private:
  assay_array Operand(int32_t (*get)(const assay_case*, uint64_t, assay_array*), uint64_t index) const {
    assay_array array{};
    array.struct_size = sizeof array;
    EXPECT_EQ(get(case_, index, &array), ASSAY_RESULT_OK) << assay_last_error();
    return array;
  }
};

TEST_F(OneCase, HasInputsAndJudgesWhatWasMadeOfThem) {
  const char* id = "softmax/f32/shape=4x33/fill=normal/seed=0";
  Make(id);
  const assay_array x = Input(0);
  assay_array y = Output(0);
  EXPECT_STREQ(x.name, "x");
  EXPECT_STREQ(y.name, "y");
  ASSERT_EQ(x.rank, 2);
  ASSERT_EQ(y.shape[1], 33);
  EXPECT_EQ(y.data, nullptr);
  EXPECT_THAT(assay_case_text(case_), HasSubstr("\"attrs\":{\"shape\":\"4x33\",\"axis\":\"-1\",\"log\":\"0\"}"));
  std::vector<float> result(4 * 33);
  const auto* in = static_cast<const float*>(x.data);
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int i = 0; i < 33; ++i) sum += std::exp(static_cast<double>(in[row * 33 + i]));
    for (int i = 0; i < 33; ++i) {
      result[row * 33 + i] = static_cast<float>(std::exp(static_cast<double>(in[row * 33 + i])) / sum);
    }
  }
  y.data = result.data();
  EXPECT_EQ(Judge(y), "pass");
  EXPECT_THAT(record_, HasSubstr(id));
  result[40] *= 1.001F;
  EXPECT_EQ(Judge(y), "mismatch");
  result[40] /= 1.001F;
  EXPECT_EQ(Judge(y, "bf16acc"), "below_contract");
  EXPECT_THAT(Judge(y, "acc=f99"), HasSubstr("contract: "));
  y.shape = x.shape + 1, y.rank = 1;
  EXPECT_THAT(Judge(y), HasSubstr("y has shape 33, expected 4x33"));
  assay_array array{};
  EXPECT_EQ(assay_case_input(case_, 0, &array), ASSAY_RESULT_USAGE);  // no struct_size
  array.struct_size = sizeof array;
  EXPECT_EQ(assay_case_input(case_, 1, &array), ASSAY_RESULT_USAGE);
}

TEST(CApiOperators, AreAllListed) {
  const char* json = nullptr;
  ASSERT_EQ(assay_operators(&json), ASSAY_RESULT_OK);
  for (const char* words : {"\"op\":\"matmul\"", "\"inputs\":[\"a\",\"b\"],\"optional_inputs\":[\"c\",\"bias\"]",
                            "\"key\":\"axes\",\"type\":\"axes\"", "\"op\":\"softmax\""}) {
    EXPECT_THAT(json, HasSubstr(words));
  }
  EXPECT_EQ(assay_operators(nullptr), ASSAY_RESULT_USAGE);
  EXPECT_THAT(assay_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(CApiOperators, DefinitionsAreAddedAndListed) {
  const char* const twice = R"({"assay_definitions": 1, "operators": [{"op": "twice", "doc": "y = 2 x",
      "axes": [{"name": "n"}], "inputs": [{"name": "x", "axes": ["n"]}],
      "nodes": [{"name": "t", "f": "multiply", "of": ["x", "2"]}],
      "outputs": [{"name": "y", "is": "t", "axes": ["n"]}]}]})";
  const char* json = nullptr;
  ASSERT_EQ(assay_operators(&json), ASSAY_RESULT_OK);
  ASSERT_EQ(assay_add_operators(twice), ASSAY_RESULT_OK) << assay_last_error();
  EXPECT_EQ(assay_add_operators(twice), ASSAY_RESULT_OK);
  ASSERT_EQ(assay_operators(&json), ASSAY_RESULT_OK);
  EXPECT_THAT(json, HasSubstr("\"op\":\"twice\""));
  EXPECT_EQ(assay_add_operators("{}"), ASSAY_RESULT_USAGE);
  EXPECT_THAT(assay_last_error(), HasSubstr("definitions: assay_definitions is missing"));
  EXPECT_EQ(assay_add_operators(nullptr), ASSAY_RESULT_USAGE);
}

}  // namespace

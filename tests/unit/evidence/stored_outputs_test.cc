// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/stored_outputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

class StoredOutputsTest : public testing::Test {
 protected:
  Record Keep(StoredOutputs& stored, int64_t elements) {
    Record record;
    record.case_id = fmt::format("case of {}", elements), record.implementation = "one", record.verdict = "pass";
    record.output_hash = fmt::format("{:016x}", elements);
    Problem problem;
    problem.outputs.push_back({.name = "y", .dtype = DType::kF32, .shape = {elements}});
    std::vector<Tensor> outputs;
    outputs.emplace_back(DType::kF32, Shape{elements});
    stored.Keep(record, problem, outputs);
    return record;
  }
  bool Has(const Record& record) const { return std::filesystem::exists(folder_.Path(StoredOutputFile(record))); }

  TemporaryFolder folder_;
};

TEST_F(StoredOutputsTest, KeepsEveryResultThatFits) {
  StoredOutputs stored(folder_.Path(""), 100'000);
  for (const int64_t elements : {10, 1000, 2000}) EXPECT_TRUE(Has(Keep(stored, elements))) << elements;
  EXPECT_EQ(stored.most_bytes(), kMostStoredBytes);
  EXPECT_EQ(stored.problem(), "");
}

TEST_F(StoredOutputsTest, GivesTheLargestUpWhereAllExceedTheBudget) {
  StoredOutputs stored(folder_.Path(""), 9000);
  const Record small = Keep(stored, 10), large = Keep(stored, 1000), larger = Keep(stored, 1500);
  EXPECT_TRUE(Has(small));
  EXPECT_TRUE(Has(large));
  EXPECT_FALSE(Has(larger));
  EXPECT_EQ(stored.most_bytes(), 4096U);
  const Record late = Keep(stored, 1500);  // above the limit by now
  EXPECT_FALSE(Has(late));
}

}  // namespace
}  // namespace assay

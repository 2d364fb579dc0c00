// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/stored_outputs.h"

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

TEST_F(StoredOutputsTest, TheLimitFollowsFromTheSizesInAnyOrder) {
  const std::vector<int64_t> elements = {10, 1000, 1500, 40, 700, 3, 2500, 900};
  std::vector<uint64_t> sizes;
  for (const int64_t e : elements) sizes.push_back(static_cast<uint64_t>(4 * e));
  for (const uint64_t budget : {0, 20, 3000, 9000, 14'000, 30'000}) {
    std::vector<int64_t> order = elements;
    for (size_t turn = 0; turn < order.size(); ++turn) {
      std::ranges::rotate(order, order.begin() + 1);
      const TemporaryFolder folder;
      StoredOutputs stored(folder.Path(""), budget);
      for (const int64_t e : order) Keep(stored, e);
      EXPECT_EQ(stored.most_bytes(), LimitThatFits(sizes, budget)) << budget << " in turn " << turn;
    }
  }
  EXPECT_EQ(LimitThatFits(sizes, 14'000), 4096U);
  EXPECT_EQ(LimitThatFits(sizes, 30'000), kMostStoredBytes);
}

TEST(KeptResults, ThoseThatDoNotFitAreNotDrawn) {
  Plan plan;
  std::vector<Record> records;
  // Each has 3 * 2^24 bytes of outputs, of which 42 fit in 2 GiB; the small one stays.
  for (int seed = 0; seed < 44; ++seed) {
    Record& r = records.emplace_back();
    r.case_id = fmt::format("softmax/f32/shape={}/fill=normal/seed={}", seed == 0 ? "4x8" : "4096x3072", seed);
    r.required_contract = "f32acc", r.output_hash = fmt::format("{:016x}", seed);
    plan.entries.push_back({.id = r.case_id, .requirement = r.required_contract});
  }
  const auto kept = [&](size_t count, const Shard& shard) {
    return FindKept(plan, std::vector<Record>(records.begin(), records.begin() + count), {{.shard = shard}});
  };
  EXPECT_EQ(kept(43, {}).names.size(), 43U);
  EXPECT_EQ(kept(43, {}).most_bytes, kMostStoredBytes);
  EXPECT_EQ(kept(44, {}).names.size(), 1U);
  EXPECT_EQ(kept(44, {}).most_bytes, kMostStoredBytes / 2);
  EXPECT_EQ(kept(44, {0, 2}).names.size(), 44U);  // each shard has a budget of its own
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
// Pooled tests of all results decide the exit code, not any single record's part in them.
#include <gtest/gtest.h>

#include "harness/core/model/pooled_test.h"
#include "harness/engine/results/exit_code.h"

namespace assay {
namespace {

std::vector<Record> PassingWith(bool proves, int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) {
    Record record;
    record.verdict = record.outcome = "pass";
    record.input_hash = std::to_string(i);
    record.pooled = ToText(std::vector{PooledTest{"factor", proves, 2, 100, 1, 0, 0}});
    records.push_back(std::move(record));
  }
  return records;
}

TEST(PooledExit, AProofFailsTheRun) {
  EXPECT_EQ(ExitCodeOfRecords(PassingWith(true, 1), {}), kExitOk);
  EXPECT_EQ(ExitCodeOfRecords(PassingWith(true, 100), {}), kExitFailed);
}

TEST(PooledExit, AHintFailsAStrictRun) {
  EXPECT_EQ(ExitCodeOfRecords(PassingWith(false, 100), {}), kExitOk);
  EXPECT_EQ(ExitCodeOfRecords(PassingWith(false, 100), {.strict = true}), kExitFailed);
  EXPECT_EQ(ExitCodeOfRecords(PassingWith(false, 1), {.strict = true}), kExitOk);
}

TEST(PooledExit, NoRecordFailsForItsPart) {
  Record record = PassingWith(true, 1)[0];
  record.pooled = ToText(std::vector{PooledTest{"factor", true, 100, 100, 1, 0, 0}});
  EXPECT_FALSE(FailsRun(record));
  EXPECT_EQ(ExitCodeOfRecords({record}, {}), kExitFailed);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

using ::testing::ElementsAre;

TEST(BalanceShards, GivesTheNextCostliestCaseToTheShardThatHasLeast) {
  const CaseCosts costs = {{"a/1", 8}, {"a/2", 5}, {"a/3", 4}, {"a/4", 3}, {"a/5", 1}};
  EXPECT_THAT(BalanceShards({"a/1", "a/2", "a/3", "a/4", "a/5"}, costs, 2), ElementsAre(0, 1, 1, 0, 1));
}

TEST(BalanceShards, GoesByIdAndCostAlone) {
  const CaseCosts costs = {{"a/1", 2}, {"a/2", 2}, {"a/3", 2}, {"a/4", 2}};
  EXPECT_THAT(BalanceShards({"a/1", "a/2", "a/3", "a/4"}, costs, 2), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(BalanceShards({"a/4", "a/3", "a/2", "a/1"}, costs, 2), ElementsAre(1, 0, 1, 0));
}

TEST(BalanceShards, ACaseWithoutACostCostsWhatThoseOfItsOperatorDo) {
  const CaseCosts costs = {{"a/1", 10}, {"a/2", 10}, {"b/1", 1}};
  // a/3 counts 10: it is not put beside a/1 or a/2 where b's cases leave room.
  const auto shards = BalanceShards({"a/1", "a/2", "a/3", "b/1", "b/2"}, costs, 3);
  EXPECT_NE(shards[0], shards[2]);
  EXPECT_NE(shards[1], shards[2]);
  EXPECT_THAT(BalanceShards({"x", "y"}, {}, 2), ElementsAre(0, 1));
}

TEST(BalanceShards, WhatAllDevicesShareCountsOnce) {
  Record one, two;
  one.case_id = two.case_id = "a/1";
  one.golden_s = two.golden_s = 5;
  one.execute_s = 1, two.execute_s = 2, two.time_median_s = 0.5, two.samples = 4;
  EXPECT_DOUBLE_EQ(CostsOf({one, two}).at("a/1"), 5 + 1 + 2 + 2);
}

}  // namespace
}  // namespace assay

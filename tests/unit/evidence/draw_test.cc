// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/evidence/sha256.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

Plan PlanOf(size_t cases, Shard shard = {}) {
  Plan plan{.shard = shard};
  for (size_t i = 0; i < cases; ++i) plan.entries.push_back({.id = "case" + std::to_string(i)});
  return plan;
}

TEST(EvidenceDraw, FollowsFromSecretChallengeAndPlanAlone) {
  const Plan plan = PlanOf(200);
  const EvidenceDraw draw = MakeDraw(plan, "a secret that is long enough", "of the customer", 20);
  EXPECT_EQ(draw.commitment, Sha256Hex("a secret that is long enough"));
  EXPECT_EQ(std::set<std::string>(draw.cases.begin(), draw.cases.end()).size(), 20U);
  EXPECT_EQ(WrongWith(draw, plan), "");
  EXPECT_EQ(MakeDraw(plan, draw.secret, draw.challenge, 20).cases, draw.cases);
  EXPECT_NE(MakeDraw(plan, draw.secret, "of another one", 20).cases, draw.cases);
  EXPECT_NE(MakeDraw(plan, DrawSecret(), draw.challenge, 20).cases, draw.cases);
  EXPECT_EQ(MakeDraw(PlanOf(5), draw.secret, "", 20).cases.size(), 5U);
}

TEST(EvidenceDraw, OneThatWasChangedIsFound) {
  const Plan plan = PlanOf(200);
  const EvidenceDraw draw = MakeDraw(plan, "a secret that is long enough", "", 20);
  EvidenceDraw chosen = draw, exchanged = draw, fewer = draw, other = draw;
  chosen.cases[3] = "case7";
  exchanged.secret = "another secret, as long";
  fewer.cases.pop_back();
  other.challenge = "x";
  EXPECT_THAT(WrongWith(chosen, plan), HasSubstr("other cases follow"));
  EXPECT_THAT(WrongWith(exchanged, plan), HasSubstr("not the one that the commitment is of"));
  EXPECT_THAT(WrongWith(fewer, plan), HasSubstr("other cases follow"));
  EXPECT_THAT(WrongWith(other, plan), HasSubstr("other cases follow"));
  EXPECT_THAT(WrongWith(draw, PlanOf(2000)), HasSubstr("other cases follow"));
}

TEST(EvidenceDraw, OfAShardHoldsInTheMergedPlan) {
  const Plan part = PlanOf(200, {1, 3});
  const EvidenceDraw draw = MakeDraw(part, "a secret that is long enough", "", 10);
  for (const std::string& id : draw.cases) EXPECT_TRUE(InShard(id, part.shard)) << id;
  Plan merged = PlanOf(200);
  for (PlanEntry& entry : merged.entries) {
    for (int shard = 0; shard < 3; ++shard) {
      if (InShard(entry.id, {shard, 3})) entry.shard = shard;
    }
  }
  EXPECT_EQ(WrongWith(draw, merged), "");
  const auto again = ParseEvidence(EvidenceJson({draw, draw}));
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->size(), 2U);
  EXPECT_EQ(WrongWith((*again)[1], merged), "");
  EXPECT_FALSE(ParseEvidence("{\"format\": 1}"));
}

}  // namespace
}  // namespace assay

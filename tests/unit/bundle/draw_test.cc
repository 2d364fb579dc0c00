// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/tools/bundle/sha256.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Names(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("case" + std::to_string(i) + "\tmine\tdevice\tone");
  return names;
}

Sample SampleOf(size_t count, const std::string& challenge = "of the customer") {
  Sample sample{.draws = {MakeDraw("a secret that is long enough", challenge, count, {})}};
  sample.committed = CommittedHash({{"results.jsonl", "a record"}});
  return sample;
}

TEST(EvidenceDraw, FollowsFromSecretChallengesAndFilesAlone) {
  const std::vector<std::string> names = Names(200);
  const Sample sample = SampleOf(20);
  const std::vector<std::string> drawn = DrawTexts(names, sample);
  EXPECT_EQ(sample.draws[0].commitment, Sha256Hex("a secret that is long enough"));
  EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), 20U);
  EXPECT_EQ(DrawTexts(names, sample), drawn);
  Sample other_record = sample, later = sample, secret = sample;
  other_record.committed = CommittedHash({{"results.jsonl", "another record"}});
  later.challenge = "of the customer, who has the hash of the files";
  secret.draws[0].secret = DrawSecret();
  for (const Sample& other : {other_record, later, secret, SampleOf(20, "of another one")}) {
    EXPECT_NE(DrawTexts(names, other), drawn);
  }
  EXPECT_EQ(DrawTexts(Names(5), sample).size(), 5U);
}

TEST(EvidenceDraw, ResultsOfOneNameAreDrawnOnce) {
  std::vector<std::string> names = Names(3);
  names.push_back(names[0]);
  EXPECT_EQ(DrawTexts(names, SampleOf(20)).size(), 3U);
}

TEST(EvidenceDraw, TheHashOfTheFilesIsThatOfTheTools) {
  const std::map<std::string, std::string> files = {{"results.jsonl", "a"}, {"plan.json", "b"}, {"outputs/x", "c"}};
  EXPECT_EQ(CommittedHash(files), Sha256Hex(Sha256Hex("b") + "  plan.json\n" + Sha256Hex("a") + "  results.jsonl\n"));
}

TEST(EvidenceDraw, OfShardsAddsUp) {
  Sample sample = SampleOf(10);
  sample.draws[0].shard = {0, 2};
  sample.draws.push_back(MakeDraw("another secret of some length", "", 5, {1, 2}));
  EXPECT_EQ(sample.Count(), 15U);
  sample.results = DrawTexts(Names(40), sample);
  const auto again = ParseEvidence(EvidenceJson(sample));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(EvidenceJson(*again), EvidenceJson(sample));
  EXPECT_EQ(again->draws[1].shard.index, 1);
  EXPECT_FALSE(ParseEvidence("{\"format\": 3}"));
}

TEST(EvidenceDraw, ThatOfAnOlderVersionIsNamed) {
  EXPECT_THAT(ParseEvidence("{\"format\": 1, \"draws\": []}").error().message, HasSubstr("evidence.json has format 1"));
}

}  // namespace
}  // namespace assay

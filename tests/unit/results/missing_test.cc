// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/missing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/engine/results/exit_code.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFirst = "matmul/f32/m=2,n=3,k=4/fill=normal/seed=0";
constexpr const char* kSecond = "matmul/bf16/m=2,n=3,k=4/fill=ramp/seed=7";

Plan TwoCasesOn(std::vector<PlanDevice> devices) {
  Plan plan;
  plan.entries = {{kFirst, "f32", {"a", "b"}, "here", ""}, {kSecond, "f32acc", {}, "", ""}};
  plan.hash = PlanHash(plan.entries);
  plan.devices = std::move(devices);
  return plan;
}

Record Of(const std::string& case_id, const std::string& backend, const std::string& implementation,
          const std::string& device = "d") {
  Record r;
  r.case_id = case_id, r.backend = backend, r.device = device, r.implementation = implementation;
  r.verdict = r.outcome = "pass";
  return r;
}

// "f32 cpu/naive" per missing record.
std::vector<std::string> Names(const RecordView& missing) {
  std::vector<std::string> names;
  for (const Record& r : missing) names.push_back(r.dtype + " " + r.backend + "/" + r.implementation);
  return names;
}

TEST(Missing, IsPerImplementationWhereTheBackendHasAnsweredElsePerColumn) {
  const Plan plan = TwoCasesOn({{"cpu", "d"}, {"gpu", ""}});
  const std::vector<Offer> offers = {{kFirst, "cpu", "d", {"naive", "blocked"}}};
  const auto missing = MakeMissingRecords(plan, offers, {Of(kFirst, "cpu", "naive"), Of(kFirst, "gpu", "", "")});
  EXPECT_THAT(Names(missing), ElementsAre("f32 cpu/blocked", "bf16 cpu/", "bf16 gpu/"));
  EXPECT_EQ(missing[0].verdict, "missing");
  EXPECT_EQ(missing[0].outcome, "missing");
  EXPECT_EQ(missing[0].tags, "a,b");
  EXPECT_EQ(missing[0].source, "here");
  EXPECT_EQ(missing[0].required_contract, "f32");
  EXPECT_EQ(missing[1].seed, 7u);
  EXPECT_EQ(missing[1].fill, "ramp");
  EXPECT_EQ(missing[1].shape, "m=2,n=3,k=4");
  EXPECT_THAT(missing[1].reason, HasSubstr("without a record"));
}

TEST(Missing, NothingIsOfARunThatCameToItsEnd) {
  const Plan plan = TwoCasesOn({{"cpu", "d"}, {"gpu", "d"}});
  // --impl leaves a device nothing to run; a case that fits nowhere has one record of the harness.
  const std::vector<Offer> offers = {{kFirst, "cpu", "d", {"naive"}}, {kFirst, "gpu", "d", {}}};
  const std::vector<Record> records = {Of(kFirst, "cpu", "naive"), Of(kSecond, kHarnessBackend, "")};
  EXPECT_THAT(MakeMissingRecords(plan, offers, records), IsEmpty());
}

TEST(Missing, DevicesOfOneNameAreCounted) {
  const Plan plan = TwoCasesOn({{"gpu", "d"}, {"gpu", "d"}});
  const std::vector<Offer> offers = {
      {kFirst, "gpu", "d", {"x"}}, {kFirst, "gpu", "d", {"x"}}, {kSecond, "gpu", "d", {"x"}}};
  const std::vector<Record> records = {Of(kFirst, "gpu", "x"), Of(kSecond, "gpu", "x")};
  EXPECT_THAT(Names(MakeMissingRecords(plan, offers, records)), ElementsAre("f32 gpu/x", "bf16 gpu/"));
}

TEST(Missing, NothingIsWhereTheRecordsOfTwoDevicesOfOneNameAreWhole) {
  const Plan plan = TwoCasesOn({{"gpu", "d"}, {"gpu", "d"}});
  std::vector<Record> records;
  for (const char* implementation : {"x", "y"}) {
    for (const char* id : {kFirst, kFirst, kSecond, kSecond}) records.push_back(Of(id, "gpu", implementation));
  }
  EXPECT_THAT(MakeMissingRecords(plan, OffersIn(records), records), IsEmpty());
  records.pop_back();
  records.pop_back();  // what no record shows was not offered
  EXPECT_THAT(Names(MakeMissingRecords(plan, OffersIn(records), records)), IsEmpty());
  std::erase_if(records, [](const Record& r) { return r.case_id == kSecond; });
  records.push_back(Of(kSecond, "gpu", "x"));
  EXPECT_THAT(Names(MakeMissingRecords(plan, OffersIn(records), records)), ElementsAre("bf16 gpu/"));
}

TEST(Missing, APoolIsOneDeviceWhicheverOfItRanTheCase) {
  const Plan plan = TwoCasesOn({{"gpu", "d"}});
  std::vector<Record> records = {Of(kFirst, "gpu", "x", "d #0"), Of(kSecond, "gpu", "x", "d #1")};
  for (Record& r : records) r.pool = "d";
  EXPECT_THAT(MakeMissingRecords(plan, OffersIn(records), records), IsEmpty());
  records.pop_back();
  const auto missing = MakeMissingRecords(plan, {{kFirst, "gpu", "d", {"x"}}, {kSecond, "gpu", "d", {"x"}}}, records);
  EXPECT_THAT(Names(missing), ElementsAre("bf16 gpu/x"));
  EXPECT_EQ(missing[0].device, "d");
}

TEST(Missing, CasesOfOtherShardsAreNot) {
  Plan plan = TwoCasesOn({{"cpu", "d"}});
  size_t missing = 0;
  for (plan.shard = {0, 5}; plan.shard.index < plan.shard.count; ++plan.shard.index) {
    missing += MakeMissingRecords(plan, {}, {}).size();
  }
  EXPECT_EQ(missing, 2u);
}

TEST(Missing, OffersRoundTripAndATornLastLineIsLeftOut) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Path("offers.jsonl");
  const std::string line = ToJsonLine(Offer{kFirst, "cpu", "a \"device\"", {"x", "y"}});
  std::ofstream(path) << line << "\n" << line.substr(0, 30);
  const auto offers = ReadOffers(path, {});
  ASSERT_TRUE(offers) << offers.error().message;
  ASSERT_EQ(offers->size(), 1u);
  EXPECT_EQ(offers->front().device, "a \"device\"");
  EXPECT_THAT(offers->front().implementations, ElementsAre("x", "y"));
  std::filesystem::remove(path);
  // Without the file: what ran was offered.
  const auto seen = ReadOffers(path, {Of(kFirst, "cpu", "x"), Of(kFirst, "cpu", "y"), Of(kFirst, "gpu", "")});
  ASSERT_EQ(seen->size(), 1u);
  EXPECT_THAT(seen->front().implementations, ElementsAre("x", "y"));
}

TEST(ExitCode, OfRecordsFollowsOutcomes) {
  const auto code = [](const char* outcome, const char* result_class = "", bool strict = false) {
    Record r = Of(kFirst, "cpu", "x");
    r.verdict = "mismatch", r.outcome = outcome, r.result_class = result_class;
    return ExitCodeOfRecords({r}, {.strict = strict});
  };
  EXPECT_EQ(code("pass"), 0);
  EXPECT_EQ(code("pass", "suspect"), 0);
  EXPECT_EQ(code("pass", "suspect", true), 1);
  Record false_time = Of(kFirst, "cpu", "x");
  false_time.verdict = false_time.outcome = "pass", false_time.timing_invalid = "2 s of 1 s";
  EXPECT_EQ(ExitCodeOfRecords({false_time}, {}), 0);
  EXPECT_EQ(ExitCodeOfRecords({false_time}, {.strict = true}), 1);
  EXPECT_EQ(code("inconclusive"), 0);
  EXPECT_EQ(code("inconclusive", "", true), 1);
  EXPECT_EQ(code("mismatch"), 1);
  EXPECT_EQ(code("known_failure"), 0);
  EXPECT_EQ(code("known_flake"), 0);
  EXPECT_EQ(code("unexpected_pass"), 1);
  EXPECT_EQ(code("missing"), 3);
  EXPECT_EQ(code("an outcome of the future"), 3);
  EXPECT_EQ(code("unsupported"), 4);
  EXPECT_EQ(ExitCodeOfRecords({}, {}), 4);
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/engine/perf/profile_files.h"

namespace assay {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

HostSpan Make(Phase phase, size_t label, double begin_s, double end_s) {
  const auto at = [](double s) { return static_cast<Nanoseconds>(s * 1e9); };
  return {phase, label, at(begin_s), at(end_s)};
}

// Ten seconds of two threads: the second one's execution overlaps with the first one's for one second.
std::vector<ThreadProfile> Sample() {
  ThreadProfile main{"main", {{}, {"c", "cpu", "naive"}}, {}, {}};
  main.spans = {Make(Phase::kExecute, 1, 2, 5), Make(Phase::kCompare, 1, 5, 6), Make(Phase::kJudge, 1, 1, 7),
                Make(Phase::kRun, 0, 0, 10)};
  main.workers = {{Phase::kExecute, 1, 2 * kSecond, 3 * kSecond, 4 * kSecond, 0, 0}};
  ThreadProfile helper{"columns 2", {{}, {"c", "vulkan", "tree"}}, {}, {}};
  helper.spans = {Make(Phase::kExecute, 1, 4, 6)};
  return {main, helper};
}

TEST(ProfileTotals, SecondsAreWithoutWhatIsNestedAndBackendsCountOnce) {
  const ProfileTotals totals = TotalsOf(Sample(), 0, 10 * kSecond);
  EXPECT_EQ(totals.wall_s, 10);
  EXPECT_DOUBLE_EQ(totals.backends_s, 4);
  const std::tuple<const char*, Phase, double> expected[] = {{"", Phase::kRun, 4},
                                                             {"cpu", Phase::kExecute, 3},
                                                             {"cpu", Phase::kJudge, 2},
                                                             {"cpu", Phase::kCompare, 1},
                                                             {"vulkan", Phase::kExecute, 2}};
  ASSERT_EQ(totals.phases.size(), std::size(expected));
  for (size_t i = 0; i < totals.phases.size(); ++i) {
    const auto& [backend, phase, seconds] = expected[i];
    EXPECT_EQ(totals.phases[i].backend, backend);
    EXPECT_EQ(totals.phases[i].phase, phase);
    EXPECT_DOUBLE_EQ(totals.phases[i].seconds, seconds);
    EXPECT_EQ(totals.phases[i].spans, 1);
  }
  const auto json = nlohmann::json::parse(ProfileJson(totals));
  EXPECT_DOUBLE_EQ(json["host_alone_share"], 0.6);
  EXPECT_EQ(json["phases"][1]["phase"], "execute");
}

TEST(ChromeTrace, WorkersHaveTracksAndArrowsFromTheirCalls) {
  std::ostringstream out;
  WriteChromeTrace(out, Sample(), 0);
  const auto events = nlohmann::json::parse(out.str())["traceEvents"];
  const auto find = [&](const std::string& type, int process) {
    for (const auto& event : events) {
      if (event["ph"] == type && event["pid"] == process && event["name"] == "execute") return event;
    }
    return nlohmann::json();
  };
  const auto call = find("X", 1), worker = find("X", 2), from = find("s", 1), to = find("f", 2);
  ASSERT_TRUE(call.is_object() && worker.is_object() && from.is_object() && to.is_object()) << out.str();
  EXPECT_EQ(call["ts"], 2e6);
  EXPECT_EQ(call["dur"], 3e6);
  EXPECT_EQ(worker["ts"], 3e6);
  EXPECT_EQ(worker["args"]["implementation"], "naive");
  EXPECT_EQ(from["id"], to["id"]);
  EXPECT_EQ(from["tid"], call["tid"]);
  EXPECT_EQ(from["ts"], call["ts"]);
  EXPECT_EQ(to["ts"], worker["ts"]);
}

}  // namespace
}  // namespace assay

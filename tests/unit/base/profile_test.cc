// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

namespace assay {
namespace {

const ThreadProfile* Find(const std::vector<ThreadProfile>& profiles, const std::string& thread) {
  const auto found = std::ranges::find(profiles, thread, &ThreadProfile::thread);
  return found == profiles.end() ? nullptr : &*found;
}

// One test: a profile is of the whole process, and ends with it.
TEST(Profile, SpansNestAndCarryTheirLabelAndThread) {
  { const Span before(Phase::kGolden); }
  EXPECT_TRUE(TakeProfile().empty());
  StartProfile();
  {
    const Span outer(Phase::kRun);
    const SpanContext context("case", "cpu", "naive");
    {
      const Span inner(Phase::kExecute);
      inner.AddWorker(NowNanoseconds(), 1e9, 7, 0.5);                // longer than the call
      inner.AddWorker(std::numeric_limits<Nanoseconds>::min(), -1);  // before it, and of no length
    }
    const Span open(Phase::kCompare);
  }
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      const ProfiledThread name("helper");
      const Span span(Phase::kInputs);
    }).join();
  }
  const std::vector<ThreadProfile> profiles = TakeProfile();
  ASSERT_EQ(profiles.size(), 2u);
  const ThreadProfile* main = Find(profiles, "main");
  ASSERT_NE(main, nullptr);
  ASSERT_EQ(main->spans.size(), 3u);
  const auto& [execute, compare, run] = std::tie(main->spans[0], main->spans[1], main->spans[2]);
  EXPECT_EQ(execute.phase, Phase::kExecute);
  EXPECT_EQ(compare.phase, Phase::kCompare);
  EXPECT_EQ(run.phase, Phase::kRun);
  EXPECT_LE(run.begin, execute.begin);
  EXPECT_LE(execute.end, compare.begin);
  EXPECT_LE(compare.end, run.end);
  EXPECT_EQ(main->labels[execute.label].implementation, "naive");
  EXPECT_EQ(main->labels[run.label].backend, "");
  ASSERT_EQ(main->workers.size(), 2u);
  for (const WorkerSpan& worker : main->workers) {
    EXPECT_EQ(worker.call, execute.begin);
    EXPECT_LE(execute.begin, worker.begin);
    EXPECT_LE(worker.begin, worker.end);
    EXPECT_LE(worker.end, execute.end);
    EXPECT_EQ(main->labels[worker.label].backend, "cpu");
  }
  EXPECT_EQ(main->workers[0].repetitions, 7);
  const ThreadProfile* helper = Find(profiles, "helper");
  ASSERT_NE(helper, nullptr);
  EXPECT_EQ(helper->spans.size(), 2u);
}

}  // namespace
}  // namespace assay

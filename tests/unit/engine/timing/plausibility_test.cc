// SPDX-License-Identifier: Apache-2.0
// Checks durations against the host's clock: each lie is found, and no true time is rejected, however busy the machine.
#include "harness/engine/timing/plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr double kRoundTrip = 30e-6;

TEST(SurelyAbove, IsBelowTheMedianInAllButOneOfAMillion) {
  std::mt19937_64 random(7);
  for (const size_t n : {size_t{20}, size_t{21}, size_t{25}, size_t{100}, size_t{1000}}) {
    int above = 0, tries = 4000;
    std::vector<double> values(n);
    for (int i = 0; i < tries; ++i) {
      for (double& x : values) x = std::exponential_distribution<double>(1)(random);
      above += SurelyAbove(values) > std::log(2.0) ? 1 : 0;
    }
    EXPECT_EQ(above, 0) << n;
  }
  EXPECT_EQ(SurelyAbove(std::vector<double>(19, 5.0)), -HUGE_VAL);
  EXPECT_EQ(SurelyAbove(std::vector<double>(20, 5.0)), 5);
}

// Calls of a plugin that says `claimed` where an execution takes `true_s`; jitter comes on top of each call.
struct World {
  double true_s = 200e-6, claimed_s = 200e-6, seen_s = 200e-6;
  double download_extra_s = 0, upload_extra_s = 0;
  bool device_clock = false, cold = false;
  std::function<double()> jitter = [] { return 0.0; };
  // Additional wait of a transfer behind another one, when the worker has used up its share of a processor.
  std::function<double()> second_extra_s = [] { return 0.0; };
};

Plausibility Watch(const World& world, int calls = 50) {
  Plausibility plausibility(kRoundTrip, world.cold);
  for (int i = 0; i < calls; ++i) {
    const int n = 2 + i % 5;
    plausibility.AddCall(kRoundTrip + n * world.true_s + world.jitter(), n * world.claimed_s, static_cast<uint64_t>(n),
                         world.device_clock, world.claimed_s);
    if (plausibility.NeedsWaits()) plausibility.AddWait(world.jitter());
    for (int k = 0; k < n; ++k) plausibility.AddExecution(world.claimed_s, true);
    plausibility.AddExecution(world.seen_s, false);
    const double first_s = kRoundTrip + 5e-6 + world.download_extra_s + world.jitter();
    const double again_s = kRoundTrip + 5e-6 + std::min(world.jitter(), world.jitter());
    if (plausibility.IsFast(world.claimed_s, first_s)) {
      plausibility.AddDownloads(world.claimed_s, first_s, kRoundTrip);
    } else {
      plausibility.AddDownloads(world.claimed_s, first_s, again_s, world.jitter());
    }
    plausibility.AddUploads(0, kRoundTrip + 5e-6 + world.upload_extra_s + world.second_extra_s() + world.jitter(),
                            kRoundTrip + 5e-6 + world.jitter(), world.second_extra_s() + world.jitter());
  }
  return plausibility;
}

std::string Judge(const World& world, int calls = 50) {
  return Watch(world, calls).Contradiction();
}

TEST(Plausibility, SaysNothingAgainstTheTruth) {
  EXPECT_EQ(Judge({}), "");
  EXPECT_EQ(Judge({.device_clock = true}), "");
  // A device's clock does not see the launch.
  EXPECT_EQ(Judge({.true_s = 60e-6, .claimed_s = 2e-6, .seen_s = 2e-6, .device_clock = true}), "");
  // Flushes are no part of a duration.
  EXPECT_EQ(Judge({.true_s = 5e-3, .cold = true}), "");
}

TEST(Plausibility, SaysNothingAgainstTheTruthOnABusyMachine) {
  std::mt19937_64 random(3);
  for (const double mean_s : {50e-6, 1e-3, 20e-3}) {
    for (const double true_s : {1e-6, 50e-6, 2e-3}) {
      for (int run = 0; run < 300; ++run) {
        World world{.true_s = true_s, .claimed_s = true_s, .seen_s = true_s};
        // Two of three calls are held up.
        world.jitter = [&] {
          const bool held_up = std::bernoulli_distribution(0.67)(random);
          return held_up ? std::exponential_distribution<double>(1 / mean_s)(random) : 0;
        };
        ASSERT_EQ(Judge(world), "") << mean_s << " " << true_s;
      }
    }
  }
}

// With twenty processes on two processors nearly every call waits, empty calls included.
TEST(Plausibility, OfATruthOnAHostThatIsOverloadedIsADoubtAtMost) {
  std::mt19937_64 random(5);
  int doubts = 0, runs = 0;
  for (const double held_up : {0.9, 1.0}) {
    for (const double true_s : {1e-6, 50e-6, 2e-3}) {
      for (int run = 0; run < 200; ++run, ++runs) {
        World world{.true_s = true_s, .claimed_s = true_s, .seen_s = true_s};
        world.jitter = [&] {
          const bool waits = std::bernoulli_distribution(held_up)(random);
          return waits ? std::lognormal_distribution<double>(std::log(4e-3), 1)(random) : 0;
        };
        world.second_extra_s = world.jitter;
        const Plausibility plausibility = Watch(world, 100);
        ASSERT_EQ(plausibility.Contradiction(), "") << held_up << " " << true_s;
        doubts += plausibility.Doubt().empty() ? 0 : 1;
        EXPECT_TRUE(plausibility.Doubt().empty() || plausibility.AtMost() >= true_s);
      }
    }
  }
  EXPECT_GT(doubts, runs / 4);
}

// The lie is in doubt or found, and no figure that hides the work is believed.
TEST(Plausibility, OfALieOnAnOverloadedHostBelievesNoFigure) {
  std::mt19937_64 random(6);
  for (int run = 0; run < 200; ++run) {
    World lazy{.true_s = 1e-6, .claimed_s = 1e-6, .seen_s = 1e-6, .download_extra_s = 5e-3};
    lazy.jitter = [&] { return std::lognormal_distribution<double>(std::log(4e-3), 1)(random); };
    const Plausibility plausibility = Watch(lazy, 100);
    EXPECT_TRUE(!plausibility.Contradiction().empty() || plausibility.AtMost() >= 5e-3);
  }
}

TEST(Plausibility, OfExecutionsTooShortForTheHostsClockIsTheMostThatTheyTake) {
  EXPECT_EQ(Watch({}).AtMost(), 0);
  EXPECT_EQ(Watch({.true_s = 100e-6, .claimed_s = 60e-6, .seen_s = 60e-6, .device_clock = true}).AtMost(), 0);
  // A hundredth of the truth, in calls whose length permits it.
  const Plausibility liar = Watch({.true_s = 5e-6, .claimed_s = 50e-9, .seen_s = 50e-9});
  EXPECT_EQ(liar.Contradiction(), "");
  EXPECT_NEAR(liar.AtMost(), 5e-6, 1e-9);
  EXPECT_EQ(liar.Doubt(), "");
  // The overhead around a device's short executions is no part of them, but nothing proves that here.
  EXPECT_NEAR(Watch({.true_s = 60e-6, .claimed_s = 2e-6, .seen_s = 2e-6, .device_clock = true}).AtMost(), 60e-6, 1e-9);
}

TEST(Plausibility, FindsDurationsThatAreTooShortForTheCall) {
  EXPECT_THAT(Judge({.claimed_s = 2e-6, .seen_s = 2e-6}), HasSubstr("an execution took 0.0002 s by the host's clock"));
  EXPECT_THAT(Judge({.true_s = 1e-3, .claimed_s = 2e-6, .seen_s = 2e-6, .device_clock = true}),
              HasSubstr("and 2e-06 s as the plugin says"));
}

// All of the time is told, in the one execution of each call that does not count.
TEST(Plausibility, LeavesOutCallsWhoseDurationsAreNotAlike) {
  const auto counts = [](double first_s, double other_s) {
    Plausibility plausibility(kRoundTrip, false);
    const double sum_s = first_s + 4 * other_s;
    return plausibility.AddCall(kRoundTrip + sum_s, sum_s, 5, false, other_s);
  };
  EXPECT_FALSE(counts(990e-6, 2e-6));
  EXPECT_TRUE(counts(200e-6, 200e-6));
  EXPECT_TRUE(counts(80e-6, 2e-6));  // threads that slept
}

TEST(Plausibility, SaysWhatWasSuspiciousInTooFewTransfers) {
  Plausibility plausibility(kRoundTrip, false);
  for (int i = 0; i < 5; ++i) {
    plausibility.AddExecution(1e-6, true);
    plausibility.AddDownloads(1e-6, kRoundTrip + 0.2, kRoundTrip);
  }
  EXPECT_EQ(plausibility.Contradiction(), "");
  EXPECT_THAT(plausibility.Undecided(), HasSubstr("0.2 s of work were left to the download"));
}

// Where something else takes the processors, nearly every call has an execution that is held up.
TEST(Plausibility, SaysNothingAgainstCallsOfWhichOneInTenIsNotHeldUp) {
  Plausibility plausibility(kRoundTrip, false);
  for (int i = 0; i < 200; ++i) {
    const double sum_s = 32 * 5e-6 + (i % 10 == 0 ? 0 : 8e-3);
    EXPECT_EQ(plausibility.AddCall(kRoundTrip + sum_s, sum_s, 32, false, 5e-6), i % 10 == 0);
  }
  EXPECT_EQ(plausibility.Contradiction(), "");
}

// The calls between, in which nothing is left to the download, tell nothing of those in which all is.
TEST(Plausibility, FindsWorkThatIsLeftToSomeDownloadsAlone) {
  Plausibility plausibility(kRoundTrip, false);
  for (int i = 0; i < 60; ++i) {
    const bool lazy = i % 5 < 3;
    const double execution_s = lazy ? 1e-6 : 1e-3, left_s = lazy ? 1e-3 : 0;
    plausibility.AddCall(kRoundTrip + execution_s, execution_s, 1, false, execution_s);
    plausibility.AddExecution(execution_s, true);
    plausibility.AddDownloads(execution_s, kRoundTrip + left_s, kRoundTrip);
  }
  EXPECT_THAT(plausibility.Contradiction(), HasSubstr("were left to the download"));
}

TEST(Plausibility, FindsWorkThatIsDoneBySomeUploadsAlone) {
  Plausibility plausibility(kRoundTrip, false);
  for (int i = 0; i < 60; ++i) {
    const bool eager = i % 5 < 2;
    const double execution_s = eager ? 1e-6 : 1e-3, done_s = eager ? 1e-3 : 0;
    plausibility.AddCall(kRoundTrip + execution_s, execution_s, 1, false, execution_s);
    plausibility.AddExecution(execution_s, true);
    if (eager) plausibility.AddExecution(execution_s, true);
    plausibility.AddUploads(execution_s, kRoundTrip + done_s, kRoundTrip);
  }
  EXPECT_THAT(plausibility.Contradiction(), HasSubstr("were done by the upload"));
}

TEST(Plausibility, IsNotThatCallsTellTheTruthInWhichNothingCounts) {
  Plausibility plausibility(kRoundTrip, false);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(plausibility.AddCall(kRoundTrip + 1e-3, 1e-3, 1, false, std::nullopt));
    EXPECT_FALSE(plausibility.AddCall(kRoundTrip + 5e-3, 50e-6, 5, false, 10e-6));
    plausibility.AddWait(0);
  }
  EXPECT_THAT(plausibility.Contradiction(), HasSubstr("an execution took 0.001 s by the host's clock"));
}

TEST(Plausibility, FindsDurationsThatAreTooLongForTheCall) {
  EXPECT_THAT(Judge({.claimed_s = 400e-6, .seen_s = 400e-6, .cold = true}),
              HasSubstr("the durations of one call add up"));
}

TEST(Plausibility, FindsWorkThatTransfersDo) {
  const World lazy{.true_s = 1e-6, .claimed_s = 1e-6, .seen_s = 1e-6, .download_extra_s = 200e-6};
  EXPECT_THAT(Judge(lazy), HasSubstr("s of work were left to the download of an output"));
  const World eager{.true_s = 1e-6, .claimed_s = 1e-6, .seen_s = 1e-6, .upload_extra_s = 200e-6};
  EXPECT_THAT(Judge(eager), HasSubstr("s of work were done by the upload of inputs"));
}

// A large output, of which the first download may take twice as long as later ones.
TEST(Plausibility, FindsWorkBesideALongDownload) {
  const auto finds = [](double left_s, double copy_s) {
    Plausibility plausibility(kRoundTrip, false);
    for (int i = 0; i < 40; ++i) {
      plausibility.AddCall(kRoundTrip + 40e-6, 40e-6, 1, false, 40e-6);
      plausibility.AddExecution(40e-6, true);
      plausibility.AddDownloads(40e-6, kRoundTrip + left_s + copy_s, kRoundTrip + copy_s);
    }
    return !plausibility.Contradiction().empty();
  };
  EXPECT_TRUE(finds(200e-6, 65e-6));
  EXPECT_FALSE(finds(65e-6, 65e-6));
  EXPECT_FALSE(finds(200e-6, 200e-6));
}

TEST(Plausibility, FindsWhatIsNotComputedAgain) {
  EXPECT_EQ(Judge({.seen_s = 1e-6}),
            "executions on data that it had seen before took 1e-06 s, on changed data 0.0002 s");
  EXPECT_EQ(Judge({.seen_s = 150e-6}), "");
}

TEST(Plausibility, BelievesLaunchesAsLongAsTheUserSays) {
  for (const double launch_s : {0.0, 1e-3}) {
    Plausibility plausibility(kRoundTrip, false, launch_s);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(plausibility.AddCall(kRoundTrip + 4 * 0.9e-3, 4 * 10e-6, 4, true, 10e-6), launch_s > 0);
      plausibility.AddWait(0);
    }
    EXPECT_EQ(plausibility.Contradiction().empty(), launch_s > 0);
    if (launch_s == 0) {
      EXPECT_THAT(plausibility.Contradiction(), HasSubstr("say so with --launch-us"));
    }
  }
}

TEST(Plausibility, OfAFewCallsIsASuspicionThatMoreOfThemDecide) {
  for (const auto& [elapsed_s, enough] : {std::pair{0.001, 40}, {0.1, 40}}) {
    Plausibility plausibility(kRoundTrip, false);
    for (int i = 0; i < enough; ++i) {
      EXPECT_EQ(plausibility.IsSuspicious(), i > 0);
      EXPECT_EQ(plausibility.Contradiction(), "");
      EXPECT_FALSE(plausibility.AddCall(elapsed_s, 1e-6, 1, false, 1e-6));
      plausibility.AddWait(0);
    }
    EXPECT_FALSE(plausibility.IsSuspicious());
    EXPECT_NE(plausibility.Contradiction(), "");
  }
  Plausibility cleared(kRoundTrip, false);
  EXPECT_FALSE(cleared.AddCall(0.001, 1e-6, 1, false, 1e-6));
  EXPECT_TRUE(cleared.AddCall(kRoundTrip + 1e-6, 1e-6, 1, false, 1e-6));
  EXPECT_FALSE(cleared.IsSuspicious());
}

TEST(Plausibility, ColdTimesFarBelowEveryWarmOneCannotBeTrue) {
  const auto contradicts = [](double warm_s, double cold_s, size_t of_each = 20) {
    std::vector<double> warm(of_each, 2 * warm_s);  // a busy machine held most of them up
    if (!warm.empty()) warm[0] = warm_s;
    return !FindColdContradiction(warm, std::vector<double>(of_each, cold_s)).empty();
  };
  EXPECT_TRUE(contradicts(1e-3, 1e-5));
  EXPECT_TRUE(contradicts(1e-3, 0));
  EXPECT_FALSE(contradicts(1e-3, 1e-3));  // of data far larger than caches
  EXPECT_FALSE(contradicts(1e-3, 1e-2));
  EXPECT_FALSE(contradicts(1e-3, 4e-4));   // a device's clock rate had risen
  EXPECT_FALSE(contradicts(12e-6, 1e-6));  // one step of a coarse clock
  EXPECT_FALSE(contradicts(1e-3, 1e-5, 9));
  EXPECT_FALSE(contradicts(1e-3, 1e-5, 0));
}

}  // namespace
}  // namespace assay::test

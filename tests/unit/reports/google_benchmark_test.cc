// SPDX-License-Identifier: Apache-2.0
#include "reports/google_benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/base/json.h"

namespace assay {
namespace {

Record Make(const std::string& implementation, double seconds) {
  Record r;
  r.case_id = "fft/f32/n=8/fill=normal/seed=0";
  r.backend = "cuda", r.implementation = implementation;
  r.verdict = r.outcome = "pass", r.result_class = "within_class";
  r.time_median_s = seconds, r.time_p10_s = seconds / 2, r.time_p90_s = seconds * 2, r.samples = 30;
  r.gflops = 12.5;
  return r;
}

TEST(GoogleBenchmark, MediansAreAggregatesInNanoseconds) {
  const Json out = Json::parse(GoogleBenchmarkReport({Make("vendor", 2e-6), Make("direct", 3e-6)}, R"({"cores": 2})"));
  EXPECT_EQ(out["context"]["json_schema_version"], 1);
  EXPECT_EQ(out["context"]["num_cpus"], 2);
  ASSERT_EQ(out["benchmarks"].size(), 2u);
  const Json& entry = out["benchmarks"][0];
  EXPECT_EQ(entry["name"], "fft/f32/n=8/fill=normal/seed=0/cuda/vendor_median");
  EXPECT_EQ(entry["run_name"], "fft/f32/n=8/fill=normal/seed=0/cuda/vendor");
  EXPECT_EQ(entry["run_type"], "aggregate");
  EXPECT_EQ(entry["aggregate_name"], "median");
  EXPECT_EQ(entry["time_unit"], "ns");
  EXPECT_DOUBLE_EQ(entry["real_time"].get<double>(), 2000);
  EXPECT_DOUBLE_EQ(entry["cpu_time"].get<double>(), 2000);
  EXPECT_EQ(entry["gflops"], 12.5);
  EXPECT_EQ(out["benchmarks"][1]["family_index"], entry["family_index"]);
}

TEST(GoogleBenchmark, TimesOfWrongOrSuspectResultsAreNamedButNotGiven) {
  Record wrong = Make("wrong", 1e-6), suspect = Make("suspect", 1e-6), known = Make("known", 1e-6);
  wrong.verdict = wrong.outcome = "mismatch";
  suspect.result_class = "suspect";
  known.verdict = "mismatch", known.outcome = "known_failure";
  const Json out = Json::parse(GoogleBenchmarkReport({wrong, suspect, known}, ""));
  EXPECT_TRUE(out["benchmarks"].empty());
  EXPECT_EQ(out["context"]["assay_excluded"].size(), 3u);
}

TEST(GoogleBenchmark, WhatIsNotFiniteNeverReachesTheFile) {
  Record r = Make("x", 1e-6), untimed = Make("y", std::numeric_limits<double>::infinity());
  r.gflops = std::numeric_limits<double>::quiet_NaN();
  const Json out = Json::parse(GoogleBenchmarkReport({r, untimed}, ""));
  ASSERT_EQ(out["benchmarks"].size(), 1u);
  EXPECT_FALSE(out["benchmarks"][0].contains("gflops"));
}

}  // namespace
}  // namespace assay

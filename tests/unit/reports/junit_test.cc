// SPDX-License-Identifier: Apache-2.0
#include "reports/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

Record Make(const std::string& outcome) {
  Record r;
  r.case_id = "conv/f32/n=1/fill=normal/seed=0";
  r.op = "conv", r.backend = "cuda", r.device = "GPU 0", r.implementation = "direct";
  r.verdict = r.outcome = outcome;
  r.reason = "since " + outcome;
  r.reproduce = "assay run --case X";
  return r;
}

TEST(Junit, EveryOutcomeHasItsElement) {
  for (const char* failing : {"mismatch", "below_contract", "nondeterministic", "unexpected_pass"}) {
    EXPECT_THAT(JunitReport({Make(failing)}, ""), HasSubstr(std::string("<failure type=\"") + failing + "\" message="));
  }
  for (const char* broken : {"crash", "timeout", "error", "missing", "an outcome of the future"}) {
    EXPECT_THAT(JunitReport({Make(broken)}, ""), HasSubstr(std::string("<error type=\"") + broken + "\" message="));
  }
  EXPECT_THAT(JunitReport({Make("unsupported")}, ""), HasSubstr("<skipped message=\"since unsupported\"/>"));
  EXPECT_THAT(JunitReport({Make("unavailable")}, ""), HasSubstr("<skipped message=\"since unavailable\"/>"));
  for (const char* other : {"known_failure", "known_flake", "inconclusive"}) {
    const std::string expected = std::string("<skipped message=\"") + other + ": since " + other + "\"/>";
    EXPECT_THAT(JunitReport({Make(other)}, ""), HasSubstr(expected));
  }
  EXPECT_THAT(JunitReport({Make("pass")}, ""), Not(HasSubstr("since")));
}

TEST(Junit, SuitesAreBackendDeviceOperatorAndCountWhatTheyHold) {
  Record other = Make("pass");
  other.op = "fft";
  const std::string xml = JunitReport({Make("pass"), Make("mismatch"), Make("crash"), other}, "");
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="cuda/GPU 0/conv" tests="3" failures="1" errors="1" skipped="0")"));
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="cuda/GPU 0/fft" tests="1" failures="0")"));
  EXPECT_THAT(xml, HasSubstr(R"(<testcase name="conv/f32/n=1/fill=normal/seed=0" classname="cuda.direct")"));
}

TEST(Junit, WhatFailsAStrictRunFailsItsCase) {
  const std::string strict = R"({"strict": true})";
  Record late = Make("pass"), suspect = Make("pass");
  late.timing_invalid = "2 s < 3 s", suspect.result_class = "suspect";
  for (const Record& record : {Make("inconclusive"), late, suspect}) {
    EXPECT_THAT(JunitReport({record}, ""), HasSubstr("failures=\"0\""));
    EXPECT_THAT(JunitReport({record}, strict), AllOf(HasSubstr("failures=\"1\""), HasSubstr("<failure ")));
  }
  EXPECT_THAT(JunitReport({Make("pass"), Make("known_failure")}, strict), HasSubstr("failures=\"0\""));
}

TEST(Junit, TimesSumWhatTheCaseCost) {
  Record r = Make("pass");
  r.prepare_s = 0.375, r.prepare_cached_s = 0.125, r.golden_s = 0.25, r.time_median_s = 0.01, r.samples = 100;
  EXPECT_THAT(JunitReport({r}, ""), HasSubstr("time=\"1.750000\""));
}

TEST(Junit, ATimeThatCannotBeTrueIsNamedAndNotSummed) {
  Record r = Make("pass");
  r.prepare_s = 0.5, r.time_median_s = 0.01, r.samples = 100, r.timing_invalid = "2 s < 3 s";
  const std::string xml = JunitReport({r}, "");
  EXPECT_THAT(xml, HasSubstr("time=\"0.500000\"><system-out>the time cannot be true: 2 s &lt; 3 s</system-out>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"note\" value=\"1 time cannot be true and counts nowhere"));
}

TEST(Junit, APassOfASampleIsNoneOfTheWhole) {
  Record r = Make("pass");
  r.sample_judged = 64, r.sample_elements = 3500, r.reason = "judged 64 of 3,500 elements, drawn by seed 7";
  EXPECT_THAT(JunitReport({r}, ""),
              HasSubstr("><system-out>judged 64 of 3,500 elements, drawn by seed 7</system-out>"));
}

TEST(Junit, EnvironmentBecomesProperties) {
  const std::string xml = JunitReport({Make("pass")}, R"({"cpu": "A & B", "variables": {"X": "1"}})");
  EXPECT_THAT(xml, HasSubstr(R"(<property name="cpu" value="A &amp; B"/>)"));
  EXPECT_THAT(xml, HasSubstr(R"(<property name="variables.X" value="1"/>)"));
  EXPECT_THAT(JunitReport({Make("pass")}, "not json"), HasSubstr("<properties>"));
}

}  // namespace
}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/number_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

TEST(NumberOption, SaysWhatIsWrongAndWhatIsAccepted) {
  const Limits<int> threads{1, 1024};
  const Limits<double> seconds{0.001, 1e6};
  const Limits<uint64_t> seeds{0, std::numeric_limits<uint64_t>::max()};
  for (const char* text : {"1", "1024"}) EXPECT_EQ(NumberProblem(text, threads), "") << text;
  for (const char* text : {"0.001", "1e3", "60"}) EXPECT_EQ(NumberProblem(text, seconds), "") << text;
  for (const char* text : {"0", "18446744073709551615"}) EXPECT_EQ(NumberProblem(text, seeds), "") << text;
  for (const char* text : {"", "abc", "2x", " 2", "nan", "-nan", "0x10", "--2"}) {
    EXPECT_EQ(NumberProblem(text, threads),
              "'" + std::string(text) + "' is not a number; give an integer from 1 to 1024");
    EXPECT_THAT(NumberProblem(text, seconds), HasSubstr("is not a number; give a number from 0.001 to 1000000"))
        << text;
  }
  EXPECT_THAT(NumberProblem("1.5", threads), HasSubstr("is not an integer"));
  for (const char* text : {"0", "-3", "1025", "inf", "99999999999999999999"}) {
    EXPECT_THAT(NumberProblem(text, threads), HasSubstr("is out of range")) << text;
  }
  for (const char* text : {"0", "-1", "inf", "-inf", "1e300"}) {
    EXPECT_THAT(NumberProblem(text, seconds), HasSubstr("is out of range")) << text;
  }
  EXPECT_THAT(NumberProblem("-3", seeds), HasSubstr("is out of range"));
  EXPECT_THAT(NumberProblem("18446744073709551616", seeds), HasSubstr("is out of range"));
}

TEST(NumberOption, ReadsDecimalNumbers) {
  CLI::App app;
  int jobs = 7;
  std::optional<uint64_t> seed;
  AddNumber<int>(app, "--jobs", jobs, {1, 1024}, "");
  AddNumber<uint64_t>(app, "--seed", seed, {0, 100}, "");
  app.parse("--seed 010", false);
  EXPECT_EQ(seed, 10u);  // not octal
  EXPECT_EQ(jobs, 7);
  app.clear();
  app.parse("--jobs 3", false);
  EXPECT_EQ(jobs, 3);
  EXPECT_THROW(app.parse("--jobs nan", false), CLI::ValidationError);
}

}  // namespace
}  // namespace assay::cli

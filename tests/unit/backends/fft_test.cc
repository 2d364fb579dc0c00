// SPDX-License-Identifier: Apache-2.0
// fft: every algorithm against the definition, on every kind, direction, scale and layout.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/backends/fft_check.h"

namespace plugin_test {
namespace {

class Fft : public FftTest {
 protected:
  Fft() : FftTest(Cpu()) {}
};

constexpr const char* kFftKinds[] = {"c2c", "r2c", "c2r"};

TEST_F(Fft, EveryLengthKindAndDirection) {
  for (int64_t n = 1; n <= 40; ++n) {
    for (const char* kind : kFftKinds) {
      for (const bool inverse : {false, true}) {
        Check({.kind = kind, .wide = n % 2 == 0, .n = {n}, .batch = 2, .inverse = inverse});
        Check({.kind = kind, .wide = n % 2 != 0, .n = {n}, .inverse = inverse});
      }
    }
  }
  EXPECT_GT(ran_, 1000);
}

TEST_F(Fft, LongerLengths) {
  for (const int64_t n : {127, 128, 360, 400, 509, 512, 1000, 1009, 1024, 961}) {
    for (const char* kind : kFftKinds) Check({.kind = kind, .wide = n == 1009, .n = {n}});
  }
}

TEST_F(Fft, SeveralAxesScalesAndStrides) {
  const std::vector<std::vector<int64_t>> shapes = {{4, 6}, {5, 7},  {1, 8},    {8, 1},
                                                    {3, 2}, {37, 4}, {3, 4, 5}, {2, 3, 4, 6}};
  for (const auto& n : shapes) {
    for (const char* kind : kFftKinds) {
      for (const char* norm : {"none", "ortho", "backward"}) {
        for (int flags = 0; flags < 4; ++flags) {
          Check({.kind = kind,
                 .n = n,
                 .batch = 2,
                 .inverse = (flags & 1) != 0,
                 .norm = norm,
                 .strided = (flags & 2) != 0});
        }
      }
    }
  }
}

TEST_F(Fft, SeveralThreads) {
  Check({.n = {8, 16, 16, 32}});
}

TEST_F(Fft, DeclaresItsAlgorithmAndRefusesWithAReason) {
  Op short_line = FftArgs{.n = {64}}.Description();
  const auto all = Cpu().Offered(short_line);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].name == "radix" && Declares(all[0], "alg=fft"));
  EXPECT_TRUE(all[1].name == "bluestein" && Declares(all[1], "alg=bluestein"));
  EXPECT_TRUE(all[2].name == "direct" && Declares(all[2], "alg=direct"));
  Op prime = FftArgs{.n = {2053}}.Description();
  const auto one = Cpu().Offered(prime);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "bluestein");
  Op wrong("fft");
  wrong.In(Dense("x", kF16, {1, 8})).Out(Dense("y", kF16, {1, 8}));
  wrong.String("kind", "c2c").List("n", {8}).Int("batch", 1).String("dir", "fwd").String("norm", "none");
  std::string reason;
  EXPECT_TRUE(Cpu().Query(wrong, &reason).empty());
  EXPECT_NE(reason.find("not f16-f16"), std::string::npos) << reason;
}

// A number that is not finite spoils its transform, and no other of the batch.
TEST_F(Fft, NanStaysInItsTransform) {
  const FftArgs c{.kind = "r2c", .n = {12}, .batch = 3};
  Op op = c.Description();
  std::vector<double> x = c.Input(1);
  x[12 + 5] = NAN;
  for (const Implementation& implementation : Cpu().Offered(op)) {
    const auto y = Cpu().Run(op, implementation.name, {x});
    for (int64_t i = 0; i < 3 * 14; ++i) {
      const bool certain = i / 14 == 1 && i % 2 == 0 && i % 14 != 6;  // real parts but where cos(2 pi 5 k / 12) = 0
      if (i / 14 != 1) {
        ASSERT_FALSE(std::isnan(y[i])) << implementation.name << " " << i;
      }
      if (certain) {
        ASSERT_TRUE(std::isnan(y[i])) << implementation.name << " " << i;
      }
    }
  }
}

#ifdef ASSAY_ONEDNN_PLUGIN
TEST_F(Fft, IsNotAnOperatorOfOneDnn) {
  Op op = FftArgs{.n = {64}}.Description();
  std::string reason;
  EXPECT_TRUE(PluginAt(ASSAY_ONEDNN_PLUGIN).Query(op, &reason).empty());
  EXPECT_NE(reason.find("no operator 'fft' in this backend"), std::string::npos) << reason;
}
#endif

}  // namespace
}  // namespace plugin_test

// SPDX-License-Identifier: Apache-2.0
// Rader's algorithm sums the points of a prime length in order for its first output, which of data around 1 is far
// above all others.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

double InF32(double x) {
  return static_cast<double>(static_cast<float>(x));
}

// The golden values, but for the first output, which is summed in f32; `skipped` is left out of it.
std::vector<double> WithSummedFirst(const StatisticCase& c, int64_t skipped = -1) {
  std::vector<double> got = c.golden.value;
  const std::vector<double> x = c.inputs[0].ToDoubles();
  for (size_t part = 0; part < 2; ++part) {
    double sum = 0;
    for (size_t j = part; j < x.size(); j += 2) {
      if (static_cast<int64_t>(j / 2) != skipped) sum = InF32(sum + x[j]);
    }
    got[part] = sum;
  }
  return got;
}

TEST(OrderedSums, OfTheFirstOutputOfAPrimeAreLegal) {
  double largest = 0;
  for (int seed = 0; seed < 40; ++seed) {
    const StatisticCase c(fmt::format("fft/c64/kind=c2c,n=1009/fill=near_one/seed={}", seed),
                          seed % 2 == 0 ? "acc=f32;alg=fft" : "acc=f32;alg=bluestein");
    const StatisticFinding finding = c.Judge(WithSummedFirst(c)).statistic;
    ASSERT_TRUE(finding.applicable);
    EXPECT_LE(finding.margin, 1) << seed << " " << finding.reason;
    largest = std::max(largest, finding.margin);
    EXPECT_FALSE(Holds(c.Judge(WithSummedFirst(c, 500)))) << seed;
  }
  fmt::print("first outputs of 40 transforms: largest margin {:.3f}\n", largest);
}

}  // namespace
}  // namespace assay::test

// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/floor_quotients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace assay::formula {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// By branches, one after the other.
double Expected(double x, double y) {
  if (std::isinf(y) && std::isfinite(x)) return x != 0 && (x < 0) != (y < 0) ? -1 : 0;
  const double quotient = std::floor(x / y), rest = std::fma(-quotient, y, x);
  return rest != 0 && (rest < 0) != (y < 0) && std::isfinite(quotient) ? quotient - 1 : quotient;
}

TEST(FloorQuotients, EveryPairOfEdgesIsAsByBranches) {
  std::vector<double> edges = {0.0,
                               -0.0,
                               1,
                               -1,
                               2,
                               -2,
                               3,
                               -3,
                               0x1p32,
                               0x1p53,
                               -0x1p53,
                               0x1p-1074,
                               0x1p1023,
                               1e308,
                               kInfinity,
                               -kInfinity,
                               kNan,
                               7.5,
                               -7.5,
                               0x1.fffffffffffffp52,
                               9007199254740991.0,
                               -9007199254740991.0};
  std::vector<double> x, y;
  for (const double a : edges) {
    for (const double b : edges) x.push_back(a), y.push_back(b);
  }
  std::vector<double> z(x.size());
  FloorQuotients(x.data(), y.data(), z.data(), std::ssize(x));
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = Expected(x[i], y[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(z[i])) << x[i] << " / " << y[i];
    } else {
      EXPECT_EQ(z[i], expected) << x[i] << " / " << y[i];
    }
  }
}

// 2^53 - 1 over 2 and the like, whose quotients round up to an integer.
TEST(FloorQuotients, AQuotientThatRoundsUpIsTakenBack) {
  const double x[] = {9007199254740991.0 * 3 - 1, 4503599627370495.5, -9007199254740991.0}, y[] = {3, 1, 2};
  double z[3];
  FloorQuotients(x, y, z, 3);
  for (int i = 0; i < 3; ++i) EXPECT_LE(std::fma(z[i], y[i], -x[i]), 0) << i;
  EXPECT_EQ(z[2], -4503599627370496.0);
}

}  // namespace
}  // namespace assay::formula

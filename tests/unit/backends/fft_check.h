// SPDX-License-Identifier: Apache-2.0
// Every algorithm of a plugin against the definition of the transform.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/backends/fft_case.h"

namespace plugin_test {

inline bool Declares(const Implementation& implementation, const std::string& text) {
  return implementation.contract.find(text) != std::string::npos;
}

// Error bound of correct algorithms relative to the norm of the whole transform: generous, but below any fault.
inline double Tolerance(const FftArgs& c, const Implementation& implementation) {
  double steps = 4;
  for (const int64_t n : c.n) {
    const double log = std::log2(4.0 * static_cast<double>(n));
    int64_t rest = n;
    if (Declares(implementation, "alg=direct")) steps += 2 * static_cast<double>(n) + 4;
    if (Declares(implementation, "alg=bluestein")) steps += 60 * log;
    for (int64_t p = 2; rest > 1; ++p) {
      for (; rest % p == 0; rest /= p) steps += 3 * std::pow(static_cast<double>(p), 1.5) + 8;
    }
  }
  return steps * c.Real().unit;
}

class FftTest : public testing::Test {
 protected:
  explicit FftTest(Plugin& plugin) : plugin_(plugin) {}

  void Check(const FftArgs& c) {
    Op op = c.Description();
    const auto implementations = plugin_.Offered(op);
    const std::vector<double> x = c.Input(7);
    std::vector<std::vector<FftArgs::Complex>> expected;
    for (int64_t b = 0; b < c.batch; ++b) expected.push_back(c.Transform(c.Signal(x, b)));
    for (const Implementation& implementation : implementations) {
      SCOPED_TRACE(implementation.name + " " + c.kind + " n[0]=" + std::to_string(c.n[0]));
      const std::vector<double> got = plugin_.Run(op, implementation.name, {x});
      Compare(c, expected, got, Tolerance(c, implementation));
      ++ran_;
    }
  }

  static void Compare(const FftArgs& c, const std::vector<std::vector<FftArgs::Complex>>& expected,
                      const std::vector<double>& got, double tolerance) {
    const int64_t columns = c.YAxes().back(), elements = FftArgs::Product(c.YAxes());
    const int parts = c.Y().Parts();
    ASSERT_EQ(std::ssize(got), c.batch * elements * parts);
    std::vector<double> norms;
    for (const auto& whole : expected) {
      long double norm = 0;
      for (const auto& value : whole) norm += std::norm(value);
      norms.push_back(static_cast<double>(std::sqrt(norm)));
    }
    for (int64_t i = 0; i < c.batch * elements; ++i) {
      const auto& whole = expected[i / elements];
      const auto& value = whole[i % elements / columns * c.n.back() + i % columns];
      const double bound = tolerance * norms[i / elements];
      ASSERT_NEAR(got[i * parts], static_cast<double>(value.real()), bound) << "element " << i;
      if (parts == 2) {
        ASSERT_NEAR(got[i * parts + 1], static_cast<double>(value.imag()), bound) << "element " << i;
      }
    }
  }

  Plugin& plugin_;
  int ran_ = 0;
};

}  // namespace plugin_test

// SPDX-License-Identifier: Apache-2.0
#include "backends/common/fft_tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numbers>

namespace plugin {
namespace {

std::vector<std::complex<double>> Values(const FftTables& tables) {
  const std::vector<std::byte> bytes = tables.Bytes();
  std::vector<std::complex<double>> values(bytes.size() / sizeof(std::complex<double>));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(FftTables, RootsAreThoseOfUnityWithExactAxes) {
  FftTables tables(true);
  EXPECT_EQ(tables.AddRoots(12), 0u);
  EXPECT_EQ(tables.AddRoots(4), 12u);
  const auto values = Values(tables);
  for (int j = 0; j < 12; ++j) {
    const auto expected = std::polar(1.0, -2 * std::numbers::pi * j / 12);
    EXPECT_LT(std::abs(values[static_cast<size_t>(j)] - expected), 1e-15) << j;
  }
  EXPECT_EQ(values[3], std::complex<double>(0, -1));
  EXPECT_EQ(values[12 + 2], std::complex<double>(-1, 0));
}

TEST(FftTables, AnAxisHasTheTablesThatItsAlgorithmReads) {
  FftTables tables(true);
  EXPECT_EQ(tables.AddAxis(12, false).roots, 0u);
  const FftTables::AxisStarts prime = tables.AddAxis(5, true);
  EXPECT_EQ(prime.roots, 12u);                // of the padded length, 16
  EXPECT_EQ(prime.chirp, 12u + 16u);          // as long as the axis
  EXPECT_EQ(prime.spectrum, 12u + 16u + 5u);  // as long as the padded axis
  const auto values = Values(tables);
  ASSERT_EQ(values.size(), 12u + 16u + 5u + 16u);
  EXPECT_LT(std::abs(values[prime.roots + 1] - std::polar(1.0, -2 * std::numbers::pi / 16)), 1e-15);
  EXPECT_LT(std::abs(values[prime.chirp + 2] - std::polar(1.0, -4 * std::numbers::pi / 5)), 1e-15);
  // A sum over a spectrum is its inverse transform at zero: 16 times the conjugate chirp's first element, over 16.
  std::complex<double> sum;
  for (size_t i = 0; i < 16; ++i) sum += values[prime.spectrum + i];
  EXPECT_LT(std::abs(sum - 1.0), 1e-14);
}

}  // namespace
}  // namespace plugin

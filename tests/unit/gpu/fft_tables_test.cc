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

}  // namespace
}  // namespace plugin

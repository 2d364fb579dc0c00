// SPDX-License-Identifier: Apache-2.0
// The GPU plugins' transforms, executed on the host from description to result, against the definition.
#include <set>

#include "tests/unit/backends/fft_check.h"

namespace plugin_test {
namespace {

class GpuFft : public FftTest {
 protected:
  GpuFft() : FftTest(PluginAt(ASSAY_GPU_HOST_PLUGIN)) {}

  std::set<std::string> Offered(const FftArgs& c) {
    Op op = c.Description();
    std::set<std::string> names;
    for (const Implementation& implementation : plugin_.Offered(op)) names.insert(implementation.name);
    return names;
  }
};

constexpr const char* kKinds[] = {"c2c", "r2c", "c2r"};

TEST_F(GpuFft, EveryLengthKindAndDirection) {
  for (int64_t n = 1; n <= 40; ++n) {
    for (const char* kind : kKinds) {
      for (const bool inverse : {false, true}) {
        Check({.kind = kind, .wide = n % 2 == 0, .n = {n}, .batch = 3, .inverse = inverse});
      }
    }
  }
  EXPECT_EQ(ran_, 3 * 2 * (2 * 40 - 1)) << "both algorithms, but for 37";
}

// Every radix, the largest odd one twice, primes beyond it, and more butterflies than a block has threads.
TEST_F(GpuFft, LongerLengths) {
  for (const int64_t n : {93, 127, 128, 169, 256, 360, 509, 512, 961, 1000, 1009, 2048}) {
    for (const char* kind : kKinds) Check({.kind = kind, .wide = n % 3 == 0, .n = {n}});
  }
  EXPECT_EQ(Offered({.n = {961}}), (std::set<std::string>{"bluestein", "radix"}));
  EXPECT_EQ(Offered({.n = {1009}}), (std::set<std::string>{"bluestein"}));
}

TEST_F(GpuFft, SeveralAxesScalesAndStrides) {
  const std::vector<std::vector<int64_t>> shapes = {{4, 6}, {5, 7}, {1, 8}, {8, 1}, {37, 4}, {3, 4, 5}, {2, 3, 4, 6}};
  for (const auto& n : shapes) {
    for (const char* kind : kKinds) {
      for (const char* norm : {"none", "ortho", "backward"}) {
        for (const bool inverse : {false, true}) {
          Check({.kind = kind, .n = n, .batch = 2, .inverse = inverse, .norm = norm, .strided = inverse});
        }
      }
    }
  }
}

}  // namespace
}  // namespace plugin_test

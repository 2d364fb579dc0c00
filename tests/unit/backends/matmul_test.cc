// SPDX-License-Identifier: Apache-2.0
// Every matmul implementation of every plugin against the textbook loop.
#include <gtest/gtest.h>

#include "tests/unit/backends/every_plugin.h"
#include "tests/unit/backends/matmul_case.h"

namespace plugin_test {
namespace {

class Matmul : public EveryPlugin {
 protected:
  void Check(const MatmulArgs& c) {
    SCOPED_TRACE(c.Text());
    Op op = c.Description();
    const auto inputs = c.Inputs();
    const auto expected = c.Reference(inputs);
    for (const Implementation& implementation : OfferedFor(op, 3)) {
      SCOPED_TRACE(implementation.name + " " + implementation.contract);
      // int8 through f32 is declared, and exact up to its rounding.
      const bool through_f32 = c.out == kI32 && implementation.contract.starts_with("f32acc");
      const auto got = Run(op, implementation, inputs);
      ASSERT_EQ(got.size(), expected.value.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const double bound = through_f32 ? std::abs(expected.value[i]) * kF32.unit : expected.bound[i];
        ASSERT_LE(std::abs(got[i] - expected.value[i]), bound)
            << "element " << i << ": " << got[i] << " for " << expected.value[i];
      }
    }
  }
};

constexpr std::pair<Type, Type> kTypes[] = {{kF64, kF64}, {kF32, kF32}, {kF16, kF16}, {kBF16, kBF16}, {kBF16, kF32},
                                            {kF16, kF32}, {kI8, kI32},  {kF32, kF64}, {kF32, kBF16},  {kF64, kF16}};

TEST_P(Matmul, TailsOfEveryExtent) {
  for (const auto& [in, out] : kTypes) {
    for (int64_t size : {1, 3, 17, 33, 65}) {
      Check({.in = in, .out = out, .m = size, .n = 17, .k = 33});
      Check({.in = in, .out = out, .m = 3, .n = size, .k = 65});
      Check({.in = in, .out = out, .m = 5, .n = 3, .k = size});
    }
  }
}

TEST_P(Matmul, LongSumsAndSeveralThreads) {
  for (const auto& [in, out] : kTypes) {
    Check({.in = in, .out = out, .m = 67, .n = 129, .k = 777});
    Check({.in = in, .out = out, .m = 2, .n = 5, .k = 4096});
  }
}

TEST_P(Matmul, TransposesBatchesAndStrides) {
  for (const auto& [in, out] : kTypes) {
    for (int flags = 0; flags < 16; ++flags) {
      Check({.in = in,
             .out = out,
             .m = 9,
             .n = 35,
             .k = 21,
             .batch = (flags & 8) != 0 ? 3 : 1,
             .transa = (flags & 1) != 0,
             .transb = (flags & 2) != 0,
             .strided = (flags & 4) != 0});
    }
  }
}

TEST_P(Matmul, Epilogues) {
  for (const auto& [in, out] : kTypes) {
    if (out == kI32) continue;
    for (int flags = 0; flags < 32; ++flags) {
      Check({.in = in,
             .out = out,
             .m = 7,
             .n = 35,
             .k = 50,
             .batch = (flags & 8) != 0 ? 2 : 1,
             .bias = (flags & 1) != 0,
             .rounded = (flags & 16) != 0,
             .strided = (flags & 8) != 0,
             .alpha = (flags & 2) != 0 ? 0.625 : 1,
             .beta = (flags & 4) != 0 ? -1.5 : 0});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Matmul, testing::ValuesIn(PluginPaths()), NameOfPlugin);

}  // namespace
}  // namespace plugin_test

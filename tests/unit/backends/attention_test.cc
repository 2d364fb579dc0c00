// SPDX-License-Identifier: Apache-2.0
// Every attention implementation of every plugin against the formula in long double, and the things that masks hide.
#include <gtest/gtest.h>

#include "tests/unit/backends/attention_case.h"
#include "tests/unit/backends/every_plugin.h"

namespace plugin_test {
namespace {

class Attention : public EveryPlugin {
 protected:
  void Check(const AttentionArgs& c) {
    Op op = c.Description();
    const auto inputs = c.Inputs();
    for (const Implementation& implementation : OfferedFor(op, 3)) {
      SCOPED_TRACE(implementation.name + " " + c.type.name + " l " + std::to_string(c.l) + " s " + std::to_string(c.s) +
                   " mask " + c.mask);
      const auto got = Run(op, implementation, inputs);
      for (int64_t at = 0; at < std::ssize(got); ++at) {
        const int64_t row = at / c.dv;
        const auto [y, bound] =
            c.Reference(inputs, row / (c.l * c.h), row / c.l % c.h, row % c.l, at % c.dv, c.type == kBF16);
        if (std::isnan(y)) {
          ASSERT_TRUE(std::isnan(got[static_cast<size_t>(at)])) << at;
        } else {
          ASSERT_LE(std::abs(got[static_cast<size_t>(at)] - y), bound) << at;
        }
      }
    }
  }
};

TEST_P(Attention, EveryTypeMaskAndTail) {
  for (const Type& type : {kF64, kF32, kF16, kBF16}) {
    for (const char* mask : {"none", "bool", "add"}) {
      for (int64_t causal : {0, 1}) {
        Check({.type = type,
               .b = 2,
               .h = 4,
               .hkv = 2,
               .l = 9,
               .s = 33,
               .d = 20,
               .dv = 12,
               .causal = causal,
               .mask = mask});
        Check({.type = type, .h = 2, .hkv = 1, .l = 70, .s = 130, .d = 16, .dv = 16, .causal = causal, .mask = mask});
      }
    }
    Check({.type = type});
    Check({.type = type, .b = 2, .h = 2, .hkv = 2, .l = 5, .s = 9, .per_head = 1, .mask = "bool"});
    Check({.type = type, .h = 2, .hkv = 2, .l = 5, .s = 9, .strided = true, .mask = "add"});
    Check({.type = type, .h = 2, .hkv = 1, .l = 6, .s = 40, .causal = 1, .window = 8, .softcap = 3});
  }
}

TEST_P(Attention, QueriesWithoutKeysFollowThePolicy) {
  for (const char* policy : {"zero", "nan"}) {
    Check({.h = 2, .hkv = 1, .l = 9, .s = 4, .causal = 1, .masked_rows = policy});
    Check({.h = 2, .hkv = 1, .l = 9, .s = 4, .causal = 1, .top_left = true, .masked_rows = policy});
    Check({.type = kBF16, .h = 2, .hkv = 2, .l = 9, .s = 40, .per_head = 1, .mask = "add", .masked_rows = policy});
  }
}

// NaN in k and v where no query looks.
TEST(CpuAttention, IgnoresWhatIsMasked) {
  const AttentionArgs c{.h = 1, .hkv = 1, .l = 4, .s = 80, .causal = 1, .top_left = true};
  Op op = c.Description();
  auto inputs = c.Inputs();
  for (const Implementation& implementation : Cpu().Offered(op)) {
    const auto before = Cpu().Run(op, implementation.name, inputs);
    auto poisoned = inputs;
    for (size_t operand : {1, 2}) std::fill(poisoned[operand].begin() + 4 * 8, poisoned[operand].end(), NAN);
    EXPECT_EQ(Cpu().Run(op, implementation.name, poisoned), before) << implementation.name;
  }
}

// A key that only some queries see must not change the results of the others, to the bit.
TEST_P(Attention, HiddenKeysDoNotReachARow) {
  for (const Type& type : {kF32, kBF16}) {
    const AttentionArgs c{.type = type, .h = 2, .hkv = 1, .l = 9, .s = 20, .causal = 1};
    Op op = c.Description();
    const int64_t seen_from = 5, key = seen_from + c.s - c.l;
    for (const Implementation& implementation : OfferedFor(op, 3)) {
      const auto inputs = c.Inputs();
      const auto before = Run(op, implementation, inputs);
      for (size_t operand : {1, 2}) {
        for (const double value : {static_cast<double>(NAN), kInf, -kInf}) {
          auto poisoned = inputs;
          std::fill_n(poisoned[operand].begin() + key * c.d, c.d, value);
          const auto got = Run(op, implementation, poisoned);
          for (int64_t at = 0; at < std::ssize(got); ++at) {
            if (at / c.dv % c.l >= seen_from) continue;
            ASSERT_EQ(got[static_cast<size_t>(at)], before[static_cast<size_t>(at)])
                << implementation.name << " " << value << " in input " << operand << ", element " << at;
          }
          EXPECT_FALSE(std::isfinite(got.back()) && operand == 2) << "seen, but without effect";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Attention, testing::ValuesIn(PluginPaths()), NameOfPlugin);

}  // namespace
}  // namespace plugin_test

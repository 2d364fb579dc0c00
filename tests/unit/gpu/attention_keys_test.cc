// SPDX-License-Identifier: Apache-2.0
// The kernels see the same keys as the description says, and blocks of keys that start at the first query's range and
// end at the last one's leave none out.
#include <gtest/gtest.h>

#include "backends/common/attention_spec.h"
#include "backends/gpu/device/attention_params.h"

namespace gpu {
namespace {

plugin::AttentionSpec Spec(int64_t l, int64_t s, bool causal, int64_t window, bool top_left) {
  plugin::AttentionSpec spec;
  spec.l = l, spec.s = s, spec.causal = causal, spec.window = window, spec.top_left = top_left;
  return spec;
}

AttentionParams Params(const plugin::AttentionSpec& a) {
  AttentionParams p;
  p.l = a.l, p.s = a.s, p.causal = a.causal, p.window = a.window, p.shift = a.top_left ? 0 : a.s - a.l;
  return p;
}

template <class Check>
void ForAll(const Check& check) {
  for (const int64_t l : {1, 5, 17, 70}) {
    for (const int64_t s : {1, 9, 33, 130}) {
      for (const int64_t window : {int64_t{0}, int64_t{1}, int64_t{7}, INT64_MAX}) {
        for (const int flags : {0, 1, 2, 3}) check(Spec(l, s, (flags & 1) != 0, window, (flags & 2) != 0));
      }
    }
  }
}

TEST(KeysOf, AgreesWithTheDescription) {
  ForAll([](const plugin::AttentionSpec& spec) {
    const AttentionParams p = Params(spec);
    for (int64_t i = 0; i < spec.l; ++i) {
      const plugin::AttentionSpec::Range expected = spec.KeysOf(i);
      const KeyRange keys = KeysOf(p, i);
      EXPECT_EQ(keys.first, expected.first) << spec.l << " " << spec.s << " " << spec.window << " " << i;
      EXPECT_EQ(keys.last, expected.last) << spec.l << " " << spec.s << " " << spec.window << " " << i;
    }
  });
}

TEST(KeysOf, BlocksOfKeysCoverEveryQueryOfABlock) {
  constexpr int64_t kQueries = 16, kKeys = 64;
  ForAll([](const plugin::AttentionSpec& spec) {
    const AttentionParams p = Params(spec);
    for (int64_t first = 0; first < p.l; first += kQueries) {
      const int64_t last_query = Least(first + kQueries, p.l) - 1;
      const int64_t begin = KeysOf(p, first).first / kKeys * kKeys, end = KeysOf(p, last_query).last;
      for (int64_t i = first; i <= last_query; ++i) {
        const KeyRange keys = KeysOf(p, i);
        if (keys.first == keys.last) continue;
        EXPECT_LE(begin, keys.first) << p.l << " " << p.s << " " << p.window << " " << i;
        EXPECT_GE(end, keys.last) << p.l << " " << p.s << " " << p.window << " " << i;
      }
    }
  });
}

}  // namespace
}  // namespace gpu

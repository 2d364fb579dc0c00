// SPDX-License-Identifier: Apache-2.0
// The values of a result as pooled tests see them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/kernel/tile_reader.h"

namespace assay {

// At most so many values of an output are asked, the first ones.
inline constexpr int64_t kMostPooledValues = int64_t{1} << 17;

// One value: how far it is off, and what is known of that.
struct PooledValue {
  bool counts = false;
  double off = 0;  // d
  double golden = 0;
  double sigma = 0;       // deviation of the computation, with its slack
  double systematic = 0;  // T
  double rounding = 0;    // variance that the output's rounding adds
  double spacing = 0;
  double place = 0;  // how far the golden value is from where its rounding changes
  double Variance() const { return sigma * sigma + rounding; }
};

std::vector<PooledValue> ReadPooledValues(const ElementJudge& judge, const Tensor& got);

// Calls f(i, got) for those that are asked.
template <class F>
void ForEachPooled(const ElementJudge& judge, const Tensor& got, const F& f) {
  const int64_t count = std::min(judge.golden().size(), kMostPooledValues);
  TileReader reader(judge, got);
  for (int64_t at = 0; at < count; at += kJudgeTile) {
    const int64_t n = std::min(kJudgeTile, count - at);
    reader.Read(at, n);
    for (int64_t i = 0; i < n; ++i) f(at + i, reader.Got(i));
  }
}

}  // namespace assay

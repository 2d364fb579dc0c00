// SPDX-License-Identifier: Apache-2.0
// Brings a stretch of an output, its golden values and its bound into the form that the judging kernel reads.
#pragma once

#include <array>
#include <cstdint>

#include "harness/core/data/tensor.h"
#include "harness/judge/judge.h"
#include "harness/judge/kernel/judge_kernel.h"

namespace assay {

inline constexpr int64_t kJudgeTile = 512;  // the double arrays of a tile stay in the first-level cache

class TileReader {
 public:
  TileReader(const ElementJudge& judge, const Tensor& got);

  // Whether tiles can be read in place: f32 output, one narrow term per value, narrow planes, no value_lo.
  bool narrow() const { return narrow_; }

  // Valid until the next call. Precondition: count <= kJudgeTile.
  const JudgeTile& Read(int64_t first, int64_t count);

  // Asks the memory for what Read will want of one value.
  void Prefetch(int64_t i) const;

  // Output value i of the tile read last, and what a double cannot hold of an i64.
  double Got(int64_t i) const { return narrow_ ? static_cast<double>(tile_.got32[i]) : got_[i]; }
  // The squared deviations that the kernel wrote for the tile read last.
  float* squares() { return squares_.data(); }
  double GotLow(int64_t i) const { return low_parts_ ? got_lo_[i] : 0; }

 private:
  void ReadGot(int64_t first, int64_t count);
  void ReadGolden(int64_t first, int64_t count);

  const ElementJudge* judge_;
  const Tensor* tensor_;
  bool narrow_;
  bool low_parts_;
  JudgeTile tile_;
  using Buffer = std::array<double, kJudgeTile>;
  alignas(64) Buffer got_;
  alignas(64) Buffer got_lo_;
  alignas(64) Buffer lo_;
  alignas(64) Buffer accumulated_;
  alignas(64) Buffer sigma_;
  alignas(64) Buffer systematic_;
  alignas(64) Buffer error_;
  alignas(64) Buffer rounding_source_;
  alignas(64) std::array<float, kJudgeTile> squares_;
};

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/judge/pooled/gather.h"
#include "harness/judge/pooled/values.h"

namespace assay {
namespace {

// All of them are zero by chance in an eighth of the results; half way from there to all is permitted.
constexpr int kOutputBits = 3;
constexpr double kMostZeroBits = 7.0 / 16;
// Numbers nearer to a power of two than this many spacings may be results of functions that end there.
constexpr int64_t kNearPowerOfTwo = 64;

// Counts within a significand of `precision` bits.
int TrailingZeros(double x, int precision) {
  const uint64_t significand = (std::bit_cast<uint64_t>(x) & ((uint64_t{1} << 52) - 1)) | (uint64_t{1} << 52);
  return std::countr_zero(significand >> (53 - precision));
}

bool IsNearPowerOfTwo(double x, int precision) {
  const double fraction = std::ldexp(std::fabs(x), -std::ilogb(x)) - 1;  // of a binade
  const double near = std::ldexp(static_cast<double>(kNearPowerOfTwo), 1 - precision);
  return fraction < near || fraction > 1 - near;
}

// How often the last bits are zero where the rounded golden value has others.
class OutputBits {
 public:
  explicit OutputBits(const ElementJudge& judge) : judge_(judge), precision_(FormatOf(judge.dtype()).precision) {}

  void Add(int64_t i, double got) {
    const double rounded = judge_.Rounded(i);
    if (!std::isnormal(got) || !std::isnormal(rounded) || judge_.Open(i)) return;
    // Bound on the terms of the last addition.
    const double largest =
        (judge_.golden().magnitude[i] + std::fabs(judge_.golden().value[static_cast<size_t>(i)])) / 2;
    const int enough = std::max(0, std::ilogb(largest) - std::ilogb(got)) + kOutputBits;
    const bool is_coarse = UlpAt(FormatOf(judge_.dtype()), got) <= judge_.params().ulp_floor;
    if (enough >= precision_ || is_coarse || IsNearPowerOfTwo(got, precision_)) return;
    if (TrailingZeros(rounded, precision_) >= enough) return;
    asked_ += 1;
    zero_ += TrailingZeros(got, precision_) >= enough ? 1 : 0;
  }

  PooledTest MakeTest() const {
    return {"output_bits",          true,   zero_, asked_, kMostZeroBits * (1 - kMostZeroBits) * asked_,
            kMostZeroBits * asked_, 1.0 / 3};
  }

 private:
  const ElementJudge& judge_;
  const int precision_;
  double asked_ = 0, zero_ = 0;
};

}  // namespace

bool HasOutputBits(const ElementJudge& judge) {
  const StatisticModel& model = judge.bound().statistic;
  const bool is_single = judge.dtype() == DType::kF32 || judge.dtype() == DType::kC64;
  const bool knows_terms = model.partial_sums || model.last_terms;
  // A narrower accumulator than the output leaves zeros.
  const bool is_narrow = judge.params().u_acc > std::ldexp(1, -FormatOf(judge.dtype()).precision);
  return is_single && knows_terms && !is_narrow && judge.golden().magnitude.size() == judge.golden().size();
}

PooledTest OutputBitsOf(const ElementJudge& judge, const Tensor& got) {
  OutputBits bits(judge);
  ForEachPooled(judge, got, [&](int64_t i, double x) { bits.Add(i, x); });
  return bits.MakeTest();
}

}  // namespace assay

// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/histogram.h"

#include <algorithm>
#include <cmath>

#include "harness/judge/judge.h"

namespace assay {
namespace {

int BinOf(const Judgement& judged) {
  const double margin = judged.accepted ? judged.Margin() : 1;
  if (margin == 0 || (judged.accepted && judged.allowed == 0)) return 0;
  if (margin >= 1) return kMarginBins - 1;
  const int exponent = std::ilogb(margin);  // at most -1
  return std::clamp(exponent + 22, 1, kMarginBins - 2);
}

}  // namespace

MarginHistogram CountMargins(const Golden& golden, const BoundModel& bound, const Contract& contract,
                             const Tensor& got) {
  const ElementJudge judge(golden, bound, contract, got.dtype());
  // Whole elements: the two parts of a complex one lie side by side.
  const int64_t parts = golden.size() / std::max<int64_t>(got.size(), 1);
  const int64_t samples = std::min(got.size(), kHistogramSamples);
  const DType part_type = !IsComplex(got.dtype())      ? got.dtype()
                          : got.dtype() == DType::kC64 ? DType::kF32
                                                       : DType::kF64;
  MarginHistogram bins{};
  for (int64_t s = 0; s < samples; ++s) {
    const int64_t element = got.size() * s / samples;
    for (int64_t i = element * parts; i < (element + 1) * parts; ++i) {
      double value = 0;
      ToF64(part_type, got.data() + i * SizeOf(part_type), {&value, 1});
      const Judgement judged = judge.Judge(i, value);
      if (judged.finite) ++bins[static_cast<size_t>(BinOf(judged))];
    }
  }
  return bins;
}

}  // namespace assay

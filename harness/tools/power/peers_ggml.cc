// SPDX-License-Identifier: Apache-2.0
// ggml's test-backend-ops: a NaN on either side rejects; infinities (FLT_MAX counts as one) must agree in sign; then
// NMSE = sum (got - expected)^2 / sum got^2 must not exceed the operator's threshold. As there, values and their
// squares are f32, the sums f64, the energy is that of the tested tensor, and a NaN quotient (0/0, or inf/inf once
// squares overflow) does not exceed anything.
#include <cmath>
#include <limits>
#include <optional>

#include "harness/tools/power/peers.h"

namespace assay {
namespace {

using Kind = PeerForm::Kind;

bool IsInfiniteOrMax(float x) {
  return std::isinf(x) || std::fabs(x) == std::numeric_limits<float>::max();
}

// max_nmse_err() of the operator's test: MUL_MAT, CONV_2D, CONV_3D and FLASH_ATTN_EXT 5e-4, SOFT_MAX 1e-6, others the
// default 1e-7 (SUM, SUM_ROWS, MEAN); ARGMAX counts differing indices. None for what has no ggml operator.
std::optional<double> FindMaxNmse(const PeerRules& c) {
  if (c.Is(Kind::kProduct) || c.Is(Kind::kAttention)) return 5e-4;
  if (c.Is(Kind::kConvolution)) {
    const size_t spatial = c.problem().inputs[1].shape.size() - 2;
    return spatial == 2 || spatial == 3 ? std::optional(5e-4) : std::nullopt;
  }
  if (c.Is(Kind::kSoftmax)) return 1e-6;
  const std::string_view kind = c.form().reduction;
  if (kind == "sum" || kind == "mean") return 1e-7;
  return std::nullopt;
}

Opinion CompareIndices(const PeerRules& c, std::span<const double> got) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != c.expected()[i]) return Opinion::kRejects;
  }
  return Opinion::kAccepts;
}

}  // namespace

Opinion GgmlOpinion(const PeerRules& c, const Contract&, std::span<const double> got) {
  if (c.form().reduction == "argmax") return CompareIndices(c, got);
  const DType out = c.out();
  if (out != DType::kF32 && out != DType::kF16 && out != DType::kBF16) return Opinion::kNoRule;
  const std::optional<double> threshold = FindMaxNmse(c);
  if (!threshold) return Opinion::kNoRule;
  double errors = 0, energy = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto a = static_cast<float>(got[i]), b = static_cast<float>(c.expected()[i]);
    if (std::isnan(a) || std::isnan(b)) return Opinion::kRejects;
    if (IsInfiniteOrMax(a) || IsInfiniteOrMax(b)) {
      const bool agree = IsInfiniteOrMax(a) && IsInfiniteOrMax(b) && std::signbit(a) == std::signbit(b);
      if (!agree) return Opinion::kRejects;
    }
    errors += static_cast<double>((a - b) * (a - b));
    energy += static_cast<double>(a * a);
  }
  return OpinionOf(!(errors / energy > *threshold));
}

}  // namespace assay

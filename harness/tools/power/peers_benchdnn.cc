// SPDX-License-Identifier: Apache-2.0
// oneDNN's benchdnn, point-to-point comparison (tests/benchdnn/utils/compare.cpp,
// tests/benchdnn/<driver>/<driver>.cpp): every point must satisfy one of
//   got == expected;
//   |expected| <= 1e-5 and |got - expected| < eps(f32);
//   (|expected| > 1e-5 ? |got - expected| / |expected| : |got - expected|) <= threshold of the driver;
//   f16 outputs: both NaN, or both the same infinity;
//   the driver's own rule (softmax: difference < eps(f32); sdpa: difference <= eps(dst) sum p|v|).
// Its thresholds of zero for matmul and convolution rest on its own fill, integers whose sums are exact; here they meet
// the case's data, as they would meet data that a user brings.
#include <cmath>
#include <optional>

#include "harness/tools/power/peers.h"

namespace assay {
namespace {

using Kind = PeerForm::Kind;

constexpr double kTiny = 1e-5;
constexpr double kEpsilonF32 = 0x1p-23;

struct DriverRule {
  double threshold = 0;
  double absolute = 0;        // accepted below this, softmax's
  bool by_magnitude = false;  // accepted up to eps(dst) times the golden's magnitude, sdpa's
};

double Epsilon(DType dtype) {
  return 2 * FormatOf(dtype).UnitRoundoff();
}

// reduction: eps of the destination, five times that for norms.
std::optional<DriverRule> Reduction(std::string_view kind, double eps) {
  for (const std::string_view sum : {"sum", "mean", "max", "min", "prod"}) {
    if (kind == sum) return DriverRule{eps};
  }
  if (kind == "l2") return DriverRule{5 * eps};
  return std::nullopt;  // no argmax, argmin, logsumexp
}

std::optional<DriverRule> RuleOf(const PeerRules& c) {
  const DType out = c.out();
  if (c.Is(Kind::kProduct) || c.Is(Kind::kConvolution))
    return IsComplex(out) ? std::nullopt : std::optional(DriverRule{});
  // The other drivers support neither f64 nor integers here.
  if (out != DType::kF32 && out != DType::kF16 && out != DType::kBF16) return std::nullopt;
  const double eps = Epsilon(out);
  if (c.Is(Kind::kReduction)) return Reduction(c.form().reduction, eps);
  if (c.Is(Kind::kSoftmax) || c.Is(Kind::kLogSoftmax)) {
    const double factor = (out == DType::kF32 ? 10 : 1) * (c.Is(Kind::kLogSoftmax) ? 5 : 1);
    return DriverRule{factor * eps, kEpsilonF32};
  }
  if (c.Is(Kind::kAttention)) {
    const auto keys = static_cast<double>(c.form().terms);
    return c.form().plain ? std::optional(DriverRule{8 * (1 + keys) * eps, 0, true}) : std::nullopt;
  }
  return std::nullopt;  // no fft driver
}

bool Accepts(const PeerRules& c, const DriverRule& rule, size_t i, double got) {
  const double expected = c.expected()[i];
  if (got == expected) return true;
  if (c.out() == DType::kF16 && std::isnan(got) && std::isnan(expected)) return true;
  const double difference = std::fabs(got - expected), size = std::fabs(expected);
  if (size <= kTiny && difference < kEpsilonF32) return true;
  if ((size > kTiny ? difference / size : difference) <= rule.threshold) return true;
  if (difference < rule.absolute) return true;
  return rule.by_magnitude && difference <= Epsilon(c.out()) * c.golden().magnitude[static_cast<int64_t>(i)];
}

}  // namespace

Opinion BenchdnnOpinion(const PeerRules& c, const Contract&, std::span<const double> got) {
  const std::optional<DriverRule> rule = RuleOf(c);
  if (!rule) return Opinion::kNoRule;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!Accepts(c, *rule, i, got[i])) return Opinion::kRejects;
  }
  return Opinion::kAccepts;
}

}  // namespace assay

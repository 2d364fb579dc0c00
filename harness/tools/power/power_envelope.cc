// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/judge.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double LowPart(const Golden& golden, size_t i) {
  return golden.value_lo.empty() ? 0 : golden.value_lo[i];
}

// |x - golden|; 0 when both are the same special value, infinite when one alone is special.
double Distance(const Golden& golden, size_t i, double x) {
  const double y = golden.value[i];
  if (x == y) return std::fabs(LowPart(golden, i));
  if (std::isnan(x) && std::isnan(y)) return 0;
  if (!std::isfinite(x) || !std::isfinite(y)) return kInf;
  return std::fabs((x - y) - LowPart(golden, i));
}

}  // namespace

void Envelope::Add(const Contract& declared, const Golden& golden, std::span<const double> got) {
  auto& [contract, errors] = by_contract_[ToText(declared)];
  contract = declared;
  errors.resize(got.size(), 0.0);
  for (size_t i = 0; i < got.size(); ++i) errors[i] = std::max(errors[i], Distance(golden, i, got[i]));
}

std::vector<double> Envelope::Of(const Contract* declared, size_t size) const {
  std::vector<double> all(size, 0.0);
  for (const auto& [text, entry] : by_contract_) {
    if (declared != nullptr && !Meets(entry.first, *declared)) continue;
    for (size_t i = 0; i < size; ++i) all[i] = std::max(all[i], entry.second[i]);
  }
  return all;
}

FaultEffect Envelope::Effect(const Golden& golden, std::span<const double> faulty, double noise,
                             const Contract* declared) const {
  const std::vector<double> envelope = Of(declared, faulty.size());
  const int64_t values = golden.size();
  FaultEffect largest;
  double widest = 0, farthest = 0;
  for (size_t i = 0; i < faulty.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double least = PlaneAt(golden.error, at, values) + noise * PlaneAt(golden.magnitude, at, values);
    const double reach = std::max(envelope[i], least), effect = Distance(golden, i, faulty[i]);
    // A legal schedule may overflow here: nothing can be said of this element.
    if (std::isinf(reach)) continue;
    widest = std::max(widest, reach), farthest = std::max(farthest, effect);
    if (effect > 0) largest.of_element = std::max(largest.of_element, reach == 0 ? kInf : effect / reach);
  }
  if (farthest > 0) largest.of_tensor = widest == 0 || std::isinf(farthest) ? kInf : farthest / widest;
  return largest;
}

}  // namespace assay

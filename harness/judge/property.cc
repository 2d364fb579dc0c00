// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/property.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/base/check.h"
#include "harness/core/data/unsigned_nan.h"
#include "harness/judge/localise.h"

namespace assay {
namespace {

// 0 when equal, infinity when different and nothing is permitted.
double Margin(double expected, double got, double tolerance) {
  if (std::isinf(tolerance) || expected == got || (std::isnan(expected) && std::isnan(got))) return 0;
  const double difference = std::abs(got - expected);
  if (!std::isfinite(difference) || tolerance == 0) return std::numeric_limits<double>::infinity();
  return difference / tolerance;
}

}  // namespace

PropertyFinding CheckProperty(std::string name, const Shape& shape, std::span<const double> expected,
                              std::span<const double> tolerance, std::span<const double> got) {
  ASSAY_CHECK(got.size() == expected.size() && (tolerance.empty() || tolerance.size() == got.size()));
  PropertyFinding finding;
  finding.name = std::move(name);
  FailureMap map(shape);
  const int64_t parts = std::max<int64_t>(1, std::ssize(got) / std::max<int64_t>(1, NumElements(shape)));
  std::string first;
  for (int64_t i = 0; i < std::ssize(got); ++i) {
    const double permitted = tolerance.empty() ? 0 : tolerance[i];
    const double margin = Margin(expected[i], got[i], permitted);
    finding.margin = std::max(finding.margin, margin);
    if (margin <= 1) continue;
    if (first.empty()) {
      first = fmt::format("element {}{} is {:.17g}, expected {:.17g}", IndexText(shape, i / parts),
                          parts == 2 && i % 2 == 1 ? " (imaginary part)" : "", UnsignedNan(got[i]),
                          UnsignedNan(expected[i]));
      if (permitted > 0) first += fmt::format(" within {:.3g}", permitted);
    }
    map.Add(i / parts);
  }
  finding.broken = map.count();
  if (finding.broken > 0) finding.where = first + "; " + map.Text();
  return finding;
}

}  // namespace assay
